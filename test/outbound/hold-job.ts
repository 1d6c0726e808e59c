/** A process of its own that takes jobs and never ends one, for what only the end of a process can show. */
import { JobQueue } from '../../server/job/queue.ts';
import type { RedisTarget } from '../../server/redis/connect.ts';
import { type RedisPlace, targetOf } from '../helpers/redis.ts';

/** Starts a process that takes one id of the queue and holds it; gives the process and the id. */
export async function holdAlone(
  redis: RedisPlace,
): Promise<{ readonly child: Bun.Subprocess; readonly id: string }> {
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(targetOf(redis))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { value } = await child.stdout.getReader().read();
  return { child, id: new TextDecoder().decode(value) };
}

if (import.meta.main) {
  const held = Promise.withResolvers<undefined>();
  const target = JSON.parse(process.argv[2] ?? '') as RedisTarget;
  new JobQueue(target, () => undefined, { concurrency: 1, thrownMs: [1_000, 5_000] }).start((id) => {
    process.stdout.write(id);
    return held.promise;
  });
}
