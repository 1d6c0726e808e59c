import Redis from 'ioredis';
import { createApp } from '../../server/app.ts';
import type { Deps, LogLine, ServiceSettings } from '../../server/deps.ts';
import { createMetrics } from '../../server/plugins/metrics.ts';
import { Secret } from '../../server/secret.ts';
import { createHealth } from '../../server/services/health.ts';
import { type OpenVault, openVault } from '../../server/vault-parts.ts';
import { type AccountClient, createAccountClient } from './clients.ts';
import { startTestRedis, type TestRedis } from './redis.ts';

/** The lowest cost that the vault takes (OWASP), so that the tests spend their time elsewhere. */
const ARGON2 = { memoryKiB: 19_456, passes: 2, parallelism: 1 } as const;
const MASTER_KEY = new Uint8Array(32).fill(7);

/** What a test may set of a vault; everything else is as in staging. */
export interface VaultSettings extends Partial<ServiceSettings> {
  readonly workers?: number;
  /** Milliseconds since 1970; the system's clock when left out. */
  readonly now?: () => number;
  readonly redis?: TestRedis;
  /** Adds a server to the vault that is already on this Redis, instead of beginning with an empty one. */
  readonly join?: boolean;
}

/** A real vault with its HTTP application, in the tests' own process. */
export interface TestVault {
  readonly opened: OpenVault;
  readonly deps: Deps;
  readonly app: ReturnType<typeof createApp>;
  /** Every line that the HTTP side has logged. */
  readonly lines: LogLine[];
  readonly redis: TestRedis;
  /** Looks into the vault's Redis past the vault; binary values by the Buffer variants of its commands. */
  readonly raw: Redis;
  /** Makes an account with a fresh name, with unmasked output unless told otherwise, and its client. */
  readonly account: (settings?: { readonly unmasked?: boolean }) => Promise<AccountClient>;
  /** Another server of the same vault: threads, connection and memory of its own. */
  readonly secondServer: (settings?: VaultSettings) => Promise<TestVault>;
  readonly close: () => Promise<void>;
}

let accountsMade = 0;

const depsOf = (opened: OpenVault, now: () => number, lines: LogLine[]): Deps => ({
  http: {
    publicUrl: 'http://localhost',
    trustedProxies: [],
    tls: false,
    bodyTimeoutMs: 30_000,
    checkReplies: true,
  },
  vault: opened.vault,
  keys: opened.keys,
  utility: opened.utility,
  accounts: opened.accounts,
  metering: opened.metering,
  health: createHealth({ redis: () => opened.probe() }, now),
  metrics: createMetrics(),
  log: (line) => lines.push(line),
  now,
  newRequestId: opened.parts.randomId,
});

/** Opens a vault on the tests' Redis, which is emptied first unless it joins one that is there. */
export const openTestVault = async (settings: VaultSettings = {}): Promise<TestVault> => {
  const { workers = 1, now = Date.now, redis = await startTestRedis(), join = false, ...rest } = settings;
  if (!join) await redis.flush();
  const opened = await openVault({
    redis: { kind: 'socket', path: redis.socketPath },
    replicas: 0,
    ring: { writeId: 'k1', keys: new Map([['k1', MASTER_KEY]]) },
    argon2: ARGON2,
    workers,
    settings: {
      environment: 'staging',
      version: '0.0.0-test',
      authFailuresMax: 10,
      warmUnlockSeconds: 60,
      sadTtlMs: 0,
      ...rest,
    },
    now,
  });
  const lines: LogLine[] = [];
  const deps = depsOf(opened, now, lines);
  const app = createApp(deps);
  const raw = new Redis({ path: redis.socketPath });
  return {
    opened,
    deps,
    app,
    lines,
    redis,
    raw,
    account: async ({ unmasked = true } = {}) => {
      accountsMade += 1;
      const name = `account-${accountsMade}`;
      const password = `password of ${name}: ü`;
      const made = await opened.accounts.create(name, new Secret(new TextEncoder().encode(password)), {
        unmasked,
      });
      if (made === undefined) throw new Error('the account was there before');
      return createAccountClient((request) => app.handle(request), { name, password, aid: made.aid });
    },
    secondServer: (other) => openTestVault({ ...settings, ...other, redis, join: true }),
    close: async () => {
      raw.disconnect();
      await opened.close();
    },
  };
};
