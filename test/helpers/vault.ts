import { randomInt } from 'node:crypto';
import type Redis from 'ioredis';
import type { FormBundles } from '../../forms/build.ts';
import type { AppDeps } from '../../server/boot/app.ts';
import { createApp } from '../../server/boot/app.ts';
import { assemble, type System } from '../../server/boot/assemble.ts';
import { createHttpDeps } from '../../server/boot/http.ts';
import type { SystemOptions } from '../../server/boot/options.ts';
import { Secret } from '../../server/core/secret.ts';
import type { ServiceSettings } from '../../server/core/settings.ts';
import type { HttpConfig } from '../../server/http/deps.ts';
import type { RedisTarget } from '../../server/redis/connect.ts';
import type { LogLine } from '../../server/telemetry/log-sink.ts';
import { Metrics } from '../../server/telemetry/metrics.ts';
import type { Tracer } from '../../server/telemetry/tracer.ts';
import { type AccountClient, createAccountClient, type Handle } from './clients.ts';
import { SMALL_BUNDLES } from './forms.ts';
import { openRaw, type RedisPlace, startTestRedis, takeTestRedis, targetOf } from './redis.ts';

/** The lowest cost that the vault takes, and a small part of that, so that the tests spend their time elsewhere. */
const ARGON2 = { memoryKiB: 19_456, passes: 2, parallelism: 1 } as const;
const ARGON2_DIVISOR = 256;
const FREE = { currency: 'USD', prices: {}, default: '0' } as const;
const TEST_PEOPLE = { consoleUrl: 'http://localhost', flaw: undefined, hasPasswords: true } as const;
const MASTER_KEY = new Uint8Array(32).fill(7);

/** Settings of a test vault. The defaults are those of staging. */
export interface VaultSettings extends Partial<ServiceSettings> {
  readonly workers?: number;
  /** Argon2id at its real cost: for a Redis that a process of the server or of the command line opens too. */
  readonly realArgon2?: boolean;
  /** Milliseconds since 1970; the system's clock when left out. */
  readonly now?: () => number;
  readonly masterKey?: Uint8Array;
  /** Several by id, of which the first writes, instead of one. */
  readonly masterKeys?: ReadonlyMap<string, Uint8Array>;
  /** CIDRs whose X-Forwarded-For is believed; requests in process come from 127.0.0.1. */
  readonly trustedProxies?: readonly string[];
  /** The origin of a host for hosted forms alone; none when left out. */
  readonly formsUrl?: string;
  /** The scripts of forms; small ones when left out. */
  readonly bundles?: FormBundles;
  /** The provider that people sign in at; none when left out. */
  readonly oidc?: SystemOptions['oidc'];
  readonly redis?: RedisPlace;
  /** Replicas that must have a write before it counts; none when left out. */
  readonly replicas?: number;
  /** Adds a server to the vault that is already on this Redis, instead of beginning with an empty one. */
  readonly join?: boolean;
  /** The tests are about what one server counts or remembers: `VAULT_TEST_SERVERS` adds no other. */
  readonly alone?: boolean;
  /** Settings of the proxy, see `helpers/proxy.ts`. Without them it reaches public addresses only and runs no jobs. */
  readonly proxy?: Partial<ProxySettings>;
  /** False: accepted requests wait until the test starts the vault's jobs. */
  readonly jobs?: boolean;
  /** The operator's prices; everything is free when left out. */
  readonly prices?: SystemOptions['prices'];
  /** Where access events go; nowhere when left out. */
  readonly auditSink?: SystemOptions['auditSink'];
  /** Makes spans of what the vault does; none when left out. */
  readonly traces?: Tracer;
}

interface ProxySettings {
  /** CIDRs that may be reached besides public addresses. */
  readonly allow: SystemOptions['proxyAllow'];
  readonly caPem: SystemOptions['proxyCa'];
  readonly requesters: SystemOptions['networkTokenRequesters'];
  readonly retryMs: SystemOptions['retryMs'];
}

interface NewAccount {
  readonly unmasked?: boolean;
  readonly password?: string;
  /** Hosts that the account may send data to; any when left out. */
  readonly hosts?: readonly string[];
}

