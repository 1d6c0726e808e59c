import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { textOf, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import { ServiceSealer } from '../../workers/crypto/record/service-record.ts';
import { entryOf } from '../helpers/log-entry.ts';
import {
  AID,
  benchItem,
  codeOf,
  idsOf,
  JOB,
  NO_RULES,
  openProxyBench,
  type ProxyBench,
  request,
} from './proxy-bench.ts';

const NUMBER = '5555555555554444';
const webhook = { url: 'https://shop.example/hooks', metadata: { order: 1.1, status_code: 'mine' } };
const ORDER = { request: request({ method: 'GET' }), webhook };
const INFO = { token: 'tok', user: 'customers', stored_at: '2026-01-31T12:00:00.123Z' };
const HEADERS = [['Content-Type', 'application/json']] as const;
const KIB_256 = 262_144;

let bench: ProxyBench;
let plain: Uint8Array;
let smart: Uint8Array;

beforeAll(async () => {
  bench = await openProxyBench();
  [plain, smart] = [await bench.fetch(ORDER), await bench.fetch(ORDER, { smartParse: true })];
});
afterAll(() => bench.close());

type Storing = Parameters<ProxyBench['storeReply']>[2];

/** What a reply is stored as, and what is told of it. */
async function stored(job: Uint8Array, body: string | Uint8Array, storing: Storing = {}) {
  const { parts, extra } = await bench.storeReply(job, body, storing);
  return { text: await bench.read(benchItem(parts), storing?.reference), extra: textOf(extra), parts };
}
function refusal(job: Uint8Array, body: string | Uint8Array, storing: Storing = {}) {
  return codeOf(bench.storeReply(job, body, storing));
}

describe('a reply that is stored as it is', () => {
  test('keeps its text, and its token is that of the number', async () => {
    const text = `{"id":1.10,"card_number":"${NUMBER}","cvv":"123","deep":{"a":[1e400]}}`;
    const { text: kept, extra, parts } = await stored(plain, text);
    expect([kept, extra]).toEqual([text, '']);
    expect(parts.sad.length).toBeGreaterThan(0);
    expect(parts.facts.token).toBe((await bench.store({ card_number: NUMBER })).token);
    expect(parts.facts.gen).toBe(1);
    const log = await bench.crypto.readLog({
      params: { aid: AID, kid: 'key-1', token: parts.facts.token, newest: 1, account: 'shop' },
      entries: [entryOf(parts.logEntry)],
    });
    expect(log).toMatchObject([{ action: 'encrypt', source: 'proxy' }]);
  });

  test('may come with a byte order mark, and in another charset', async () => {
    expect((await stored(plain, `\ufeff{"n":"${NUMBER}"}`)).text).toBe(`{"n":"${NUMBER}"}`);
    const latin = Buffer.from(`{"n":"${NUMBER}","holder":"Jürgen"}`, 'latin1');
    for (const contentType of [
      'application/json; charset=ISO-8859-1',
      'text/json;Charset="windows-1252";x=y',
    ]) {
      expect((await stored(plain, latin, { contentType })).text).toBe(`{"n":"${NUMBER}","holder":"Jürgen"}`);
    }
    const wide = Buffer.from(`{"n":"${NUMBER}"}`, 'utf16le');
    expect((await stored(plain, wide, { contentType: 'application/json;charset=utf-16le' })).text).toBe(
      `{"n":"${NUMBER}"}`,
    );
  });

  test.each<[string, string | Uint8Array, string?]>([
    ['nothing', ''],
    ['no JSON', `card_number=${NUMBER}`],
    ['a list', `[{"card_number":"${NUMBER}"}]`],
    ['no number', '{"card":"none"}'],
    ['a number deeper down', `{"card":{"number":"${NUMBER}"}}`],
    ['repeated names', `{"n":"${NUMBER}","n":"${NUMBER}"}`],
    ['too many levels', `{"n":"${NUMBER}","d":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['bytes that are no UTF-8', Buffer.from(`{"n":"${NUMBER}","holder":"Jürgen"}`, 'latin1')],
    ['a charset that is not known', '{"n":"ü1"}', 'application/json; charset=klingon'],
    [
      'bytes that are not of its charset',
      Uint8Array.of(0x7b, 0x81, 0xff),
      'application/json; charset=shift_jis',
    ],
  ])('is refused for %s', async (...[, body, contentType]) => {
    expect(await refusal(plain, body, { contentType })).toBe('reply_not_storable');
  });

  test('may have 256 KB and not one byte more', async () => {
    const body = (bytes: number) => {
      const head = `{"n":"${NUMBER}","x":"`;
      return `${head}${'x'.repeat(bytes - head.length - 2)}"}`;
    };
    expect((await stored(plain, body(KIB_256))).text).toHaveLength(KIB_256);
    expect(await refusal(plain, body(KIB_256 + 1))).toBe('reply_not_storable');
  });

  test('with a test card is refused where these are', async () => {
    const body = `{"n":"${NUMBER}"}`;
    expect(await refusal(plain, body, { rejectTestCards: true })).toBe('test_card');
    expect(await refusal(plain, body)).toBe('ok');
  });

  test('takes its number from itself alone', async () => {
    expect(await refusal(plain, '{"a":1}', { number: NUMBER })).toBe('reply_not_storable');
  });
});

describe('rules of a fetch', () => {
  const nested = `{"card":{"number":"${NUMBER}","exp":"12/31"},"metadata":{"shop":"north"}}`;

  test('run before a number is looked for', async () => {
    const applied = await bench.rules({
      name: 'template',
      arguments: { template: '{"card_number":"{{card.number}}","shop":"{{metadata.shop}}"}' },
    });
    const job = await bench.fetch(ORDER, { rules: idsOf(applied) });
    expect((await stored(job, nested, { applied })).text).toBe(`{"card_number":"${NUMBER}","shop":"north"}`);
    const drop = await bench.rules({ name: 'template', arguments: { template: '{"shop":"x"}' } });
    const dropped = await bench.fetch(ORDER, { rules: idsOf(drop) });
    expect(await refusal(dropped, `{"n":"${NUMBER}"}`, { applied: drop })).toBe('reply_not_storable');
  });

  test('cannot make more of a reply than may be stored, nor work for ever', async () => {
    const grow = await bench.rules({
      name: 'template',
      arguments: { template: '{"n":"{{n}}","a":"{{x}}{{x}}{{x}}"}' },
    });
    const job = await bench.fetch(ORDER, { rules: idsOf(grow) });
    const body = `{"n":"${NUMBER}","x":"${'x'.repeat(100_000)}"}`;
    expect(await refusal(job, body, { applied: grow })).toBe('reply_not_storable');
    const endless = await bench.rules(
      ...Array.from({ length: 30 }, () => ({
        name: 'template',
        input_field: '*',
        output_field: 'x',
        arguments: { template: '{{x}}{{x}}' },
      })),
    );
    const another = await bench.fetch(ORDER, { rules: idsOf(endless) });
    expect(await refusal(another, body, { applied: endless })).toBe('rule_limit');
  });

  test('of an account that sees numbers masked put none where it could be read', async () => {
    const applied = await bench.rules({ name: 'noop', input_field: 'number', output_field: 'shown' });
    const job = await bench.fetch(ORDER, { rules: idsOf(applied) });
    const kept = async (forcedMask: boolean) =>
      JSON.parse((await stored(job, `{"number":"${NUMBER}"}`, { applied, forcedMask })).text);
    expect(await kept(true)).toEqual({ number: NUMBER, shown: '************4444' });
    expect(await kept(false)).toEqual({ number: NUMBER, shown: NUMBER });
  });

  test('are those of the job, with records that fit', async () => {
    const [one, other] = [await bench.rules({ name: 'noop' }), await bench.rules({ name: 'noop' })];
    const job = await bench.fetch(ORDER, { rules: idsOf(one) });
    const body = `{"n":"${NUMBER}"}`;
    expect(await refusal(job, body, { applied: one })).toBe('ok');
    for (const applied of [NO_RULES, other]) {
      expect(await refusal(job, body, { applied })).toBe('integrity_failed');
    }
  });
});

describe('a reply that is parsed', () => {
  const card = {
    card_number: NUMBER,
    cvv: '123',
    expiry_month: '12',
    expiry_year: '31',
    card_holder: 'Ada L',
  };

  test.each<[string, string, string, string]>([
    [
      'JSON',
      'application/json',
      `{"data":{"cardNumber":"${NUMBER}","cvc":"123","expiry":"12/31","holder":"Ada L"},"id":7}`,
      '{"data":{"cardNumber":"{{card_number}}","cvc":"{{cvv}}","expiry":"{{expiry_month}}/{{expiry_year}}","holder":"{{card_holder}}"},"id":7}',
    ],
    [
      'text',
      'text/plain',
      `Card ${NUMBER}, CVV: 123, valid thru 12/31, card holder: Ada L`,
      'Card {{card_number}}, CVV: {{cvv}}, valid thru {{expiry_month}}/{{expiry_year}}, card holder: {{card_holder}}',
    ],
  ])('from %s', async (_what, contentType, body, original) => {
    const { text, extra } = await stored(smart, body, { contentType });
    const object = JSON.parse(text);
    expect(object).toEqual({
      ...card,
      original_data: original,
    });
    expect(extra).toBe(object.original_data);
    expect(extra).not.toContain(NUMBER);
  });

  test('keeps a byte order mark in what is told of it', async () => {
    const body = `\ufeff{"number":"${NUMBER}"}`;
    const { parts, extra } = await bench.storeReply(smart, body);
    expect(textOf(extra)).toBe('\ufeff{"number":"{{card_number}}"}');
    const outcome = {
      kind: 'stored',
      statusCode: 200,
      headers: HEADERS,
      tokenInfo: { token: parts.facts.token },
    } as const;
    expect(JSON.parse((await bench.reports(smart, outcome, extra)).told).body).toBe(textOf(extra));
  });

  test.each([
    ['has no number', '{"cvv":"123"}'],
    ['declares entities', `<!DOCTYPE r [<!ENTITY a "b">]><r><pan>${NUMBER}</pan></r>`],
    ['is not in its charset', Buffer.from(`{"pan":"${NUMBER}","holder":"J\xfc"}`, 'latin1')],
    ['is empty', ''],
  ])('is refused when it %s', async (_what, body) => {
    expect(await refusal(smart, body)).toBe('reply_not_storable');
  });

  test('is refused with track data, by an error of its own', async () => {
    const body = `{"pan":"${NUMBER}","data":";${NUMBER}=29122010000012345?"}`;
    expect(await refusal(smart, body)).toBe('track_data_refused');
  });
});

describe('what a fetch waits with', () => {
  const sealer = new ServiceSealer('staging', 'k1', [['k1', new Uint8Array(32).fill(5)]]);
  /** Lengths of the last two parts: public key and token key. */
  const keysOf = (job: Uint8Array): number[] => {
    const sealed = Buffer.from(sealer.open('job', AID, 'proxy send', [JOB], job));
    const lengths: number[] = [];
    for (let at = 1; at < sealed.length; ) {
      lengths.push(sealed.readUInt32BE(at));
      at += 4 + sealed.readUInt32BE(at);
    }
    return lengths.slice(-2);
  };

  test('is a public key, and the token key only where the token is made of the number', async () => {
    expect(keysOf(await bench.fetch(ORDER, { algorithm: 'luhn' }))).toEqual([1216, 32]);
    expect(keysOf(await bench.fetch(ORDER, { algorithm: 'uuid' }))).toEqual([1216, 0]);
    const item = await bench.store({ card_number: NUMBER });
    expect(keysOf((await bench.fill(item, webhook, { what: 'network_token' })).job)).toEqual([1216, 0]);
    expect(keysOf((await bench.fill(item, ORDER)).job)).toEqual([0, 0]);
  });

  test('decides how the token is made, whatever the server asks for', async () => {
    const random = await bench.fetch(ORDER, { algorithm: 'uuid' });
    const store = (from: typeof random, algorithm: string) =>
      bench.storeReply(from, `{"n":"${NUMBER}"}`, { algorithm, seed: 'a-seed' });
    const { token } = (await store(random, 'full')).parts.facts;
    expect(token).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect((await store(random, 'full')).parts.facts.token).toBe(token);
    expect((await store(plain, 'uuid')).parts.facts.token).toMatch(/^[\da-f]{64}$/);
  });

  test('belongs to its key, and is for storing', async () => {
    expect(await refusal(plain, `{"n":"${NUMBER}"}`, { kid: 'key-2' })).toBe('integrity_failed');
    const item = await bench.store({ card_number: NUMBER });
    const { job } = await bench.fill(item, ORDER);
    expect(await refusal(job, `{"n":"${NUMBER}"}`)).toBe('integrity_failed');
  });
});

describe('the reply of a requester', () => {
  const token = '4895370012003478';
  let job: Uint8Array;

  beforeAll(async () => {
    const item = await bench.store({ card_number: NUMBER, expiry: '12/31' });
    job = (await bench.fill(item, webhook, { what: 'network_token', requesterId: 'r' })).job;
  });
  const REPLY = { token, expiry_month: '1', expiry_year: '31', status: 'ACTIVE' };

  test('is stored with what came along, and told without a cryptogram', async () => {
    const body = JSON.stringify({ ...REPLY, cryptogram: 'AAECAwQFBgc=', eci: '05', more: { pan: NUMBER } });
    const { text, extra, parts } = await stored(job, body);
    expect(JSON.parse(text)).toEqual({
      card_number: token,
      expiry_month: '01',
      expiry_year: '2031',
      status: 'ACTIVE',
      cryptogram: 'AAECAwQFBgc=',
      eci: '05',
    });
    const told = { token, expiryMonth: '01', expiryYear: '2031', lastFour: '3478', status: 'ACTIVE' };
    expect(JSON.parse(extra)).toEqual(told);
    expect(parts.facts.token).toMatch(/^[0-9a-f-]{36}$/);
    const outcome = { kind: 'stored', statusCode: 200, headers: HEADERS, tokenInfo: INFO } as const;
    expect((await bench.reports(job, outcome, utf8(extra))).told).toBe(
      `{"network_token":{"token":"${token}","expiry_month":"01","expiry_year":"2031","last_four":"3478","status":"ACTIVE"},"token_info":${JSON.stringify(INFO)},"order":1.1,"status_code":"mine"}`,
    );
  });

  test.each<[string, unknown]>([
    ['no JSON', 'token=4895370012003478'],
    ['a list', [REPLY]],
    ['no token', { ...REPLY, token: undefined }],
    ['a token that is none', { ...REPLY, token: '{{card_number}}' }],
    ['a prototype', '{"__proto__":{"token":"4895370012003478"},"status":"x"}'],
  ])('is refused for %s', async (_what, reply) => {
    const body = typeof reply === 'string' ? reply : JSON.stringify(reply);
    expect(await refusal(job, body)).toBe('reply_not_storable');
  });
});
