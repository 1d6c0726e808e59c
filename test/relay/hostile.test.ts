/** What somebody tries who may send through a connection, and sees nothing of cards and credentials. */
import { describe, expect, test } from 'bun:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { CARD, newItem } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect, placeholder, relay } from '../helpers/relay.ts';

const KEY = 'sk_test_the-key-of-the-shop';

const { vault, party, item } = await openProxySetting();
const psp = await connect(item.account, party, { headers: [{ Authorization: `Bearer ${KEY}` }] });
const sender = await credentialClient(vault.handle, item.account, ['proxy:send']);
const reader = await credentialClient(vault.handle, item.account, ['proxy:send', 'vault:read']);
party.script('/echo', ({ text }) => ({ headers: [['Content-Type', 'application/json']], body: text }));
const PAN = placeholder(item.token, 'card_number');

/** Numbers that pass Luhn, with the last four digits of the card. */
function guesses(count: number): string[] {
  const found: string[] = [];
  for (let middle = 0; found.length < count; middle++) {
    const number = `41111${String(middle).padStart(7, '0')}1111`;
    const sum = [...number].reduce((all, digit, at) => {
      const value = Number(digit) * (at % 2 === 0 ? 2 : 1);
      return all + (value > 9 ? value - 9 : value);
    }, 0);
    if (sum % 10 === 0 && number !== CARD.card_number) {
      found.push(number);
    }
  }
  return found;
}

describe('a caller who sees data masked', () => {
  test('does not see which of many guesses is the number', async () => {
    const wrong = guesses(40);
    const all = [...wrong.slice(0, 20), CARD.card_number, ...wrong.slice(20)];
    const listed = all.map((number) => `a guess: ${number}, `);
    const body = JSON.stringify({ guesses: listed, pan: PAN });
    const answer = await relay(reader, psp, '/echo', { body });
    expect(answer.outcome).toBe('200');
    expect(new Set(Object(answer.json).guesses)).toEqual(new Set(['a guess: ************1111, ']));
    expect(answer.text).not.toContain(item.token);
  });

  test('does not see a code in a header', async () => {
    const code = placeholder(item.token, 'cvv');
    party.script('/headers', (request) => ({
      headers: [['X-Cvc', request.header('x-cvc') ?? '']],
      body: request.header('x-cvc') ?? '',
    }));
    const answer = await relay(reader, psp, '/headers', { body: '{}', headers: { 'x-cvc': code } });
    expect(answer.outcome).toBe('200');
    expect(answer.headers.get('x-cvc')).toBe('********');
  });

  test.each([
    ['utf-16le', (text: string) => Buffer.from(text, 'utf16le')],
    ['utf-16be', (text: string) => Buffer.from(text, 'utf16le').swap16()],
    ['utf-16', (text: string) => Buffer.from(text)],
    ['utf-16', (text: string) => Buffer.from(` ${text}`)],
    ['utf-8', (text: string) => Buffer.from(text, 'utf16le')],
  ])('sees nothing of a reply said to be in %s that is not searched', async (charset, encode) => {
    party.script('/wide', ({ text }) => ({
      headers: [['Content-Type', `text/plain; charset=${charset}`]],
      body: encode(text),
    }));
    const body = `{"n":"${PAN}","cvc":"${placeholder(item.token, 'cvv')}"}`;
    const answer = await relay(reader, psp, '/wide', { body });
    expect([answer.outcome, answer.text]).toEqual(['200', '********']);
  });

  test('sees nothing of a reply that says its coding twice', async () => {
    party.script('/twice', ({ text }) => ({
      headers: [
        ['Content-Encoding', 'identity'],
        ['Content-Encoding', 'gzip'],
      ],
      body: gzipSync(text),
    }));
    const body = `{"n":"${PAN}"}`;
    expect((await relay(reader, psp, '/twice', { body })).text).toBe('********');
  });

  test('cannot say another method or path than the connection is for', async () => {
    const limited = await connect(item.account, party, { methods: ['POST'], paths: ['/echo'] });
    const headers = {
      'x-http-method-override': 'DELETE',
      'x-http-method': 'DELETE',
      'x-method-override': 'DELETE',
      'x-original-url': '/admin',
      'x-rewrite-url': '/admin',
    };
    const before = party.calls('/echo').length;
    expect((await relay(sender, limited, '/echo', { body: '{}', headers })).outcome).toBe('200');
    expect(party.calls('/echo')[before]?.head).not.toMatch(/override|x-http-method|-url/i);
  });
});

