/** Jobs of one frame share what they open from the same records under the same secret, and nothing else. */
import { beforeAll, beforeEach, expect, test } from 'bun:test';
import { sealWarm } from '../../workers/crypto/key/warm.ts';
import { IntegrityError, textOf, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import { openConnection } from '../../workers/jobs/connection/handlers.ts';
import type { ThreadContext } from '../../workers/jobs/context.ts';
import { ENDPOINT_HANDLERS } from '../../workers/jobs/endpoint/handlers.ts';
import { openCapture, openKey, openWarmKey, WARM_MISS } from '../../workers/jobs/key/open.ts';
import { endOpenings, workLater } from '../../workers/jobs/openings.ts';
import { ITEM_HANDLERS } from '../../workers/jobs/vault/handlers.ts';
import type { StoreParams } from '../../workers/jobs/vault/jobs.ts';
import { filled, openNewKey, PASSPHRASE, PROCESS_KEY, threadContextOf } from './crypto/fixture.ts';

const ENV = 'staging';
const KID = 'key';
const BODY = utf8('{"card_number":"4111111111111111"}');
const NAMES = [
  { aid: 'one', kid: KID },
  { aid: 'two', kid: KID },
] as const;

let context: ThreadContext;
let blobs: Uint8Array[];

beforeAll(async () => {
  blobs = await Promise.all(
    NAMES.map(async (name) => {
      const ids = { env: ENV, ...name };
      const { record, key } = await openNewKey(ids);
      return sealWarm(PROCESS_KEY, ids, record, PASSPHRASE, key);
    }),
  );
});

beforeEach(() => {
  context = threadContextOf(ENV);
});

function blobOf(account: 0 | 1): Uint8Array {
  return blobs[account] ?? filled(0, 0);
}

function open(account: 0 | 1, passphrase = PASSPHRASE, blob = blobOf(account)) {
  return openWarmKey(context, NAMES[account], blob, passphrase);
}

function paramsOf(account: 0 | 1, changes: Partial<StoreParams> = {}): StoreParams {
  const actor = { ip: '203.0.113.7', userAgent: '', source: 'vault', requestId: 'r', now: 1 } as const;
  const rest = {
    algorithm: 'full',
    candidate: 0,
    rejectTestCards: false,
    wantsCard: false,
    wantsFingerprint: false,
    wantsSummary: false,
    sadExpiresAt: 0,
    seen: 0,
  };
  return { ...NAMES[account], ...actor, ...rest, ...changes };
}

function store(account: 0 | 1, body = BODY, passphrase = PASSPHRASE) {
  return ITEM_HANDLERS.storeItem(context, {
    params: paramsOf(account),
    blob: blobOf(account),
    passphrase,
    body,
  });
}

function isWiped(key: { readonly tokenKey: Uint8Array } | undefined): boolean {
  return key?.tokenKey.every((byte) => byte === 0) ?? false;
}

/** An endpoint of the first account; what it was made with is not left open. */
function endpointOf(kind: 'capture' | 'retrieve', id = 'endpoint') {
  const policy = {
    kind,
    account: 'a',
    user: 'u',
    kid: KID,
    gen: 1,
    expiresAt: null,
    rules: [],
    wantsCard: false,
  };
  const given = {
    params: { ...NAMES[0], id, kind, gen: 1 },
    blob: blobOf(0),
    passphrase: PASSPHRASE,
    policy,
    order: new Uint8Array(0),
    given: undefined,
  };
  const made = ENDPOINT_HANDLERS.createEndpoint(context, given);
  endOpenings(context.openings);
  if (made instanceof Promise || made.kind !== 'created') {
    throw new Error('no endpoint');
  }
  return { use: { id, gen: 1 }, policy: made.policy, wrap: made.wrap, secret: utf8(made.secret) };
}

test('the same blob and passphrase are opened once, and wiped at the end of the frame', () => {
  const key = open(0);
  expect(key).toBeDefined();
  expect(open(0, new Uint8Array(PASSPHRASE), new Uint8Array(blobOf(0)))).toBe(key);
  expect(isWiped(key)).toBe(false);
  endOpenings(context.openings);
  expect(isWiped(key)).toBe(true);
  expect(key?.generations.every(({ privateKey }) => privateKey.every((byte) => byte === 0))).toBe(true);
  expect(context.openings).toEqual({ keys: [], captures: [], connection: undefined });
  const next = open(0);
  expect(next).not.toBe(key);
  expect(isWiped(next)).toBe(false);
});

test('a connection is opened once by a frame, under its own place and record alone', () => {
  const [{ aid }] = NAMES;
  const sealed = (baseUrl: string) =>
    context.sealer.seal('record', aid, 'connection', ['psp'], utf8(JSON.stringify({ baseUrl, headers: [] })));
  const record = sealed('https://pay.example.com');
  const opened = openConnection(context, { aid, id: 'psp' }, record);
  expect(opened.baseUrl).toBe('https://pay.example.com');
  expect(openConnection(context, { aid, id: 'psp' }, new Uint8Array(record))).toBe(opened);
  for (const place of [
    { aid, id: 'other' },
    { aid: 'another account', id: 'psp' },
  ]) {
    expect(() => openConnection(context, place, record)).toThrow(IntegrityError);
  }
  expect(openConnection(context, { aid, id: 'psp' }, sealed('https://new.example.com')).baseUrl).toBe(
    'https://new.example.com',
  );
  endOpenings(context.openings);
  expect(context.openings.connection).toBeUndefined();
  expect(openConnection(context, { aid, id: 'psp' }, record)).not.toBe(opened);
});

test('a wrong passphrase beside the right one is a miss, before it and behind it', () => {
  for (const wrong of ['correct horse battery stapla', 'correct horse battery stapl', '']) {
    expect(store(0, BODY, utf8(wrong))).toEqual(WARM_MISS);
    expect(store(0)).toMatchObject({ kind: 'stored' });
    expect(store(0, BODY, utf8(wrong))).toEqual(WARM_MISS);
    expect(open(0, utf8(wrong))).toBeUndefined();
  }
});

test('two accounts in one frame have a key each', () => {
  const [one, two] = [open(0), open(1)];
  expect(one?.tokenKey).not.toEqual(two?.tokenKey ?? filled(32, 0));
  expect([open(0), open(1)]).toEqual([one, two]);
  // One account with the blob of the other: the same passphrase does not help.
  expect(open(0, PASSPHRASE, blobOf(1))).toBeUndefined();
  expect(openWarmKey(context, { ...NAMES[0], kid: 'other' }, blobOf(0), PASSPHRASE)).toBeUndefined();
  const tokens = [store(0), store(1), store(0)].map((stored) =>
    'facts' in stored ? stored.facts.token : '',
  );
  expect(tokens[0]).toBe(tokens[2] ?? '');
  expect(tokens[0]).not.toBe(tokens[1] ?? '');
});

test('a job that fails in the middle costs its neighbours nothing', () => {
  const key = open(0);
  expect(() => store(0, utf8('{"name":"no number"}'))).toThrow();
  expect(() => store(0, utf8('no JSON'))).toThrow();
  expect(isWiped(key)).toBe(false);
  expect(store(0)).toMatchObject({ kind: 'stored' });
  endOpenings(context.openings);
  expect(isWiped(key)).toBe(true);
});

test('an endpoint is opened once for the same records and secret', () => {
  const capture = endpointOf('capture');
  const retrieve = endpointOf('retrieve');
  const key = openCapture(context, NAMES[0], capture);
  expect(openCapture(context, NAMES[0], { ...capture, secret: new Uint8Array(capture.secret) })).toBe(key);
  const reader = openKey(context, NAMES[0], { kind: 'endpoint', ...retrieve });
  expect(openKey(context, NAMES[0], { kind: 'endpoint', ...retrieve })).toBe(reader);
  expect(textOf(capture.secret.subarray(0, 5))).toBe('vcs1_');
  endOpenings(context.openings);
  expect(isWiped(key)).toBe(true);
  expect(reader?.generations[0]?.privateKey.every((byte) => byte === 0)).toBe(true);
});

test('an endpoint that is open for a neighbour opens for no other secret, record or place', () => {
  const [capture, other] = [endpointOf('capture'), endpointOf('capture', 'second')];
  const retrieve = endpointOf('retrieve');
  openCapture(context, NAMES[0], capture);
  openKey(context, NAMES[0], { kind: 'endpoint', ...retrieve });
  const edited = new Uint8Array(capture.policy);
  edited[20] = (edited[20] ?? 0) ^ 1;
  for (const changes of [
    { secret: other.secret },
    { secret: retrieve.secret },
    { policy: other.policy },
    { policy: edited },
    { wrap: other.wrap },
    { use: { id: 'second', gen: 1 } },
    { use: { id: 'endpoint', gen: 2 } },
  ]) {
    expect(() => openCapture(context, NAMES[0], { ...capture, ...changes })).toThrow();
  }
  expect(() => openCapture(context, NAMES[1], capture)).toThrow();
  expect(() =>
    openKey(context, NAMES[0], { kind: 'endpoint', ...retrieve, secret: capture.secret }),
  ).toThrow();
});

test('a job that waits has its key to itself, and wipes it, also when it fails', async () => {
  for (const outcome of ['done', 'failed'] as const) {
    const key = open(0);
    if (key === undefined) {
      throw new Error('not open');
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = workLater(context.openings, key, promise, () => {
      if (outcome === 'failed') {
        throw new IntegrityError();
      }
      return isWiped(key);
    });
    expect(open(0)).not.toBe(key);
    endOpenings(context.openings);
    expect(isWiped(key)).toBe(false);
    resolve();
    expect(await waiting.catch(() => 'failed')).toBe(outcome === 'failed' ? 'failed' : false);
    expect(isWiped(key)).toBe(true);
  }
});
