import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AccountClient, answerOf, PASSPHRASE } from '../helpers/clients.ts';
import { acceptedId, newItem, openProxyVault, proxyPost, requestTo } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import type { TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';

let vault: TestVault;
let party: ThirdParty;
let client: AccountClient;
beforeAll(async () => {
  vault = await openProxyVault({ authFailuresMax: 0 });
  party = await startThirdParty();
  client = await vault.account();
  await client.key('u');
});
afterAll(async () => {
  await vault.close();
  await party.stop();
});

const REQUEST_ID = 'checkout-7f3a.order:4711';
function idOf(line: object): unknown {
  return Reflect.get(line, 'request_id');
}

test('one id finds a request from its acceptance to the last call of its webhook', async () => {
  const item = await newItem(vault);
  const receiver = createReceiver(party);
  party.script('/pay', 503, 201);
  const order = { request: requestTo(party.url('/pay')), webhook: receiver.webhook };
  const answer = await proxyPost(item, order, { attempts: 2 }, { headers: { 'x-request-id': REQUEST_ID } });
  const job = acceptedId(answer);
  expect(answer.headers.get('x-request-id')).toBe(REQUEST_ID);
  const told = await receiver.next();
  expect(told.id).toBe(job);
  while (!vault.events.some(({ event }) => event === 'webhook_attempt')) {
    await Bun.sleep(5);
  }
  const { name: account } = item.account;
  const same = { request_id: REQUEST_ID, job, account };
  expect(vault.events.filter((line) => idOf(line) === REQUEST_ID)).toMatchObject([
    { event: 'proxy_accepted', ...same },
    { event: 'proxy_attempt', ...same, attempt: 1, status: 503 },
    { event: 'proxy_attempt', ...same, attempt: 2, status: 201 },
    { event: 'proxy_finished', ...same, outcome: 'reply' },
    { event: 'webhook_attempt', ...same, attempt: 1, delivered: true },
  ]);
  expect(vault.lines.filter((line) => idOf(line) === REQUEST_ID)).toMatchObject([
    { event: 'request', route: '/v1/proxy/post', account },
  ]);
  expect(party.calls('/pay').map((call) => call.header('x-vault-request-id'))).toEqual([job, job]);
});

test('it finds the attempts of a caller who waits, too', async () => {
  const item = await newItem(vault);
  party.script('/now', 201);
  const order = { request: requestTo(party.url('/now')), synchronous: true };
  const answer = await proxyPost(item, order, {}, { headers: { 'x-request-id': 'waiting-for-it-1' } });
  expect(answer.status).toBe(200);
  const [attempt, ...others] = vault.events.filter((line) => idOf(line) === 'waiting-for-it-1');
  const job = party.calls('/now')[0]?.header('x-vault-request-id');
  expect([attempt, others]).toMatchObject([{ event: 'proxy_attempt', job }, []]);
});

test('a refusal has the id in its body, its header and its line', async () => {
  for (const path of ['/vault?user=u&token=none', '/none', '/vault?limit=x']) {
    const answer = await client.send('GET', path, { headers: { 'x-request-id': `refused${path.length}-x` } });
    const id = `refused${path.length}-x`;
    expect([Object(answer.json).request_id, answer.headers.get('x-request-id')]).toEqual([id, id]);
    expect(vault.lines.at(-1)).toMatchObject({
      event: 'request',
      request_id: id,
      code: Object(answer.json).code,
    });
  }
});

test.each([
  ['card-4111111111111111', false],
  ['order4111111111111111x', false],
  ['a:4111-1111-1111-1111', false],
  ['a.3782.822463.10005', false],
  ['order-2026-4111-1111-1111-1111', false],
  ['x.0001.0002.3782.822463.10005', false],
  ['x14111-1111-1111-1111', false],
  ['order-4111111111111112', true],
  ['order-2026-4111-1111-1111-1112', true],
  ['550e8400-e29b-41d4-a716-446655440000', true],
  ['0af7651916cd43dd8448eb211c80319c', true],
])('an id %j of the caller is kept: %p', async (id, isKept) => {
  const answer = await client.send('GET', '/whoami', { headers: { 'x-request-id': id } });
  expect(answer.headers.get('x-request-id') === id).toBe(isKept);
  expect(JSON.stringify(vault.lines.at(-1)).includes(id)).toBe(isKept);
});

describe('text that would break a line of the log', () => {
  const BREAKS = [
    '\n',
    '\r\n',
    '\0',
    '\x1b[2J',
    '\u2028',
    '\u2029',
    '\u0085',
    '"',
    '\\',
    '\u202e',
    '{"event":"forged"}',
  ];
  const hostile = BREAKS.flatMap((text) => [`${text}x`, `a${text}{"level":"error"}${text}b`]);

  /** Everything a caller can put anywhere; what a header cannot carry goes there percent-encoded. */
  const sendAll = async (text: string): Promise<number[]> => {
    const encoded = encodeURIComponent(text);
    const latin = /^[\x20-\x7e\x80-\xff]*$/.test(text) ? text : encoded;
    const headers = {
      'user-agent': latin,
      'x-request-id': latin,
      'x-forwarded-for': latin,
      'idempotency-key': latin,
    };
    const answers = [
      await client.send('GET', '/vault', { query: { user: text, token: text, reference: text }, headers }),
      await client.send('POST', '/key', { body: { user: text, passphrase: PASSPHRASE } }),
      await client.send('GET', `/rule/${encoded}`, { headers }),
      await client.send('POST', '/capture', {
        query: { user: 'u', unique_id: text },
        passphrase: PASSPHRASE,
      }),
      await answerOf(await vault.handle(new Request(`http://localhost/${encoded}?${encoded}`, { headers }))),
    ];
    return answers.map(({ status }) => status);
  };

  test('never gets into one: each request is one line of printable characters', async () => {
    const before = vault.lines.length;
    let sent = 0;
    for (const text of hostile) {
      const statuses = await sendAll(text);
      sent += statuses.length;
      expect(statuses.filter((status) => status === 500 || status === 200)).toEqual([]);
    }
    const lines = vault.lines.slice(before);
    expect(lines.length).toBe(sent);
    for (const line of lines) {
      expect(JSON.stringify(line)).toMatch(/^[\x20-\x7e]+$/);
      expect(JSON.stringify(line)).not.toMatch(/forged|\\/);
    }
  }, 60_000);
});

test('every line says when, how serious and what', async () => {
  const client = await vault.account();
  for (let requests = 0; requests < 11; requests++) {
    await client.send('GET', '/whoami');
  }
  const lines = vault.lines.map((line) => Object.keys(line));
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.filter(([time, level, event]) => `${time} ${level} ${event}` !== 'time level event')).toEqual(
    [],
  );
});
