import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { EMPTY, textOf } from '../../workers/crypto/primitives/bytes.ts';
import { PROXY_JOBS } from '../../workers/jobs/proxy/jobs.ts';
import { canariesIn } from '../helpers/canaries.ts';
import { entryOf } from '../helpers/log-entry.ts';
import { flipped } from './crypto/fixture.ts';
import { AID, type BenchItem, codeOf, JOB, openProxyBench, type ProxyBench, request } from './proxy-bench.ts';

const CARD = {
  card_number: '4111111111111111',
  card_holder: 'Ada "Lovelace"',
  expiry_month: '12',
  expiry_year: '2031',
  cvv: '7391',
};
const CANARIES = {
  number: CARD.card_number,
  cvv: 'cvv":"7391',
  holder: 'Lovelace',
  secret: 'whsec-canary-41',
  metadata: 'metadata-canary-42',
  path: 'path-canary-43',
  header: 'header-canary-44',
};

let bench: ProxyBench;
let item: BenchItem;

beforeAll(async () => {
  bench = await openProxyBench();
  item = await bench.store(CARD);
});
afterAll(() => bench.close());

const BODY = '{"pan":"{{card_number}}","cvv":"{{cvv}}","holder":"{{card_holder}}"}';
const webhook = {
  url: 'https://shop.example/hooks',
  secret: CANARIES.secret,
  metadata: { a: CANARIES.metadata },
};
function order(changes: object = {}, more: object = { webhook }): object {
  return {
    request: request({ body: BODY, ...changes }),
    ...more,
  };
}

/** The request of a job as it is sent. */
async function sent(job: Uint8Array) {
  const { facts, request: sealed } = await bench.crypto.openJob({ place: { aid: AID, id: JOB }, job });
  const { body, ...rest } = sealed.expose();
  return { facts, ...rest, body: body && textOf(body) };
}

const HOOK = { url: 'https://shop.example/hooks' };

describe.each(['post', 'get'] as const)('an order of %s', (what) => {
  test('gives what the server needs to know of it', async () => {
    const asked = request({ url: 'https://PSP.example:8443/a?b', client_cert_id: 'c-1' });
    const { facts } = await bench.order(what, { request: asked, webhook: { ...HOOK, secret: 's' } });
    expect(facts).toEqual({
      synchronous: false,
      origin: 'https://psp.example:8443/',
      clientCertId: 'c-1',
      webhook: { url: HOOK.url, field: 'body.webhook.url' },
      repeatable: false,
      hasSections: false,
    });
    expect((await bench.order(what, { request: request(), synchronous: true })).facts).toEqual({
      synchronous: true,
      origin: 'https://psp.example/',
      repeatable: false,
      hasSections: false,
    });
  });

  test.each([
    ['a value', {}, false],
    ['a section in the body', { body: '{{#a}}{{b}}{{/a}}' }, true],
    ['an inverted section in a header', { headers: [{ A: '{{^a}}b{{/a}}' }] }, true],
    ['a section in the URL', { url: 'https://psp.example/{{#a}}b{{/a}}' }, true],
  ])('with %s has sections as a template alone: %p', async (_, change, expected) => {
    const { facts } = await bench.order(what, { request: request(change), synchronous: true });
    // What is fetched is sent as it stands.
    expect(facts.hasSections).toBe(what === 'post' && expected);
  });

  // What the members of an order may be, test/domain/proxy/request.test.ts says.
  test.each<[string, unknown, string]>([
    ['no JSON', '{"a":', 'invalid_json'],
    ['an empty body', '', 'invalid_json'],
    ['a repeated name', '{"request":{},"request":{}}', 'invalid_json'],
    ['a list', [], 'invalid_request body'],
    ['a plain URL', { request: request({ url: 'http://a.example' }) }, 'invalid_request body.request.url'],
    ['nobody to tell', { request: request() }, 'invalid_request body.webhook'],
    ['null for nobody to tell', { request: request(), webhook: null }, 'invalid_request body.webhook'],
  ])('is refused for %s', async (_what, body, outcome) => {
    expect(await codeOf(bench.order(what, body))).toBe(outcome);
  });
});

