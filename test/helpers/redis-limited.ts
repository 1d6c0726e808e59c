/** A Redis whose users are those of docs/guides/production.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisTarget } from '../../server/redis/connect.ts';
import { freePort } from './free-port.ts';
import { launchRedis, sendCommand, socketIn } from './redis-process.ts';

const GUIDE = join(import.meta.dir, '../../docs/guides/production.md');
const PASSWORD = 'a-password-of-the-tests';

/** The lines of the guide's users.acl. */
export function documentedUsers(): readonly string[] {
  const [, text = ''] = /^```acl\n(user default off\n[^`]+)```$/m.exec(readFileSync(GUIDE, 'utf8')) ?? [];
  return text.trim().split('\n');
}

/**
 * Starts a Redis in a folder with the documented users, and gives where the vault finds it as its own user. The
 * default user stays on, on the unix socket of the tests, which look past the vault; everything else is as documented.
 */
export async function launchLimitedRedis(
  folder: string,
  durable: boolean,
): Promise<{ readonly child: Bun.Subprocess; readonly target: RedisTarget }> {
  const users = documentedUsers().map((line) => line.replace('CHANGE-THIS-PASSWORD', PASSWORD));
  const file = join(folder, 'users.acl');
  writeFileSync(
    file,
    `${users.join('\n').replace('user default off', 'user default on nopass ~* &* +@all')}\n`,
  );
  const port = freePort();
  const child = await launchRedis(folder, durable, ['--port', String(port), '--aclfile', file]);
  await sendCommand(socketIn(folder), 'ACL LOG RESET');
  return { child, target: { kind: 'url', url: `redis://vault:${PASSWORD}@127.0.0.1:${port}` } };
}
