/** A redis-server that refuses writes for each reason that there is. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { launchRedis, newRedisFolder, sendCommand, socketIn } from './redis-process.ts';

const COMMANDS = {
  OOM: ['CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
  MISCONF: ['CONFIG SET save "3600 1"', 'CONFIG SET save ""'],
  READONLY: ['REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
  NOREPLICAS: ['CONFIG SET min-replicas-to-write 1', 'CONFIG SET min-replicas-to-write 0'],
} as const;
export type Reason = keyof typeof COMMANDS;

export const REASONS = Object.keys(COMMANDS) as readonly Reason[];

/** Starts a Redis. Its folder for files is gone, so that it cannot save. */
export async function startRefusingRedis() {
  const folder = newRedisFolder();
  const files = join(folder, 'files');
  mkdirSync(files);
  const child = await launchRedis(folder, false, ['--port', '0', '--dir', files]);
  rmSync(files, { recursive: true });
  const socketPath = socketIn(folder);
  await sendCommand(socketPath, 'BGSAVE');
  while (!(await sendCommand(socketPath, 'INFO persistence')).includes('rdb_last_bgsave_status:err')) {
    await Bun.sleep(5);
  }
  return {
    socketPath,
    refuse: (reason: Reason) => sendCommand(socketPath, COMMANDS[reason][0]),
    accept: (reason: Reason) => sendCommand(socketPath, COMMANDS[reason][1]),
    stop: async () => {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
