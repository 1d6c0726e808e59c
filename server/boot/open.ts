import { randomBytes } from 'node:crypto';
import type { FormBundles } from '../../forms/build.ts';
import { version } from '../../package.json';
import { type Config, ensureMasterKey, type MasterKeyRing, publicUrl } from '../config/config.ts';
import { StartError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import { createFormPages, type FormPages } from '../http/plugins/form-pages.ts';
import type { RedisLink, RedisTarget } from '../store/redis/client.ts';
import { describeUnsafe, findUnsafe, type UnsafeRedis } from '../store/redis/safety.ts';
import type { ServerMetrics } from '../telemetry/metrics.ts';
import type { Observer } from '../telemetry/observer.ts';
import { createTraces, type Traces } from '../telemetry/traces.ts';
import { type OpenVault, openVault, type VaultOptions } from './assemble.ts';
import { startEmbeddedRedis } from './redis/embedded.ts';

type Note = (event: string, fields?: Readonly<Record<string, unknown>>) => void;

/** The vault that a configuration describes, with the Redis that was started for it, if any. */
export interface Opened {
  readonly vault: OpenVault;
  readonly target: RedisTarget;
  readonly ring: MasterKeyRing;
  /** What this Redis may lose, all the same allowed: by name in production, by itself in staging. */
  readonly unsafe: readonly UnsafeRedis[];
  readonly close: () => Promise<void>;
}

/** The Redis of the configuration: the server's own is started, or shared where it runs. */
export async function openTarget(
  config: Config,
  note: Note,
): Promise<{ target: RedisTarget; stop: () => Promise<void> }> {
  const { redis } = config;
  const stop = async (): Promise<void> => undefined;
  switch (redis.kind) {
    case 'embedded': {
      const started = await startEmbeddedRedis({
        dataDir: config.dataDir,
        ...(config.redisBinary === undefined ? {} : { binary: config.redisBinary }),
        log: (event) => note('redis', { detail: event }),
      });
      return { target: { kind: 'socket', path: started.socketPath }, stop: started.stop };
    }
    case 'socket':
      return { target: redis, stop };
    case 'url':
      return { target: { kind: 'url', url: redis.url.expose() }, stop };
    case 'cluster':
      return { target: { kind: 'cluster', urls: redis.urls.expose() }, stop };
  }
}

/**
 * In production a Redis that could lose acknowledged writes is refused, unless the operator has named it. Gives
 * what was found and is allowed.
 */
export async function refuseUnsafe(
  redis: RedisLink,
  config: Config,
  note: Note,
): Promise<readonly UnsafeRedis[]> {
  const unsafe = await findUnsafe(redis);
  const refused =
    config.env === 'production' ? unsafe.filter((name) => !config.redisAllowUnsafe.has(name)) : [];
  if (refused.length > 0) {
    throw new StartError(refused.map(describeUnsafe).join('\n'));
  }
  if (unsafe.length > 0) {
    note('redis_unsafe', { checks: unsafe });
  }
  return unsafe;
}

/** What the configuration says of a vault, apart from where its Redis is. */
export const vaultOptionsOf = (
  config: Config,
  ring: MasterKeyRing,
  note: Note,
): Omit<VaultOptions, 'redis'> => ({
  replicas: config.redisWait,
  ring,
  argon2: config.argon2,
  workers: config.workers,
  settings: {
    environment: config.env,
    version,
    authFailuresMax: config.authFailuresMax,
    ratePerAccount: config.ratePerAccount,
    ratePerSource: config.ratePerSource,
    warmUnlockSeconds: config.warmUnlockSeconds,
    sadTtlMs: config.sadRetention.kind === 'ttl' ? config.sadRetention.ms : 0,
    sadAfterProxy: config.sadRetention.kind === 'after_proxy_success',
    auditRetentionMs: config.auditRetention === 'forever' ? 0 : config.auditRetention,
  },
  proxy: {
    allow: config.proxyAllow,
    caPem: config.proxyCa,
    requesters: config.networkTokenRequesters,
  },
  prices: config.prices,
  onEvent: note,
});

/** Opens the vault that the configuration describes. */
export async function openConfigured(config: Config, note: Note, observer?: Observer): Promise<Opened> {
  const ring = ensureMasterKey(config).expose();
  const redis = await openTarget(config, note);
  let unsafe: readonly UnsafeRedis[] = [];
  try {
    const vault = await openVault({
      ...vaultOptionsOf(config, ring, note),
      redis: redis.target,
      ...(observer === undefined ? {} : { observer }),
      checkRedis: async (link) => {
        unsafe = await refuseUnsafe(link, config, note);
      },
    });
    return {
      vault,
      target: redis.target,
      ring,
      unsafe,
      close: async () => {
        await vault.close();
        await redis.stop();
      },
    };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

/** Traces of a server whose operator wants them, and undefined of any other, which then pays nothing for them. */
export function openTraces(config: Config, metrics: ServerMetrics): Traces | undefined {
  const { traces, env } = config;
  return traces === undefined
    ? undefined
    : createTraces(metrics, {
        url: traces.url,
        headers: traces.headers.expose(),
        resource: { version, environment: env },
      });
}

/** The pages of forms on the hosts of the configuration. */
export function createConfiguredForms(config: Config, bundles: FormBundles): FormPages {
  const own = publicUrl(config, config.port);
  const { env, formsUrl, stagingUrl } = config;
  if (formsUrl !== undefined && new URL(formsUrl).host === new URL(own).host) {
    throw new StartError('VAULT_FORMS_URL must have another host than VAULT_PUBLIC_URL, or be left out.');
  }
  return createFormPages({
    bundles,
    publicUrl: own,
    formsUrl,
    stagingUrl,
    gallery: env === 'staging',
    newNonce: () => randomBytes(16).toString('base64url'),
  });
}

/** An account that was made just now, with the password that the vault made for it. */
export interface FirstAccount {
  readonly name: string;
  readonly password: Secret<string>;
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * Makes the first account where there is none. Of two servers that start at once, one makes it. Gives the
 * account only when its password was made here, and so must be shown now or never.
 */
export async function ensureFirstAccount(
  vault: OpenVault,
  bootstrap: Config['bootstrap'],
): Promise<FirstAccount | undefined> {
  if ((await vault.accounts.list()).length > 0) {
    return undefined;
  }
  const { account, unmasked } = bootstrap;
  if (account) {
    await vault.accounts.create(account.user, account.password.map(encode), { unmasked });
    return undefined;
  }
  if (vault.parts.settings.environment === 'production') {
    throw new StartError('There is no account yet: set VAULT_BOOTSTRAP_USER and VAULT_BOOTSTRAP_PASSWORD.');
  }
  const password = await vault.accounts.makePassword();
  const made = await vault.accounts.create('admin', password.map(encode), { unmasked });
  return made && { name: made.name, password };
}

/** A vault that was opened for a command; servers that run on the same data go on. */
export interface Session {
  readonly vault: OpenVault;
  readonly config: Config;
  /** Where its Redis is, for connections of one's own. */
  readonly target: RedisTarget;
  readonly ring: MasterKeyRing;
}

/** Opens the vault for one command; a server that runs on the same data is shared, not disturbed. */
export async function openSession(
  config: Config,
): Promise<{ readonly session: Session; readonly close: () => Promise<void> }> {
  const { vault, target, ring, close } = await openConfigured(config, () => undefined);
  return { session: { vault, config, target, ring }, close };
}