test('templates are checked where they are filled, and taken as they stand where they are not', async () => {
  const url = 'https://psp.example/{{a';
  const orders = [
    [request({ url }), 'body.request.url'],
    [request({ headers: [{ 'X-A': '{{#a}}' }] }), 'body.request.headers[0]'],
    [request({ headers: [{ 'Content-Type': 'text/{{a}}' }] }), 'body.request.headers[0]'],
    [request({ body: '{{=<% %>=}}' }), 'body.request.body'],
  ] as const;
  for (const [asked, field] of orders) {
    const order = { request: asked, synchronous: true };
    expect(await codeOf(bench.order('post', order))).toBe(`invalid_request ${field}`);
    expect(await codeOf(bench.order('get', order))).toBe('ok');
  }
});

describe('a request filled from an item', () => {
  test('holds its values where the tags were, escaped for each place', async () => {
    const asked = order({
      url: 'https://psp.example/{{card_holder}}?n={{card_number}}',
      headers: [{ 'Content-Type': 'application/json' }, { 'X-Holder': '{{card_holder}}' }],
      client_cert_id: 'cert-1',
    });
    const { job, shown, logEntry } = await bench.fill(item, asked, { attempts: 2 });
    expect(shown).toHaveLength(0);
    const out = await sent(job);
    expect(out).toEqual({
      facts: {
        what: 'post',
        account: 'shop',
        user: 'customers',
        kid: 'key-1',
        gen: 1,
        token: item.token,
        ip: '203.0.113.7',
        ua: 'shop/1',
        requestId: 'request-1',
        attempts: 2,
        repeatable: false,
        synchronous: false,
        clientCertId: 'cert-1',
        rules: [],
      },
      method: 'POST',
      url: 'https://psp.example/Ada%20%22Lovelace%22?n=4111111111111111',
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Holder', 'Ada "Lovelace"'],
      ],
      body: '{"pan":"4111111111111111","cvv":"7391","holder":"Ada \\"Lovelace\\""}',
    });
    const log = await bench.crypto.readLog({
      params: { aid: AID, kid: 'key-1', token: item.token, newest: 2, account: 'shop' },
      entries: [entryOf(logEntry)],
    });
    expect(log).toMatchObject([{ action: 'decrypt', source: 'proxy', ip_address: '203.0.113.7' }]);
  });

  test('without a body is sent without one', async () => {
    const get = request({ method: 'GET' });
    const out = await sent((await bench.fill(item, { request: get, webhook })).job);
    expect(out).toMatchObject({ method: 'GET', facts: { repeatable: true, synchronous: false } });
    expect(out.body).toBeUndefined();
    const now = await bench.fillNow(item, { request: get, synchronous: true });
    expect(now.sent).toMatchObject({ method: 'GET', facts: { repeatable: true, synchronous: true } });
    expect(now.sent.body).toBeUndefined();
  });

  test('is the same for a caller who waits, and no record of it is made', async () => {
    const asked = order({ url: 'https://psp.example/{{card_holder}}', client_cert_id: 'cert-1' });
    const changes = { attempts: 3, debug: 'masked' } as const;
    const { job, shown } = await bench.fill(item, asked, changes);
    const { facts, ...kept } = await sent(job);
    const now = await bench.fillNow(item, { ...asked, synchronous: true }, changes);
    expect(now.sent).toEqual({ facts: { ...facts, synchronous: true }, ...kept });
    expect(now.shown).toEqual(shown);
    expect(now).not.toHaveProperty('job');
    expect(Bun.inspect(now.request) + JSON.stringify(now.request)).toBe('[secret]"[secret]"');
  });

  test.each<[string, object, string]>([
    [
      'a line feed in a header',
      { headers: [{ 'X-A': '{{note}}' }] },
      'invalid_request body.request.headers[0]',
    ],
    ['a step in the path', { url: 'https://psp.example/a/{{{up}}}/b' }, 'invalid_request body.request.url'],
    ['much work', { body: '{{#list}}{{#list}}{{#list}}{{x}}{{/list}}{{/list}}{{/list}}' }, 'template_limit'],
  ])('is refused for %s', async (_what, changes, outcome) => {
    const list = Array.from({ length: 200 }, () => 1);
    const stored = await bench.store({ ...CARD, note: 'a\nb', up: '..', list });
    expect(await codeOf(bench.fill(stored, order(changes)))).toBe(outcome);
    expect(await codeOf(bench.fillNow(stored, order(changes, { synchronous: true })))).toBe(outcome);
  });
});

