import { type Config, loadConfig } from '../../server/config/config.ts';
import type { RedisTarget } from '../../server/redis/connect.ts';
import { type Ran, runCommand } from './command.ts';
import type { TestVault } from './vault.ts';

function urlOf(target: RedisTarget): string {
  switch (target.kind) {
    case 'socket':
      return `unix:${target.path}`;
    case 'url':
      return target.url;
    case 'cluster':
      return target.urls.join(',');
    case 'sentinel':
      throw new Error('no test restores by Sentinels');
  }
}

/** The settings of a server on another Redis, with the master keys of a vault. */
export function configOn(
  target: RedisTarget,
  { ring }: Pick<TestVault, 'ring'>,
  settings: Readonly<Record<string, string>> = {},
): Config {
  const keys = [...ring.keys].map(([id, key]) => `${id}:${Buffer.from(key).toString('base64')}`);
  const argon2 = 'm=19456,t=2,p=1';
  const env = { VAULT_REDIS_URL: urlOf(target), VAULT_MASTER_KEY: keys.join(','), VAULT_ARGON2: argon2 };
  return loadConfig({ ...env, ...settings }, []);
}

/** Runs `vault restore FILE` into a Redis. */
export function restoreInto(
  target: RedisTarget,
  file: string,
  vault: Pick<TestVault, 'ring'>,
  settings: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return runCommand(['restore', file, '--json'], { config: () => configOn(target, vault, settings) });
}