describe('the credentials of a connection', () => {
  test.each([
    ['with a placeholder', true],
    ['without one', false],
  ])('are hidden in a reply that repeats them, %s', async (_title, isFilled) => {
    party.script('/mirror', (request) => ({
      headers: [['X-Mirror', request.header('authorization') ?? '']],
      body: `{"headers":${JSON.stringify(request.head)}}`,
    }));
    const body = isFilled ? `{"n":"${PAN}"}` : '{}';
    for (const account of [reader, item.account]) {
      const answer = await relay(account, psp, '/mirror', { body });
      expect(answer.outcome).toBe('200');
      expect(answer.text).toContain('Authorization');
      expect(answer.text + JSON.stringify([...answer.headers])).not.toContain(KEY);
    }
  });

  const said = `you sent ${KEY}`;
  test.each([
    ['gzip', gzipSync(said), 'you sent ********'],
    ['x-gzip', gzipSync(said), 'you sent ********'],
    ['deflate', deflateSync(said), 'you sent ********'],
    ['br', brotliCompressSync(said), 'you sent ********'],
    ['identity', said, 'you sent ********'],
    ['deflate\u00a0', deflateSync(said), '********'],
    ['\u00a0gzip', gzipSync(said), '********'],
    ['gzip, gzip', gzipSync(gzipSync(said)), '********'],
    ['x-own', said, '********'],
  ])('are hidden in a reply that is in %j, though nobody asked for that', async (coding, packed, shown) => {
    const headers = [
      ['Connection', 'content-encoding, keep-alive'],
      ['Content-Encoding', coding],
    ] as const;
    party.script('/packed', { headers, body: packed });
    for (const body of [`{"n":"${PAN}"}`, '{}']) {
      expect((await relay(item.account, psp, '/packed', { body })).text).toBe(shown);
    }
    const masked = await relay(reader, psp, '/packed', { body: '{}' });
    expect([masked.outcome, masked.text]).toEqual(['200', shown]);
  });
});

test('lists in headers take no time that grows with the square of their blanks', async () => {
  const list = `a${' '.repeat(30_000)}b`;
  party.script('/list', { headers: [['Connection', list]], body: '{}' });
  const headers = { connection: list, 'accept-encoding': list };
  const cpuMs = startCpuClock();
  expect((await relay(sender, psp, '/list', { body: '{}', headers })).outcome).toBe('200');
  // With a pattern each list took more than that.
  expect(cpuMs()).toBeLessThan(1_000);
});

test('replies that are still being read take places, which are free again when nobody reads them any more', async () => {
  const { account } = await newItem(vault);
  const connection = await connect(account, party);
  party.script('/endless', { body: 'a piece of a reply', unfinished: 'held' });
  const open = () =>
    vault.handle(
      new Request(`http://localhost/v1/relay/${connection}/endless`, {
        headers: {
          authorization: basicAuth(account.name, account.password),
          'x-vault-user': 'u',
          'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
        },
      }),
    );
  const replies: Response[] = [];
  for (let at = 0; at < 256; at += 32) {
    replies.push(...(await Promise.all(Array.from({ length: 32 }, open))));
  }
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await relay(account, connection, '/endless', { method: 'GET' })).outcome).toBe('503 overloaded');
  await Promise.all(replies.map(({ body }) => body?.cancel()));
  party.script('/endless', { body: 'short' });
  expect((await relay(account, connection, '/endless', { method: 'GET' })).outcome).toBe('200');
});

test('who may send cannot have a thread search for long', async () => {
  const numbers = guesses(1_000).map((number, at) => [`card${at}`, { number }]);
  const codes = Array.from({ length: 900 }, (_, at) => [`code${at}`, { cvv: `${at}`.padStart(200, 'c') }]);
  const stored = await Promise.all(
    [
      { ...Object.fromEntries(numbers), account_number: '7'.repeat(2_000) },
      Object.fromEntries(codes),
      { pin: 'p'.repeat(200_000) },
    ].map((more) => item.account.store('u', { ...CARD, ...more })),
  );
  const sent = stored.map((token) => placeholder(token, 'card_number')).join(' ');
  const texts = [
    '4'.repeat(1_000_000),
    '4 '.repeat(500_000),
    '"cvv":'.repeat(160_000),
    '1'.repeat(1_000_000),
  ];
  for (const [at, text] of texts.entries()) {
    party.script(`/digits${at}`, { body: text });
    for (const account of [reader, sender]) {
      const cpuMs = startCpuClock();
      const answer = await relay(account, psp, `/digits${at}`, { body: `{"n":"${sent}"}` });
      expect(answer.outcome).toBe('200');
      expect(answer.text.slice(0, 8)).not.toContain('44444444');
      // Of all threads, the client's included; a pattern for each number took seconds.
      expect(cpuMs()).toBeLessThan(1_500);
    }
  }
});
