/** What every test of proxied calls in the threads needs: a real pool, a key, and the way from an order to a job. */

import { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import { createCrypto } from '../../server/crypto/client.ts';
import type { Showing } from '../../server/domain/relay/sight.ts';
import { Limiter } from '../../server/limits/limiter.ts';
import { EMPTY, textOf, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import type { ThreadData } from '../../workers/jobs/context.ts';
import type { Opening } from '../../workers/jobs/key/jobs.ts';
import type { ProxyOutcome } from '../../workers/jobs/proxy/jobs.ts';
import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import type { StoredParts, StoreParams } from '../../workers/jobs/vault/jobs.ts';
import { Pool } from '../../workers/pool/pool.ts';
import { bindParts } from '../helpers/bind.ts';

type Crypto = ReturnType<typeof createCrypto>;
type ParamsOf<Name extends 'fillProxy' | 'prepareFetch' | 'storeFetched'> = Parameters<
  Crypto[Name]
>[0]['params'];
type FillChanges = Partial<ParamsOf<'fillProxy'>>;
type FetchChanges = Partial<ParamsOf<'prepareFetch'>>;
type StoreChanges = Partial<ParamsOf<'storeFetched'>> & {
  readonly contentType?: string | undefined;
  readonly applied?: RuleSet | undefined;
};

/** The account, the key and the job of the bench. */
export const AID = 'account-1';
export const KID = 'key-1';
export const JOB = 'job-1';
const USER = 'customers';
/** No rules. */
export const NO_RULES: RuleSet = [];
/** The ids of rules, in order. */
export function idsOf(rules: RuleSet): string[] {
  return rules.map(({ id }) => id);
}
/** The name of the key. */
export const KEY = { aid: AID, kid: KID, user: USER } as const;

const MASTER_KEY = new Uint8Array(32).fill(5);
const NOW = 1_800_000_000_000;
const TAG_BYTES = 16;

/** A text as a secret. */
export function secretOf(text: string): Secret<Uint8Array> {
  return new Secret(utf8(text));
}

/** The result of a job that needs the key, which must open. */
export function opened<T extends { readonly kind: string }>(
  result: T,
): Exclude<T, { readonly kind: 'warm_miss' }> {
  if (result.kind === 'warm_miss') {
    throw new Error('the key did not open');
  }
  return result as Exclude<T, { readonly kind: 'warm_miss' }>;
}

/** `ok`, or the code of the error with its place. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'ok';
  } catch (error) {
    if (!(error instanceof VaultError)) {
      throw error;
    }
    return error.field === undefined ? error.code : `${error.code} ${error.field}`;
  }
}

/** An item with the fields that it has in the store. */
export interface BenchItem {
  readonly token: string;
  readonly fields: { item: Uint8Array; meta: Uint8Array; sad: Uint8Array; logTail: Uint8Array };
}

const actor = { ip: '203.0.113.7', userAgent: 'shop/1', requestId: 'request-1', now: NOW } as const;

function storeParams(changes: Partial<StoreParams> = {}): StoreParams {
  return {
    ...{ ...actor, source: 'proxy', aid: AID, kid: KID, algorithm: 'full', candidate: 0 },
    ...{ rejectTestCards: false, wantsCard: false, wantsFingerprint: false, wantsSummary: false },
    ...{ sadExpiresAt: 0, seen: 0, ...changes },
  };
}

/** What was stored, as an item of the bench. */
export function benchItem({ facts, item, meta, sad, logEntry }: StoredParts): BenchItem {
  return { token: facts.token, fields: { item, meta, sad, logTail: logEntry.slice(-TAG_BYTES) } };
}

/** The members of a request to a third party that a test does not care about. */
export function request(changes: object = {}): object {
  return {
    method: 'POST',
    url: 'https://psp.example/charges',
    headers: [{ 'Content-Type': 'application/json' }],
    ...changes,
  };
}

interface Parts {
  readonly crypto: Crypto;
  readonly passphrase: Secret<Uint8Array>;
  readonly blob: Uint8Array;
  readonly opening: Opening;
  rulesMade: number;
}

/** A pool, a key that is open, and what tests do with them. */
export type ProxyBench = Awaited<ReturnType<typeof openProxyBench>>;

/** Opens a bench with a root and a key of its own; `close` ends its thread. */
export async function openProxyBench() {
  const limiter = new Limiter({ threads: 1, unlocks: 1, guesses: 1 }, () => performance.now());
  const first = await startPool();
  const root = (await createCrypto(first, limiter).createRoot()).slice();
  await first.drain();
  const pool = await startPool(root);
  const crypto = createCrypto(pool, limiter);
  const passphrase = secretOf('a passphrase for tests, äöü');
  const record = await crypto.createKey({ summary: false, key: KEY, passphrase });
  const { blob } = await crypto.unlockKey({ key: KEY, record, passphrase });
  const opening = { kind: 'warm', blob, secret: passphrase } as const;
  const parts: Parts = { crypto, passphrase, blob, opening, rulesMade: 0 };
  const actions = bindParts(parts, { order, store, rules, fill, fillNow, fetch, storeReply, read, reports });
  return { crypto, record, passphrase, blob, ...actions, close: () => pool.drain() };
}

async function startPool(root?: Uint8Array) {
  const data: ThreadData = {
    env: 'staging',
    writeId: 'k1',
    keys: [['k1', MASTER_KEY]],
    processKey: new Uint8Array(32).fill(6),
    argon2: { memoryKiB: 19_456, passes: 2, parallelism: 1 },
  };
  const pool = new Pool({
    entry: new URL('../../workers/worker.ts', import.meta.url),
    threads: 1,
    workerData: { ...data, ...(root ? { root } : {}) },
    queueMax: 1_000,
    coldConcurrency: 1,
  });
  await pool.ready();
  return pool;
}

function order({ crypto }: Parts, what: 'post' | 'get' | 'network_token', body: unknown) {
  const params = { what, webhookAttempts: 8, refuseUnknown: true };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return crypto.readProxyOrder({ aid: AID, params, body: utf8(text) });
}

async function store(
  { crypto, blob, passphrase }: Parts,
  object: object,
  changes: Partial<StoreParams> = {},
): Promise<BenchItem> {
  const body = utf8(JSON.stringify(object));
  const params = storeParams(changes);
  return benchItem(opened(await crypto.storeItem({ params, blob, passphrase, body })));
}

async function rules(parts: Parts, ...operations: object[]): Promise<RuleSet> {
  const { crypto } = parts;
  parts.rulesMade += 1;
  const id = `rule-${parts.rulesMade}`;
  const checked = await crypto.checkRule({ aid: AID, body: utf8(JSON.stringify(operations)) });
  const place = { purpose: 'record', account: AID, kind: 'rule', path: [id] } as const;
  return [{ id, record: await crypto.sealRecord({ place, plaintext: checked }) }];
}

/** Fills an order from an item, as a job. */
async function fill(...args: Parameters<typeof fillAny>) {
  const filled = await fillAny(...args);
  if (filled.kind !== 'filled') {
    throw new Error('not a job');
  }
  return filled;
}

/** Fills an order from an item whose caller waits for the reply. */
async function fillNow(...args: Parameters<typeof fillAny>) {
  const filled = await fillAny(...args);
  if (filled.kind !== 'ready') {
    throw new Error('not to be sent at once');
  }
  const { body, ...head } = filled.request.expose();
  return { ...filled, sent: { facts: filled.facts, ...head, body: body && textOf(body) } };
}

async function fillAny(
  parts: Parts,
  item: BenchItem,
  body: object,
  changes: FillChanges = {},
  applied = NO_RULES,
) {
  const what = changes.what ?? 'post';
  const { facts, order: bytes } = await order(parts, what, body);
  const { token } = item;
  const { hasSections } = facts;
  const own = {
    account: 'shop',
    id: JOB,
    hasSections,
    what,
    attempts: 8,
    debug: 'none',
    forcedMask: false,
    sight: 'all',
    allowMissing: false,
  } as const;
  const params = { ...actor, ...KEY, source: 'proxy', token, seen: 1, ...own, ...changes } as const;
  const { crypto, opening } = parts;
  const filled = opened(
    await crypto.fillProxy({
      params,
      opening,
      rules: applied,
      item: item.fields,
      order: bytes,
      connection: undefined,
    }),
  );
  if (filled.kind === 'rejected') {
    throw filled.error;
  }
  return filled;
}

/** Prepares a fetch. */
async function fetch(parts: Parts, body: object, changes: FetchChanges = {}) {
  const { crypto, blob, passphrase } = parts;
  const { order: bytes } = await order(parts, 'get', body);
  const params = {
    ...{ ...actor, ...KEY, source: 'proxy' as const, account: 'shop', id: JOB, attempts: 8 },
    ...{ algorithm: 'full', smartParse: false, rules: [], forcedMask: false, sight: 'all' as const },
    ...changes,
  };
  return opened(await crypto.prepareFetch({ params, blob, passphrase, order: bytes })).job;
}

/** Stores a reply under a job. */
function storeReply(
  { crypto }: Parts,
  job: Uint8Array,
  body: string | Uint8Array,
  { contentType, applied = NO_RULES, ...changes }: StoreChanges = {},
) {
  return crypto.storeFetched({
    params: { ...storeParams(), id: JOB, bytesMax: 262_144, forcedMask: false, ...changes },
    job,
    rules: applied,
    headers: contentType === undefined ? [] : [['Content-Type', contentType] as const],
    body: typeof body === 'string' ? utf8(body) : body,
  });
}

/** The exact text of an item. */
async function read({ crypto, opening }: Parts, item: BenchItem, reference?: string): Promise<string> {
  const { token, fields } = item;
  const view = { forcedMask: false, maskFields: [], wantsCard: false };
  const params = { ...actor, ...KEY, source: 'vault', token, reference, seen: 1, ...view } as const;
  return textOf(opened(await crypto.openItem({ params, opening, rules: NO_RULES, item: fields })).text);
}

/** The synchronous reply to a job, and what its webhook is sent, as texts. */
async function reports(
  { crypto }: Parts,
  job: Uint8Array,
  outcome: ProxyOutcome,
  content: Uint8Array,
  shown: Uint8Array = EMPTY,
) {
  const place = { aid: AID, id: JOB };
  const showing = new Secret<Showing>({ sight: 'all', numbers: [], sent: [], paths: [], secrets: [] });
  const reply = textOf(await crypto.reportProxy({ place, job, outcome, content, shown, showing }));
  const sealed = await crypto.sealReport({ place, job, outcome, content });
  return { reply, told: textOf((await crypto.openReport({ place, report: sealed })).body), sealed };
}