/** A real vault with its HTTP application, in the tests' own process. */
export interface TestVault {
  readonly opened: System;
  readonly parts: AppDeps;
  readonly app: ReturnType<typeof createApp>;
  readonly handle: Handle;
  /** Every line that the HTTP side has logged. */
  readonly lines: LogLine[];
  /** Events that the vault has recorded outside of request logs. */
  readonly events: VaultEvent[];
  /** The vault's Redis past the vault. */
  readonly raw: Redis;
  readonly socketPath: string;
  readonly target: RedisTarget;
  readonly ring: SystemOptions['ring'];
  /** Makes an account with a fresh name, with unmasked output unless told otherwise, and its client. */
  readonly account: (settings?: NewAccount) => Promise<AccountClient>;
  /** The internal id of a key, which its names in Redis begin with. */
  readonly kidOf: (account: AccountClient, user: string) => Promise<string>;
  /** Usage of an account this month, by operation. */
  readonly usage: (account: AccountClient) => Promise<Readonly<Record<string, number>>>;
  /** Another server of the same vault: threads, connection and memory of its own. */
  readonly secondServer: (settings?: VaultSettings) => Promise<TestVault>;
  readonly close: () => Promise<void>;
}

/** Usage of an account in a month by operation, summed over its days. */
export function usageOf(counts: ReadonlyMap<string, number>): Record<string, number> {
  const usage: Record<string, number> = {};
  for (const [field, n] of counts) {
    const name = field.replace(/:.*/, '');
    usage[name] = (usage[name] ?? 0) + n;
  }
  return usage;
}

/** An event that the vault records outside of request logs. */
interface VaultEvent extends Readonly<Record<string, unknown>> {
  readonly event: string;
}

let accountsMade = 0;

function ringOf({
  masterKey = MASTER_KEY,
  masterKeys = new Map([['k1', masterKey]]),
}: VaultSettings): SystemOptions['ring'] {
  return {
    writeId: [...masterKeys.keys()][0] ?? '',
    keys: masterKeys,
  };
}

function serviceSettingsOf({
  environment = 'staging',
  version = '0.0.0-test',
  authFailuresMax = 10,
  authLockSeconds = 1_800,
  ratePerAccount = 0,
  ratePerSource = 0,
  warmUnlockSeconds = 60,
  sadTtlMs = 0,
  sadRewriteMs = 600_000,
  sadAfterProxy = false,
  auditRetentionMs = 0,
  jobRetentionMs = 0,
  people = TEST_PEOPLE,
}: VaultSettings): ServiceSettings {
  return {
    ...{
      environment,
      version,
      authFailuresMax,
      authLockSeconds,
      ratePerAccount,
      ratePerSource,
      refuseUnknown: true,
    },
    ...{ warmUnlockSeconds, sadTtlMs, sadRewriteMs, sadAfterProxy, auditRetentionMs, jobRetentionMs },
    people,
  };
}

function openSystem(
  settings: VaultSettings,
  redis: RedisPlace,
  events: VaultEvent[],
  metrics: Metrics,
): Promise<System> {
  const { workers = 1, now = Date.now, proxy = {}, prices = FREE, replicas = 0, traces } = settings;
  return assemble({
    redis: targetOf(redis),
    redisWait: replicas,
    auditSink: settings.auditSink,
    ring: ringOf(settings),
    argon2: ARGON2,
    ...(settings.realArgon2 === true || settings.environment === 'production'
      ? {}
      : { argon2Divisor: ARGON2_DIVISOR }),
    settings: serviceSettingsOf(settings),
    proxyAllow: proxy.allow ?? [],
    proxyCa: proxy.caPem,
    oidc: settings.oidc,
    networkTokenRequesters: proxy.requesters ?? [],
    retryMs: proxy.retryMs,
    ...{ workers, prices, now },
    observer: traces?.observe(metrics.observer) ?? metrics.observer,
    recordEvent: (event, fields = {}) => {
      metrics.observeEvent(event, fields);
      traces?.event(event, fields);
      events.push({ event, ...fields });
    },
  });
}

function httpConfigOf({ trustedProxies = [], formsUrl, people = TEST_PEOPLE }: VaultSettings): HttpConfig {
  return {
    ...{ publicUrl: 'http://localhost', formsUrl, trustedProxies, refuseUnknown: true },
    people,
    tls: false,
    bodyTimeoutMs: 30_000,
    checkReplies: true,
  };
}

async function makeAccount(opened: System, handle: Handle, settings: NewAccount): Promise<AccountClient> {
  accountsMade += 1;
  const name = `account-${accountsMade}`;
  const { unmasked = true, password = `password of ${name}: ü`, hosts } = settings;
  const bytes = new TextEncoder().encode(password);
  const made = await opened.services.accounts.create(name, new Secret(bytes), { unmasked, hosts });
  if (made === undefined) {
    throw new Error('the account was there before');
  }
  return createAccountClient(handle, { name, password, aid: made.aid });
}

