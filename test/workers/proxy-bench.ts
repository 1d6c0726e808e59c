/** What every test of proxied calls in the threads needs: a real pool, a key, and the way from an order to a job. */

import { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import { createCrypto, type ProxyOutcome, type RuleSet } from '../../server/crypto/client.ts';
import type { ThreadData } from '../../workers/jobs/context.ts';
import type { StoredParts, StoreParams } from '../../workers/jobs/item/jobs.ts';
import { createPool } from '../../workers/pool/pool.ts';

type Crypto = ReturnType<typeof createCrypto>;
type ParamsOf<Name extends 'fillProxy' | 'prepareFetch' | 'storeFetched'> = Parameters<
  Crypto[Name]
>[0]['params'];
type FillChanges = Partial<ParamsOf<'fillProxy'>>;
type FetchChanges = Partial<ParamsOf<'prepareFetch'>>;
type StoreChanges = Partial<ParamsOf<'storeFetched'>> & { readonly contentType?: string | undefined };

export const AID = 'account-1';
export const KID = 'key-1';
export const JOB = 'job-1';
export const USER = 'customers';
export const NO_RULES: RuleSet = [];
export function idsOf(rules: RuleSet): string[] {
  return rules.map(({ id }) => id);
}
export const NOTHING = new Uint8Array(0);
export const KEY = { aid: AID, kid: KID, user: USER } as const;

const MASTER_KEY = new Uint8Array(32).fill(5);
const NOW = 1_800_000_000_000;
const TAG_BYTES = 16;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}
export function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}
export function secret(text: string): Secret<Uint8Array> {
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

/** `ok`, or the code of the refusal with its place. */
export async function outcomeOf(work: Promise<unknown>): Promise<string> {
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

/** The bytes with one bit turned. */
export function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = bytes.slice();
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/** An item with the fields that it has in the store. */
export interface BenchItem {
  readonly token: string;
  readonly fields: { item: Uint8Array; meta: Uint8Array; sad: Uint8Array; logTail: Uint8Array };
}

const actor = { ip: '203.0.113.7', ua: 'shop/1', now: NOW } as const;

function storeParams(changes: Partial<StoreParams> = {}): StoreParams {
  return {
    ...actor,
    source: 'proxy',
    aid: AID,
    kid: KID,
    algorithm: 'full',
    candidate: 0,
    refuseTestCards: false,
    wantsCard: false,
    sadExpiresAt: 0,
    seen: 0,
    ...changes,
  };
}

export function benchItem({ facts, item, meta, sad, logEntry }: StoredParts): BenchItem {
  return {
    token: facts.token,
    fields: { item, meta, sad, logTail: logEntry.slice(-TAG_BYTES) },
  };
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

export async function openProxyBench() {
  const data: ThreadData = {
    env: 'staging',
    writeId: 'k1',
    keys: [['k1', MASTER_KEY]],
    processKey: new Uint8Array(32).fill(6),
    argon2: { memoryKiB: 19_456, passes: 2, parallelism: 1 },
  };
  const startPool = async (root?: Uint8Array) => {
    const pool = createPool({
      entry: new URL('../../workers/worker.ts', import.meta.url),
      threads: 1,
      workerData: { ...data, ...(root ? { root } : {}) },
      queueMax: 1_000,
      coldConcurrency: 1,
    });
    await pool.ready();
    return pool;
  };
  const first = await startPool();
  const root = (await createCrypto(first).createRoot()).slice();
  await first.drain();
  const pool = await startPool(root);
  const crypto = createCrypto(pool);
  const passphrase = secret('a passphrase for tests, äöü');
  const record = await crypto.createKey({ key: KEY, passphrase });
  const { blob } = await crypto.unlockKey({ key: KEY, record, passphrase });
  const opening = { kind: 'warm', blob, secret: passphrase } as const;
  let rulesMade = 0;

  const order = (what: 'post' | 'get' | 'network_token', body: unknown) =>
    crypto.readProxyOrder({
      aid: AID,
      params: { what, webhookAttempts: 8 },
      body: utf8(typeof body === 'string' ? body : JSON.stringify(body)),
    });

  const store = async (object: object, changes: Partial<StoreParams> = {}): Promise<BenchItem> =>
    benchItem(
      opened(
        await crypto.storeItem({
          params: storeParams(changes),
          blob,
          passphrase,
          body: utf8(JSON.stringify(object)),
        }),
      ),
    );

  const rules = async (...operations: object[]): Promise<RuleSet> => {
    rulesMade += 1;
    const id = `rule-${rulesMade}`;
    const checked = await crypto.checkRule({ aid: AID, body: utf8(JSON.stringify(operations)) });
    const place = { purpose: 'record', account: AID, kind: 'rule', path: [id] } as const;
    return [{ id, record: await crypto.sealRecord({ place, plaintext: checked }) }];
  };

  /** Fills an order from an item. */
  const fill = async (item: BenchItem, body: object, changes: FillChanges = {}, applied = NO_RULES) => {
    const what = changes.what ?? 'post';
    const { order: read } = await order(what, body);
    const params = {
      ...actor,
      ...KEY,
      source: 'proxy',
      token: item.token,
      seen: 1,
      account: 'shop',
      id: JOB,
      what,
      attempts: 8,
      debug: 'none',
      forcedMask: false,
      ...changes,
    } as const;
    const filled = opened(
      await crypto.fillProxy({ params, opening, rules: applied, item: item.fields, order: read }),
    );
    if (filled.kind === 'rejected') {
      throw filled.error;
    }
    return filled;
  };

  /** Prepares a fetch. */
  const fetch = async (body: object, changes: FetchChanges = {}) => {
    const { order: read } = await order('get', body);
    const params = {
      ...KEY,
      ip: actor.ip,
      ua: actor.ua,
      account: 'shop',
      id: JOB,
      attempts: 8,
      algorithm: 'full',
      smartParse: false,
      rules: [],
      ...changes,
    };
    return opened(await crypto.prepareFetch({ params, blob, passphrase, order: read })).job;
  };

  /** Stores a reply under a job. */
  const storeReply = (
    job: Uint8Array,
    body: string | Uint8Array,
    {
      contentType,
      applied = NO_RULES,
      ...changes
    }: StoreChanges & { readonly applied?: RuleSet | undefined } = {},
  ) =>
    crypto.storeFetched({
      params: { ...storeParams(), id: JOB, bytesMax: 262_144, forcedMask: false, ...changes },
      job,
      rules: applied,
      contentType,
      body: typeof body === 'string' ? utf8(body) : body,
    });

  /** The exact text of an item. */
  const read = async (item: BenchItem, reference?: string): Promise<string> => {
    const view = { forcedMask: false, maskFields: [], wantsCard: false };
    const params = {
      ...actor,
      ...KEY,
      source: 'vault',
      token: item.token,
      reference,
      seen: 1,
      ...view,
    } as const;
    return textOf(
      opened(await crypto.openItem({ params, opening, rules: NO_RULES, item: item.fields })).text,
    );
  };

  /** The synchronous reply to a job, and what its webhook is told, as texts. */
  const reports = async (
    job: Uint8Array,
    outcome: ProxyOutcome,
    bytes: Uint8Array,
    shown: Uint8Array = NOTHING,
  ) => {
    const reply = textOf(
      await crypto.reportProxy({ place: { aid: AID, id: JOB }, job, outcome, content: bytes, shown }),
    );
    const sealed = await crypto.sealReport({ place: { aid: AID, id: JOB }, job, outcome, content: bytes });
    return {
      reply,
      told: textOf((await crypto.openReport({ place: { aid: AID, id: JOB }, report: sealed })).body),
      sealed,
    };
  };

  return {
    crypto,
    record,
    passphrase,
    blob,
    order,
    store,
    rules,
    fill,
    fetch,
    storeReply,
    read,
    reports,
    close: () => pool.drain(),
  };
}

export type ProxyBench = Awaited<ReturnType<typeof openProxyBench>>;
