/** What hostile senders and hostile merchants try, and requests as they come over a socket. */
import { afterAll, describe, expect, test } from 'bun:test';
import { listen } from '../../server/http/listen/listen.ts';
import type { Answer } from '../helpers/clients.ts';
import { connectInbound, newInbound, sendThrough } from '../helpers/inbound.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { talkTo } from '../http/talk.ts';

const setting = await openProxySetting();
const { vault, party, item, freshPath } = setting;
const { account } = item;
const KEY = 'sk_canary_of_the_shop';
const SIGN_KEY = 'sign_canary_of_the_shop';
const shop = await connectInbound(account, party, {
  headers: [{ 'X-Key': KEY }],
  sign: { algorithm: 'hmac-sha-256', key: SIGN_KEY, header: 'X-Sig', payload: '{{body}}' },
});
const orders = await newInbound(account, { connection: shop });
const NUMBER = '4111111111111111';
const CARD = `{"card":{"number":"${NUMBER}","cvc":"123"}}`;

const send = (body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  sendThrough(vault.handle, orders, freshPath(), { body, headers });

describe('a hostile sender', () => {
  const deep = (open: string, close: string, inner: string): string =>
    open.repeat(20_000) + inner + close.repeat(20_000);
  test.each([
    ['deep JSON', deep('[', ']', '1'), 'application/json'],
    ['deep XML', deep('<a>', '</a>', 'x'), 'application/xml'],
    ['entities', '<!DOCTYPE a [<!ENTITY b "bb">]><a>&b;</a>', 'application/xml'],
    ['half of a JSON text', CARD.slice(0, -1), 'application/json'],
    ['half of an XML text', '<a><b>', 'application/xml'],
    ['a member twice', `{"card":{"number":"${NUMBER}"},"card":{"number":"1"}}`, 'application/json'],
    ['multipart', '--x\r\n\r\n1\r\n--x--', 'multipart/form-data; boundary=x'],
    ['text', 'hello', 'text/plain'],
    ['another charset', '{}', 'application/json; charset=utf-16'],
    ['bytes', '\u0000\u0001', 'application/octet-stream'],
  ])('with %s is refused, and nothing is forwarded', async (_, body, type) => {
    const path = freshPath();
    const answer = await sendThrough(vault.handle, orders, path, { body, headers: { 'content-type': type } });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain(NUMBER);
    expect(party.calls(path)).toEqual([]);
  });

  test('with a coded body is refused, before anything is read of it', async () => {
    const answer = await send(Bun.gzipSync(Buffer.from(CARD)), { 'content-encoding': 'gzip' });
    expect(answer.outcome).toBe('400 content_encoding_unsupported');
  });

  test('cannot choose host, method or headers that are the vault’s', async () => {
    const path = freshPath();
    const answer = await sendThrough(vault.handle, orders, path, {
      body: CARD,
      headers: {
        ...{ 'x-key': 'mine', 'x-sig': 'mine', x_key: 'mine', 'x-vault-user': 'u', 'x-vault-inbound': 'y' },
        ...{
          'x-forwarded-host': 'evil.example',
          'x-original-url': '/admin',
          'x-http-method-override': 'PUT',
        },
        ...{ forwarded: 'for=1.2.3.4', 'proxy-authorization': 'Basic x', te: 'trailers' },
      },
    });
    expect(answer.status).toBe(200);
    const got = await party.call(path);
    expect(got.header('x-key')).toBe(KEY);
    expect(got.header('host')).toBe(new URL(party.url('')).host);
    const names = got.headers.map(([name]) => name.toLowerCase());
    const forbidden =
      /^(?:x_key|x-vault-.*|x-forwarded-.*|forwarded|x-original-url|x-http-method.*|proxy-.*|te)$/;
    expect(names.filter((name) => forbidden.test(name) && name !== 'x-vault-timestamp')).toEqual([]);
  });

  test.each([
    '/../admin',
    '/..%2fadmin',
    '/a/%2e%2e/b',
    '/x%0d%0aHost:%20evil',
    '//evil.example/x',
    '/@evil.example',
  ])('cannot leave the connection by %s', async (rest) => {
    const limited = await connectInbound(account, party, { base_url: party.url('/hook') });
    const inbound = await newInbound(account, { connection: limited });
    const seen: string[] = [];
    const request = new Request(`http://localhost${inbound.url}${rest}`, {
      method: 'POST',
      headers: { 'x-vault-capture-secret': inbound.secret, 'content-type': 'application/json' },
      body: '{}',
    });
    const { status, headers } = await vault.handle(request);
    seen.push(`${status} ${headers.get('x-vault-stored')}`);
    // What is sent stays below the base URL; the merchant knows no such path.
    expect(seen[0]).toMatch(/^(?:40[0-5] (?:0|null))$/);
    expect(party.calls('/admin')).toEqual([]);
  });

  test('costs little with many digits', async () => {
    const digits = JSON.stringify({ x: Array.from({ length: 60_000 }, (_, n) => 4_000_000_000 + n) });
    const started = performance.now();
    expect((await send(digits)).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test('leaves nothing of a card in the log of the vault', async () => {
    await send(`{"note":"${NUMBER}"}`);
    await send(CARD);
    const text = JSON.stringify([vault.lines, vault.events]);
    for (const secret of [NUMBER, orders.secret, KEY, SIGN_KEY]) {
      expect(text).not.toContain(secret);
    }
    expect(vault.lines.at(-1)).toMatchObject({ route: '/v1/inbound/{id}/{path}', status: 200 });
  });
});

describe('a hostile merchant', () => {
  const reply = async (headers: readonly (readonly [string, string])[], body = '', status = 200) => {
    const path = freshPath({ status, headers, body });
    return sendThrough(vault.handle, orders, path, { body: CARD });
  };

  test('cannot say what the vault says', async () => {
    const answer = await reply([
      ['X-Vault-Stored', '99'],
      ['X-Vault-Withheld', 'true'],
      ['X-Vault-Request-Id', 'theirs'],
      ['Access-Control-Allow-Origin', '*'],
      ['Set-Cookie', 'vault_session=theirs'],
      ['Set-Cookie', 'shop=1'],
      ['WWW-Authenticate', 'Basic realm="vault"'],
      ['Content-Type', 'text/html'],
    ]);
    expect(answer.headers.get('x-vault-stored')).toBe('1');
    expect(answer.headers.get('x-vault-request-id')).not.toBe('theirs');
    for (const name of ['x-vault-withheld', 'access-control-allow-origin', 'www-authenticate']) {
      expect(answer.headers.get(name)).toBeNull();
    }
    expect(answer.headers.getSetCookie()).toEqual(['shop=1']);
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
  });

  test.each([
    ['as it is', (key: string) => key],
    ['in JSON', (key: string) => key.replaceAll('_', '\\u005f')],
    ['in a URL', (key: string) => key.replaceAll('_', '%5f')],
    ['in HTML', (key: string) => key.replaceAll('_', '&#95;')],
  ])('cannot show the sender a value of the connection %s', async (_, written) => {
    for (const secret of [KEY, SIGN_KEY]) {
      const answer = await reply([['X-Echo', written(secret)]], `the value is ${written(secret)}.`);
      expect(answer.status).toBe(200);
      expect(`${answer.text}${answer.headers.get('x-echo')}`).not.toContain(written(secret));
    }
  });

  test('with an endless reply ends the connection of its sender', async () => {
    const path = freshPath({ body: 'x'.repeat(65_536), endless: true });
    const ended = sendThrough(vault.handle, orders, path, { body: CARD }).then(
      ({ outcome }) => outcome,
      () => 'cut',
    );
    expect(['cut', '502 reply_too_large']).toContain(await ended);
  });

  test('at an address that may not be reached gets no connection', async () => {
    for (const base_url of ['https://10.0.0.1/', 'https://169.254.169.254/latest']) {
      const answer = await account.send('POST', '/connection', {
        body: { id: 'ssrf', base_url, inbound: true },
      });
      expect(answer.outcome).toBe('400 destination_refused');
    }
  });
});

describe('over a socket', () => {
  const server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
  afterAll(() => server.stop(true));
  const head = (method: string, path: string, ...more: string[]): string =>
    [
      `${method} ${orders.url}${path} HTTP/1.1`,
      ...['Host: vault.test', `X-Vault-Capture-Secret: ${orders.secret}`, 'Connection: close', ...more],
      ...['', ''],
    ].join('\r\n');

  test('a body that waits for leave is taken', async () => {
    const path = freshPath({ body: 'taken' });
    const fields = [
      'Content-Type: application/json',
      `Content-Length: ${CARD.length}`,
      'Expect: 100-continue',
    ];
    const { text } = await talkTo(server.port, head('POST', path, ...fields), undefined, (socket) => {
      setTimeout(() => socket.write(CARD), 100);
    });
    expect(text).toMatch(/HTTP\/1\.1 200 /);
    expect(text).toEndWith('taken');
    const got = await party.call(path);
    expect(got.header('expect')).toBeUndefined();
    expect(got.text).not.toContain(NUMBER);
  });

  test('HEAD has no body, and a request without one is forwarded without one', async () => {
    const path = freshPath({ headers: [['X-A', 'b']], body: 'hidden' });
    const { text } = await talkTo(server.port, head('HEAD', path));
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).not.toContain('hidden');
    const next = freshPath();
    await talkTo(server.port, head('POST', next, 'Content-Length: 0'));
    const got = await party.call(next);
    expect([got.method, got.body.length, got.header('content-length')]).toEqual(['POST', 0, '0']);
  });

  test('a body in pieces is taken', async () => {
    const path = freshPath();
    const pieces = [CARD.slice(0, 20), CARD.slice(20)].map(
      (piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`,
    );
    const fields = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
    await talkTo(server.port, `${head('POST', path, ...fields)}${pieces.join('')}0\r\n\r\n`);
    expect((await party.call(path)).text).toContain('"cvc":"***"');
  });
});
