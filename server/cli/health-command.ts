import { describeRefusal, refusalOf } from '../core/write-refusal.ts';
import { defineCommand } from './command.ts';

/** `vault health`. It opens the vault itself, and so also works while no server runs. */
export const healthCommand = defineCommand({
  words: ['health'],
  options: {},
  summary:
    'Checks Redis and the master key; exit code 0 if both are ready. A running server answers GET /health/ready.',
  opens: 'vault',
  async run(_call, { probe }: { readonly probe: () => Promise<void> }) {
    const failure = await probe().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (failure === undefined) {
      return { data: { ready: true, checks: { redis: 'ok' } }, shown: 'ready, redis ok' };
    }
    const reason = refusalOf(failure.error);
    const checks = { redis: 'failing', ...(reason === undefined ? {} : { redis_reason: reason }) };
    const text = reason === undefined ? '' : `\n${describeRefusal(reason)}`;
    return { data: { ready: false, checks }, shown: `not ready, redis failing${text}`, failed: true };
  },
});