describe('debug', () => {
  const asked = order({ headers: [{ 'X-N': '{{card_number}}' }] });

  test('shows it masked, and sends it unmasked', async () => {
    const { shown, job } = await bench.fill(item, asked, { debug: 'masked' });
    expect(JSON.parse(textOf(shown))).toEqual({
      method: 'POST',
      url: 'https://psp.example/charges',
      headers: [{ 'X-N': '************1111' }],
      body: '{"pan":"************1111","cvv":"****","holder":"Ada \\"Lovelace\\""}',
    });
    expect((await sent(job)).headers).toEqual([['X-N', '4111111111111111']]);
  });
});

test('a request for a network token holds no address yet', async () => {
  const { job, shown } = await bench.fill(item, webhook, { what: 'network_token', requesterId: 'sim' });
  const out = await sent(job);
  expect(shown).toHaveLength(0);
  expect(out).toMatchObject({ method: 'POST', url: '', headers: [] });
  expect(out.facts).toMatchObject({ what: 'network_token', requesterId: 'sim', token: item.token });
});

describe('a sealed job', () => {
  let job: Uint8Array;
  let report: Uint8Array;

  beforeAll(async () => {
    const headers = [{ 'Content-Type': 'application/json' }, { 'X-C': CANARIES.header }];
    job = (await bench.fill(item, order({ url: `https://psp.example/${CANARIES.path}`, headers }))).job;
    const outcome = { kind: 'reply', statusCode: 200, headers: [] } as const;
    report = await bench.crypto.sealReport({
      place: { aid: AID, id: JOB },
      job,
      outcome,
      content: new TextEncoder().encode(CARD.card_number),
    });
  });
  const openJob = (bytes: Uint8Array, aid = AID, id = JOB) =>
    codeOf(bench.crypto.openJob({ place: { aid, id }, job: bytes }));
  const openReport = (bytes: Uint8Array, aid = AID, id = JOB) =>
    codeOf(bench.crypto.openReport({ place: { aid, id }, report: bytes }));

  test('holds nothing in the clear, and neither does its report', () => {
    for (const record of [job, report]) {
      expect(canariesIn(CANARIES, Buffer.from(record).toString('latin1'))).toEqual([]);
    }
  });

  test('opens at its own place alone', async () => {
    expect([await openJob(job), await openReport(report)]).toEqual(['ok', 'ok']);
    for (const open of [openJob, openReport]) {
      const own = open === openJob ? job : report;
      const other = open === openJob ? report : job;
      expect(await open(other)).toBe('integrity_failed');
      expect(await open(own, AID, 'job-2')).toBe('integrity_failed');
      expect(await open(own, 'account-2')).toBe('integrity_failed');
    }
  });

  test('with a bit turned, cut or made longer is not used', async () => {
    for (const [record, open] of [
      [job, openJob],
      [report, openReport],
    ] as const) {
      for (let at = 0; at < record.length; at += 7) {
        expect(await open(flipped(record, at))).toBe('integrity_failed');
      }
      const others = [
        EMPTY,
        record.subarray(0, 40),
        record.subarray(0, -1),
        Buffer.concat([record, EMPTY, new Uint8Array(1)]),
      ];
      for (const other of others) {
        expect(await open(other)).toBe('integrity_failed');
      }
    }
  });

  test('of another form is refused though it was sealed for its place', async () => {
    const place = { purpose: 'job', account: AID, kind: 'proxy send', path: [JOB] } as const;
    const plain = (await bench.crypto.openRecord({ place, record: job })).slice();
    expect(plain[0]).toBe(1);
    for (const form of [
      EMPTY,
      plain.with(0, 2),
      plain.subarray(0, -1),
      Buffer.concat([plain, new Uint8Array(1)]),
      plain.with(1, 255),
    ]) {
      expect(await openJob(await bench.crypto.sealRecord({ place, plaintext: form }))).toBe(
        'integrity_failed',
      );
    }
    expect(await openJob(await bench.crypto.sealRecord({ place, plaintext: plain }))).toBe('ok');
  });
});

test('what takes long travels alone: rules, sections, and much to read', () => {
  const laneOf = (change: object): unknown => {
    const { lane } = PROXY_JOBS.fillProxy;
    const input = { params: { hasSections: false }, rules: [], order: new Uint8Array(100), ...change };
    return typeof lane === 'function' ? lane(input as never) : lane;
  };
  expect(laneOf({})).toBe('hot');
  expect(laneOf({ params: { hasSections: true } })).toBe('bulk');
  expect(laneOf({ rules: [{ id: 'r', record: new Uint8Array(1) }] })).toBe('bulk');
  expect(laneOf({ order: new Uint8Array(16_385) })).toBe('bulk');
});
