/** A process of its own that takes jobs and never ends one, for what only the end of a process can show. */
import { createJobQueue } from '../../server/outbound/job-queue.ts';

/** Starts a process that takes one id of the queue and holds it; gives the process and the id. */
export const holdAlone = async (
  socketPath: string,
): Promise<{ readonly child: Bun.Subprocess; readonly id: string }> => {
  const child = Bun.spawn([process.execPath, import.meta.path, socketPath], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { value } = await child.stdout.getReader().read();
  return { child, id: new TextDecoder().decode(value) };
};

if (import.meta.main) {
  const held = Promise.withResolvers<undefined>();
  createJobQueue({
    target: { kind: 'socket', path: process.argv[2] ?? '' },
    concurrency: 1,
    run: (id) => {
      process.stdout.write(id);
      return held.promise;
    },
  }).start();
}
