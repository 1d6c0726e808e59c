import { defineCommand } from './command.ts';

/** `vault health`. It opens the vault itself, and so also works while no server runs. */
export const healthCommand = defineCommand({
  words: ['health'],
  options: {},
  summary:
    'Checks Redis and the master key; exit code 0 if both are ready. A running server answers GET /health/ready.',
  opens: 'vault',
  async run(_call, { probe }: { readonly probe: () => Promise<void> }) {
    const ready = await probe().then(
      () => true,
      () => false,
    );
    const redis = ready ? 'ok' : 'failing';
    const shown = `${ready ? 'ready' : 'not ready'}, redis ${redis}`;
    return { data: { ready, checks: { redis } }, shown, failed: !ready };
  },
});