interface Noted {
  readonly lines: LogLine[];
  readonly events: VaultEvent[];
}

async function openServer(
  settings: VaultSettings,
  redis: RedisPlace,
  { lines, events }: Noted,
  handleOf: (own: Handle) => Handle,
): Promise<TestVault> {
  const { now = Date.now } = settings;
  const raw = openRaw(redis);
  if (settings.join !== true) {
    await raw.flushall();
  }
  const metrics = new Metrics({ version: '0.0.0-test', environment: 'staging' });
  const opened = await openSystem(settings, redis, events, metrics).catch((error: unknown) => {
    raw.disconnect();
    metrics.close();
    throw error;
  });
  metrics.watch(opened.figures);
  if (settings.proxy !== undefined && settings.jobs !== false) {
    opened.services.jobs.start();
  }
  const parts = createHttpDeps(opened, {
    http: httpConfigOf(settings),
    bundles: settings.bundles ?? SMALL_BUNDLES,
    metrics,
    tracer: settings.traces,
    log: (line) => lines.push(line),
  });
  const app = createApp(parts);
  const handle = handleOf((request) => app.handle(request));
  return {
    opened,
    parts,
    app,
    handle,
    lines,
    events,
    raw,
    socketPath: redis.socketPath,
    target: targetOf(redis),
    ring: ringOf(settings),
    account: (wanted = {}) => makeAccount(opened, handle, wanted),
    kidOf: async ({ aid }, user) => (await opened.services.keyOpener.find({ aid }, user)).kid,
    usage: async ({ aid }) => {
      const month = new Date(now()).toISOString().slice(0, 7);
      return usageOf(await opened.services.usage.read({ aid }, month));
    },
    secondServer: (other) => openTestVault({ ...settings, ...other, redis, join: true }),
    close: async () => {
      raw.disconnect();
      metrics.close();
      await opened.close();
    },
  };
}

/** With `VAULT_TEST_SERVERS=2` each request of each test goes at random to one of two servers of the same vault. */
const TWO_SERVERS = process.env['VAULT_TEST_SERVERS'] === '2';

/**
 * Two servers as one vault. A test that looks into a server (`opened`, `parts`, `app`) has named the one that it is
 * about: from then on every request of this vault goes to that one.
 */
async function openTwoServers(settings: VaultSettings, redis: RedisPlace): Promise<TestVault> {
  const noted: Noted = { lines: [], events: [] };
  let other: TestVault | undefined;
  let isLookedInto = false;
  const vault = await openServer(
    settings,
    redis,
    noted,
    (own) => (request) => (isLookedInto || randomInt(2) === 0 ? own : (other?.handle ?? own))(request),
  );
  other = await openServer({ ...settings, join: true }, redis, noted, (own) => own);
  const { close } = other;
  const look = <T>(part: T): T => {
    isLookedInto = true;
    return part;
  };
  return {
    ...vault,
    get opened() {
      return look(vault.opened);
    },
    get parts() {
      return look(vault.parts);
    },
    get app() {
      return look(vault.app);
    },
    close: async () => {
      await close();
      await vault.close();
    },
  };
}

function openServers(settings: VaultSettings, redis: RedisPlace): Promise<TestVault> {
  return TWO_SERVERS && settings.join !== true && settings.alone !== true
    ? openTwoServers(settings, redis)
    : openServer(settings, redis, { lines: [], events: [] }, (own) => own);
}

/**
 * Opens a vault on a Redis of the tests that no other open vault has, which is emptied first. A vault that joins another
 * one goes to the Redis that is named, or to the shared one.
 */
export async function openTestVault(settings: VaultSettings = {}): Promise<TestVault> {
  if (settings.redis !== undefined || settings.join === true) {
    return openServers(settings, settings.redis ?? (await startTestRedis()));
  }
  const redis = await takeTestRedis();
  try {
    const vault = await openServers(settings, redis);
    const { close } = vault;
    const closeAll = async (): Promise<void> => {
      await close();
      await redis.stop();
    };
    // Not a copy: with two servers, a read of some properties selects a server.
    return Object.defineProperty(vault, 'close', { value: closeAll });
  } catch (error) {
    await redis.stop();
    throw error;
  }
}
