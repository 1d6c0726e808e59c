/** Pages of items: one piece of text and one of log entries, whatever is missing, filtered or large. */
import { beforeAll, expect, spyOn, test } from 'bun:test';
import { parseStoredObject } from '../../server/domain/json/json.ts';
import { countOf, joinedTexts, stringAt, textAt } from '../../server/vault/list/page.ts';
import { generationOf, publicHalfOf } from '../../workers/crypto/key/unlocked.ts';
import { sealWarm } from '../../workers/crypto/key/warm.ts';
import { openLogEntry } from '../../workers/crypto/log/entry.ts';
import { concat, EMPTY, textOf, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import type { ThreadContext } from '../../workers/jobs/context.ts';
import { endOpenings } from '../../workers/jobs/openings.ts';
import { ITEM_HANDLERS } from '../../workers/jobs/vault/handlers.ts';
import type { Packed, StoredParts, StoreParams, ThreadPage } from '../../workers/jobs/vault/jobs.ts';
import { PAGE_HANDLERS } from '../../workers/jobs/vault/page.ts';
import { sealNew } from '../../workers/jobs/vault/records.ts';
import { entryOf } from '../helpers/log-entry.ts';
import { openNewKey, PASSPHRASE, PROCESS_KEY, sealWhenReady, threadContextOf } from './crypto/fixture.ts';

type Reply = Uint8Array | readonly Reply[];

/** A reply in RESP2: a byte string, or a list of replies. */
function encodeReply(reply: Reply): Uint8Array {
  return reply instanceof Uint8Array
    ? concat([utf8(`$${reply.length}\r\n`), reply, utf8('\r\n')])
    : concat([utf8(`*${reply.length}\r\n`), ...reply.map(encodeReply)]);
}

const NAME = { aid: 'account', kid: 'key' } as const;
/** What is listed before anything has expired. */
const LISTED = { ...NAME, now: 0 };
const IDS = { env: 'staging', ...NAME } as const;
const ACTOR = {
  ip: '203.0.113.7',
  userAgent: 'curl',
  source: 'vault',
  requestId: 'request-1',
  endpointId: 'window',
  now: 1_767_225_600_000,
} as const;
const BUCKETS = 3;

let context: ThreadContext;
let blob: Uint8Array;
let publicHalf: Uint8Array;

beforeAll(async () => {
  context = threadContextOf(IDS.env);
  const { record, key } = await openNewKey(IDS);
  publicHalf = publicHalfOf(generationOf(key));
  blob = sealWarm(PROCESS_KEY, IDS, record, PASSPHRASE, key);
});

interface Wanted {
  readonly data: object;
  readonly reference?: string;
  readonly isGone?: boolean;
  /** What was stored before, in place of `data`. */
  readonly stored?: StoredParts;
}

function paramsOf(reference?: string): StoreParams {
  const wants = { wantsCard: false, wantsFingerprint: false, wantsSummary: false };
  const rest = { candidate: 0, rejectTestCards: false, ...wants, sadExpiresAt: 0, seen: 0 };
  return { ...NAME, ...ACTOR, ...rest, algorithm: 'uuid', reference };
}

function store({ data, reference, stored: before }: Wanted): StoredParts {
  if (before) {
    return before;
  }
  const params = paramsOf(reference);
  const given = { params, blob, passphrase: PASSPHRASE, body: utf8(JSON.stringify(data)) };
  const stored = ITEM_HANDLERS.storeItem(context, given);
  if (stored.kind !== 'stored') {
    throw new Error('not stored');
  }
  return stored;
}

/** A page of items with their data, and of the same items without it. */
interface Pages {
  readonly full: ThreadPage;
  readonly meta: ThreadPage;
}

/** The pages that the store would read. */
function pageOf(wanted: readonly Wanted[]): Pages {
  const order = new Uint8Array(2 * wanted.length);
  const buckets = Array.from({ length: Math.min(BUCKETS, wanted.length) }, () => ({
    full: [] as Uint8Array[][],
    meta: [] as Uint8Array[][],
    sads: [] as Uint8Array[],
  }));
  const tokens = wanted.map((one, i) => {
    const stored = store(one);
    const { item, meta, sad, logEntry } = stored;
    const tail = logEntry.subarray(-16);
    order[2 * i + 1] = i % BUCKETS;
    const log = concat([utf8('1'), tail]);
    const { full, meta: metas, sads } = buckets[i % BUCKETS] ?? { full: [], meta: [], sads: [] };
    full.push(one.isGone ? [EMPTY, EMPTY, EMPTY] : [item, meta, log]);
    sads.push(one.isGone ? EMPTY : sad);
    metas.push([one.isGone ? EMPTY : meta]);
    return stored.facts.token;
  });
  const page = { order, tokens, storedAt: Float64Array.from(tokens, (_, i) => ACTOR.now + i) };
  return {
    full: { ...page, replies: buckets.map(({ full, sads }) => encodeReply([...full, sads])) },
    meta: { ...page, replies: buckets.map(({ meta }) => encodeReply(meta)) },
  };
}

const VIEW = { forcedMask: false, maskFields: [], wantsCard: false } as const;

function decrypt(page: ThreadPage, changes: object = {}, passphrase = PASSPHRASE) {
  const params = { ...NAME, ...ACTOR, ...VIEW, ...changes };
  const opening = { kind: 'warm', blob, secret: passphrase } as const;
  return PAGE_HANDLERS.decryptItems(context, { params, opening, rules: [], page });
}

function opened({ full: page }: Pages, changes: object = {}) {
  const result = decrypt(page, changes);
  if (result instanceof Promise || result.kind !== 'opened') {
    throw new Error('not opened');
  }
  return result;
}

/** The items of joined texts, which are those of the single texts. */
function itemsOf(texts: Packed): unknown[] {
  const joined = JSON.parse(`[${joinedTexts(texts).map(textOf).join(',')}]`) as unknown[];
  const single = [...texts.ends.keys()].map((i) => textOf(textAt(texts, i))).filter((text) => text !== '');
  expect(single.map((text): unknown => JSON.parse(text))).toEqual(joined);
  expect(countOf(texts)).toBe(joined.length);
  return joined;
}

/** The log entry of an item of a page of `pageOf`. */
function entryAt(logEntries: readonly Packed[], i: number): Uint8Array {
  const entries = logEntries[i % BUCKETS];
  return entries ? entryOf(stringAt(entries, Math.floor(i / BUCKETS))) : EMPTY;
}

function card(number: number, more: object = {}) {
  return { data: { card_number: `411111111111${1000 + number}`, ...more } };
}

test.each([
  ['all there', [false, false, false, false]],
  ['the first gone', [true, false, false]],
  ['the last gone', [false, false, true]],
  ['gone in the middle', [false, true, true, false]],
  ['all gone', [true, true]],
  ['none', []],
])('a page with %s', (_name, gone) => {
  const wanted = gone.map((isGone, i) => ({
    ...card(i),
    isGone,
    ...(i % 2 ? { reference: `r"ä${i}` } : {}),
  }));
  const page = pageOf(wanted);
  const expected = wanted.flatMap(({ data, isGone, ...rest }, i) => {
    const head = { token: page.full.tokens[i], ...rest, stored_at: `2026-01-01T00:00:00.00${i}Z` };
    return isGone ? [] : [{ head, data }];
  });
  const { texts, logEntries, cards } = opened(page);
  expect(itemsOf(texts)).toEqual(expected.map(({ head, data }) => ({ ...head, data })));
  expect(cards).toEqual([]);
  expect(itemsOf(PAGE_HANDLERS.listItems(context, { params: LISTED, page: page.meta }))).toEqual(
    expected.map(({ head }) => head),
  );
  for (const [i, isGone] of gone.entries()) {
    const entry = entryAt(logEntries, i);
    expect(entry.length === 0).toBe(isGone);
    if (!isGone) {
      const ids = { ...IDS, token: page.full.tokens[i] ?? '' };
      const { action, seenLength, ip, userAgent } = openLogEntry(context.sealer, ids, entry);
      expect([action, seenLength, ip, userAgent]).toEqual(['decrypt', 1, ACTOR.ip, ACTOR.userAgent]);
    }
  }
});

test('a filter leaves no text, no entry and no card behind', () => {
  const page = pageOf([card(0), { ...card(1), reference: 'one' }, { ...card(2), reference: 'other' }]);
  const { texts, logEntries, cards } = opened(page, { reference: 'one', wantsCard: true });
  expect(itemsOf(texts)).toMatchObject([{ reference: 'one' }]);
  expect([0, 1, 2].map((i) => entryAt(logEntries, i).length > 0)).toEqual([false, true, false]);
  expect(cards).toMatchObject([null, { brand: 'visa' }, null]);
  expect(itemsOf(opened(page, { reference_prefix: 'o' }).texts)).toHaveLength(2);
  const params = { ...LISTED, reference: 'none' };
  expect(joinedTexts(PAGE_HANDLERS.listItems(context, { params, page: page.meta }))).toEqual([]);
});

test('texts and entries that are larger than expected', () => {
  const reference = 'ä€😀'.repeat(60);
  const page = pageOf(
    Array.from({ length: 40 }, (_, i) => ({ ...card(i, { note: 'é'.repeat(300) }), reference })),
  );
  const userAgent = 'u'.repeat(400);
  const { texts, logEntries } = opened(page, { userAgent });
  expect(itemsOf(texts)).toMatchObject(
    Array.from({ length: 40 }, (_, i) => ({ reference, data: { ...card(i).data, note: 'é'.repeat(300) } })),
  );
  const last = openLogEntry(
    context.sealer,
    { ...IDS, token: page.full.tokens[39] ?? '' },
    entryAt(logEntries, 39),
  );
  expect(last.userAgent).toBe(userAgent.slice(0, 255));
  expect(itemsOf(PAGE_HANDLERS.listItems(context, { params: LISTED, page: page.meta }))).toHaveLength(40);
});

/** The replies of the first bucket of a page. */
function textOfReplies({ replies: [first = EMPTY] }: ThreadPage): string {
  return Buffer.from(first).toString('latin1');
}

const DAMAGED = 'failed its integrity check';

test('a page that is cut at any byte, or longer than its items, is refused as a whole', () => {
  const { full, meta } = pageOf([card(0, { cvv: '123' }), { ...card(1), isGone: true }, card(2)]);
  const tries = (page: ThreadPage, read: (page: ThreadPage) => unknown): void => {
    const { replies } = page;
    for (const [i, bytes] of replies.entries()) {
      for (let end = 0; end < bytes.length; end++) {
        expect(() => read({ ...page, replies: replies.with(i, bytes.subarray(0, end)) })).toThrow(DAMAGED);
      }
      const longer = concat([bytes, utf8('*1')]);
      expect(() => read({ ...page, replies: replies.with(i, longer) })).toThrow(DAMAGED);
    }
    expect(() => read({ ...page, replies: replies.slice(1) })).toThrow(DAMAGED);
    expect(() => read({ ...page, tokens: page.tokens.slice(1) })).toThrow(DAMAGED);
  };
  tries(full, (page) => decrypt(page));
  tries(meta, (page) => PAGE_HANDLERS.listItems(context, { params: LISTED, page }));
});

test('replies of another form are refused', () => {
  const { full } = pageOf([card(0)]);
  const text = textOfReplies(full);
  for (const [from, to] of [
    ['*3', '$3'],
    ['*3', ':3'],
    ['$0', '*0'],
    ['$17', '$x7'],
    ['$17', '$99'],
    ['$17', '$17000000000000000000'],
    ['\r\n1', '\r\nx'],
    ['$17\r\n1', '$18\r\n99999999999'],
  ] as const) {
    expect(text).toContain(from);
    const replies = [Buffer.from(text.replace(from, to), 'latin1')];
    expect(() => decrypt({ ...full, replies })).toThrow(DAMAGED);
  }
});

test('one damaged record in the middle refuses the page', () => {
  const { full, meta } = pageOf([card(0), card(1), card(2)]);
  const damage = (page: ThreadPage): ThreadPage => {
    const damaged = new Uint8Array(page.replies[1] ?? []);
    const at = Math.floor(damaged.length / 2);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    return { ...page, replies: page.replies.with(1, damaged) };
  };
  expect(() => decrypt(damage(full))).toThrow(DAMAGED);
  expect(() =>
    PAGE_HANDLERS.listItems(context, {
      params: LISTED,
      page: damage(meta),
    }),
  ).toThrow(DAMAGED);
});

test('items of another order, key or passphrase are refused', () => {
  const { full } = pageOf([card(0), card(1)]);
  expect(() => decrypt({ ...full, tokens: full.tokens.toReversed() })).toThrow(DAMAGED);
  expect(decrypt(full, { aid: 'another' })).toEqual({ kind: 'warm_miss' });
  expect(decrypt(full, {}, utf8('wrong'))).toEqual({ kind: 'warm_miss' });
});

test('a missing item may be null, and a log without its last bytes is damaged', () => {
  const { full } = pageOf([{ ...card(0), isGone: true }, card(1)]);
  const nulls = textOfReplies(full).replace('$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n', '$-1\r\n'.repeat(3));
  expect(nulls).toContain('$-1');
  const repliesOf = (text: string) => [Buffer.from(text, 'latin1'), ...full.replies.slice(1)];
  const page = { full: { ...full, replies: repliesOf(nulls) }, meta: full };
  expect(itemsOf(opened(page).texts)).toHaveLength(1);
  const [, bucket = EMPTY] = full.replies;
  const old = Buffer.from(bucket)
    .toString('latin1')
    .replace(/\$17\r\n1.{16}/s, '$1\r\n1');
  expect(old.length).toBe(bucket.length - 17);
  const replies = full.replies.with(1, Buffer.from(old, 'latin1'));
  expect(() => decrypt({ ...full, replies })).toThrow(DAMAGED);
});

test('items captured under several set-ups wait for all of them at once', async () => {
  const capture = async (gen: number, number: string) => {
    const object = parseStoredObject(utf8(JSON.stringify({ card_number: number, cvv: '123' })));
    const writer = { gen, publicHalf, tokenKey: EMPTY };
    return await sealWhenReady(writer, IDS, () => sealNew(context, paramsOf(), object, writer));
  };
  const wanted: Wanted[] = [];
  for (let i = 0; i < 5; i++) {
    wanted.push({ data: {}, stored: await capture(1, '4111111111111111') });
    // Another receiver, after which the set-up to the first is made anew.
    await capture(2, '5555555555554444');
  }
  const { full } = pageOf(wanted);
  const decapsulated = spyOn(crypto.subtle, 'decapsulateBits' as never);
  try {
    const waiting = decrypt(full);
    expect(waiting).toBeInstanceOf(Promise);
    // The frame ends before: the key is the job's own until then.
    endOpenings(context.openings);
    const result = await waiting;
    expect(result.kind === 'opened' && countOf(result.texts)).toBe(5);
    expect(decapsulated).toHaveBeenCalledTimes(5);
    expect(decrypt(full)).toMatchObject({ kind: 'opened' });
  } finally {
    decapsulated.mockRestore();
  }
});
