import { createHealth } from '../http/health.ts';
import { defineCommand } from './command.ts';

/** `vault health`. It opens the vault itself, and so also works while no server runs. */
export const healthCommand = defineCommand({
  words: ['health'],
  options: {},
  summary:
    'Checks Redis and the master key; exit code 0 if both are ready. A running server answers GET /health/ready.',
  opens: 'vault',
  async run(_call, { vault }) {
    const { ready, checks } = await createHealth({ redis: vault.probe }, vault.now).ready();
    const states = Object.entries(checks).map(([name, state]) => `${name} ${state}`);
    const shown = [ready ? 'ready' : 'not ready', ...states].join(', ');
    return { data: { ready, checks }, shown, failed: !ready };
  },
});
