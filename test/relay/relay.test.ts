import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { LogEntry } from '../../sdk/index.ts';
import type { Answer } from '../helpers/clients.ts';
import { anotherItem, attemptsBilled, CARD, type Item } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect, placeholder, type RelayChanges, relay } from '../helpers/relay.ts';
import type { Act, Received } from '../helpers/third-party.ts';

const KEY = 'sk_test_the-key-of-the-shop';
const NUMBER = CARD.card_number;

const { vault, party, item, freshPath } = await openProxySetting();
const psp = await connect(item.account, party, { headers: [{ Authorization: `Bearer ${KEY}` }] });
const PAN = placeholder(item.token, 'card_number');

/** The one request that the third party receives. */
async function sent(changes: RelayChanges, query = '', connection = psp): Promise<Received> {
  const path = freshPath();
  const answer = await relay(item.account, connection, path + query, changes);
  expect(answer.outcome).toBe('200');
  expect(party.calls(path)).toHaveLength(1);
  return party.call(path);
}

async function refused(changes: RelayChanges, rest?: string, connection = psp): Promise<Answer> {
  const path = freshPath();
  const answer = await relay(item.account, connection, rest ?? path, changes);
  expect(party.calls(path)).toEqual([]);
  return answer;
}

async function logOf({ account, user, token }: Item): Promise<readonly LogEntry[]> {
  return (await account.send('GET', '/vault/metadata', { query: { user, token } })).as<LogEntry[]>();
}

describe('a relayed request', () => {
  test('is sent as it came, but for placeholders and the headers of its connection', async () => {
    const body = `{"amount": 10.00,"amount":11, "card":{"number":"${PAN}","holder":"${placeholder(item.token, 'card_holder')}"}}`;
    const path = freshPath();
    const rest = `${path}?a=1&&x=%20&n=${encodeURIComponent(PAN)}`;
    party.script(path, { status: 201, body: '{"id":"ch_1"}', headers: [['Request-Id', 'req_1']] });
    const headers = { 'idempotency-key': 'theirs', 'x-number': PAN, 'user-agent': 'psp-sdk/1.0' };
    const answer = await relay(item.account, psp, rest, { body, headers });
    expect([answer.status, answer.text, answer.headers.get('request-id')]).toEqual([
      201,
      '{"id":"ch_1"}',
      'req_1',
    ]);
    const [received] = party.calls(path);
    expect(received?.target).toBe(`${path}?a=1&&x=%20&n=${NUMBER}`);
    expect(received?.text).toBe(
      `{"amount": 10.00,"amount":11, "card":{"number":"${NUMBER}","holder":"Ada Lovelace"}}`,
    );
    expect(received?.header('authorization')).toBe(`Bearer ${KEY}`);
    expect(received?.header('idempotency-key')).toBe('theirs');
    expect(received?.header('x-number')).toBe(NUMBER);
    expect(received?.header('user-agent')).toBe('psp-sdk/1.0');
    expect(received?.head).not.toMatch(/vault|passphrase|forwarded/i);
    expect(received?.head.match(/^host: /gim)).toHaveLength(1);
  });

  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])('may be a %s', async (method) => {
    const body = ['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method) ? undefined : '{"a":1}';
    const received = await sent({ method, ...(body === undefined ? {} : { body }) });
    expect([received.method, received.text]).toEqual([method, body ?? '']);
  });

  test('may be a form, XML, multipart or bytes', async () => {
    const form = `card[number]=${encodeURIComponent(PAN)}&card%5Bcvc%5D=${encodeURIComponent(placeholder(item.token, 'cvv'))}`;
    const typed = async (type: string, body: string | Uint8Array) =>
      sent({ body, headers: { 'content-type': type } });
    expect((await typed('application/x-www-form-urlencoded', form)).text).toBe(
      `card[number]=${NUMBER}&card%5Bcvc%5D=${CARD.cvv}`,
    );
    expect((await typed('text/xml', `<n>${PAN}</n>`)).text).toBe(`<n>${NUMBER}</n>`);
    const parts = `--b\r\nContent-Disposition: form-data; name="n"\r\n\r\n${PAN}\r\n--b--\r\n`;
    expect((await typed('multipart/form-data; boundary=b', parts)).text).toBe(parts.replace(PAN, NUMBER));
    const bytes = new Uint8Array([0xff, 0xfe, 0, 1, 2, 0x80]);
    expect((await typed('application/octet-stream', bytes)).body).toEqual(Buffer.from(bytes));
  });

  test('is filled from several items of one key, each of whose uses is logged', async () => {
    const other = await anotherItem(
      item,
      { card_number: '5555555555554444', zip: '0101' },
      { reference: 'o/1' },
    );
    const body = `["${placeholder(item.token, 'cvv')}","${placeholder(other.token, 'card_number', 'o/1')}","${placeholder(other.token, 'zip', 'o/1')}"]`;
    expect((await sent({ body })).text).toBe(`["${CARD.cvv}","5555555555554444","0101"]`);
    const log = await item.account.send('GET', '/vault/metadata', {
      query: { user: 'u', token: other.token, reference: 'o/1' },
    });
    expect(log.as<LogEntry[]>().filter(({ action }) => action === 'decrypt')).toMatchObject([
      { action: 'decrypt', source: 'proxy', outcome: 'ok' },
    ]);
    const listed = (await item.account.sdk.vault.access({ limit: 2 })).data.map(({ token }) => token);
    expect(listed.toSorted()).toEqual([item.token, other.token].toSorted());
  });

  test('is signed as its connection says', async () => {
    const sign = {
      algorithm: 'hmac-sha-256',
      key: 'the-key',
      header: 'X-Signature',
      payload: '{{timestamp}}.{{method}}.{{path}}.{{body}}',
    };
    const signed = await connect(item.account, party, { sign });
    const { header, text, target } = await sent({ body: `{"n":"${PAN}"}` }, '?a=1', signed);
    const timestamp = header('x-vault-timestamp') ?? '';
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
    expect(text).toContain(NUMBER);
    const payload = `${timestamp}.POST.${target}.${text}`;
    expect(header('x-signature')).toBe(createHmac('sha256', 'the-key').update(payload).digest('hex'));
  });

  test('is billed as an attempt of the proxy', async () => {
    const before = await attemptsBilled(vault, item.account);
    await sent({ body: '{}' });
    expect((await attemptsBilled(vault, item.account)) - before).toBe(1);
  });
});

describe('the reply', () => {
  test('comes back as it is, with its own status', async () => {
    for (const status of [200, 204, 302, 401, 404, 429, 500, 503]) {
      const path = freshPath({
        status,
        headers: [
          ['Retry-After', '7'],
          ['Location', 'https://elsewhere.example/'],
        ],
        body: status === 204 ? '' : 'text',
      });
      const answer = await relay(item.account, psp, path, { body: '{}' });
      expect([answer.status, answer.text]).toEqual([status, status === 204 ? '' : 'text']);
      expect(answer.headers.get('retry-after')).toBe('7');
      expect(party.calls(path)).toHaveLength(1);
    }
  });

  test('has placeholders for the numbers that were sent, in body and headers', async () => {
    const body = `{"number":"${NUMBER}","spaced":"4111 1111 1111 1111","bare":${NUMBER}}`;
    const path = freshPath({
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Echo', NUMBER],
      ],
      body,
    });
    const answer = await relay(item.account, psp, path, { body: `{"number":"${PAN}"}` });
    expect(answer.text).toBe(`{"number":"${PAN}","spaced":"${PAN}","bare":"${PAN}"}`);
    expect(answer.headers.get('x-echo')).toBe(PAN);
  });

  test('is searched also where it is compressed, and only asked for as the caller and the vault can read it', async () => {
    const path = freshPath({
      headers: [
        ['Content-Encoding', 'gzip'],
        ['Content-Type', 'text/plain'],
      ],
      body: gzipSync(`echo ${NUMBER}`),
    });
    const headers = { 'accept-encoding': 'zstd, gzip' };
    const answer = await relay(item.account, psp, path, { body: `"${PAN}"`, headers });
    expect([answer.text, answer.headers.get('content-encoding')]).toEqual([`echo ${PAN}`, null]);
    expect(party.calls(path)[0]?.header('accept-encoding')).toBe('gzip');
  });

  test('cannot act for the origin of the vault', async () => {
    const path = freshPath({
      headers: [
        ['Set-Cookie', 'vault_session=1'],
        ['Content-Type', 'text/html'],
        ['Access-Control-Allow-Origin', '*'],
      ],
      body: '<script>alert(1)</script>',
    });
    const { headers } = await relay(item.account, psp, path, { method: 'GET' });
    expect([headers.get('set-cookie'), headers.get('access-control-allow-origin')]).toEqual([null, null]);
    expect(headers.get('content-security-policy')).toContain('sandbox');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('is limited in size, as it comes and unpacked', async () => {
    const bomb = {
      headers: [['Content-Encoding', 'gzip']],
      body: gzipSync(Buffer.alloc(5_000_000, 'a')),
    } as const;
    const answer = await relay(item.account, psp, freshPath(bomb), { body: `"${PAN}"` });
    expect(answer.outcome).toBe('502 reply_too_large');
    const endless = freshPath({ body: Buffer.alloc(65_536, 'a'), endless: true });
    expect((await relay(item.account, psp, endless, { body: `"${PAN}"` })).outcome).toBe(
      '502 reply_too_large',
    );
  });

  test('that is lost, or does not come in time, is an error that says so', async () => {
    const answer = await relay(item.account, psp, freshPath('reset'), { body: '{}' });
    expect(answer.outcome).toBe('502 outcome_unknown');
    const slow = await connect(item.account, party, { timeout_ms: 1_000 });
    const never = freshPath(() => new Promise<Act>(() => undefined));
    expect((await relay(item.account, slow, never, { body: '{}' })).outcome).toBe('504 target_timeout');
  });
});

describe('nothing is sent', () => {
  test.each([
    ['an unknown token', () => placeholder('0'.repeat(64), 'card_number'), 'placeholder_unknown'],
    ['an unknown field', () => placeholder(item.token, 'pin'), 'placeholder_unknown'],
    ['a reference that it has not', () => placeholder(item.token, 'card_number', 'r'), 'placeholder_unknown'],
    ['a malformed placeholder', () => '{{vault:x}}', 'invalid_request'],
    [
      'many tokens',
      () => Array.from({ length: 21 }, (_, n) => placeholder(`t${n}`, 'x')).join(''),
      'invalid_request',
    ],
  ])('with %s', async (_name, text, code) => {
    const answer = await refused({ body: `{"n":"${text()}"}` });
    expect(answer.outcome).toBe(`400 ${code}`);
    expect(answer.json).toMatchObject({ field: 'body' });
  });

  test('with a placeholder that lacks the reference of its item', async () => {
    const other = await anotherItem(item, { card_number: '5555555555554444' }, { reference: 'o/2' });
    const answer = await refused({ body: `{"n":"${placeholder(other.token, 'card_number')}"}` });
    expect([answer.outcome, answer.field]).toEqual(['400 reference_required', 'body']);
  });

  test('and the error can be read by the libraries of payment services, whatever rejects the request', async () => {
    const { account } = item;
    const answers = [
      await refused({ body: '{}', user: '' }),
      await refused({ body: '{}' }, undefined, 'none'),
      await refused({ body: Buffer.alloc(1_048_577, 'a') }),
      await account.send('TRACE', `/relay/${psp}/x`),
      await account.send('POST', '/relay'),
      await account.send('POST', '/relay//v1/charges'),
      await relay(account, psp, '/x', { body: '{}', headers: { authorization: 'Basic eDp5' } }),
    ];
    for (const { json, headers } of answers) {
      const { error, code, request_id, ...field } = Object(json);
      expect(error).toEqual({ type: 'vault_error', code, message: expect.stringMatching(/^[A-Z`].*\.$/) });
      expect([code, request_id]).toEqual([expect.stringMatching(/^[a-z_]+$/), headers.get('x-request-id')]);
      expect(Object.keys(field).filter((name) => name !== 'field')).toEqual([]);
    }
  });

  test('with a placeholder in the path, however it is written', async () => {
    for (const text of [PAN, encodeURIComponent(PAN)]) {
      const answer = await refused({ body: '{}' }, `/v1/${text}/x`);
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'path']);
    }
  });

  test('without user or passphrase, or with a wrong one', async () => {
    const passphrasePlace = 'header.X-Vault-Passphrase';
    const at = (answer: Answer) => [answer.outcome, answer.field];
    expect(at(await refused({ body: '{}', user: '' }))).toEqual([
      '400 invalid_request',
      'header.X-Vault-User',
    ]);
    expect(at(await refused({ body: '{}', user: 'other' }))).toEqual([
      '404 key_not_found',
      'header.X-Vault-User',
    ]);
    expect((await refused({ body: '{}', passphrase: 'a wrong one, and long' })).outcome).toBe(
      '403 passphrase_wrong',
    );
    const bare = await item.account.send('POST', `/relay/${psp}/x`, {
      headers: { 'x-vault-user': 'u' },
      body: '{}',
    });
    expect(at(bare)).toEqual(['400 invalid_request', passphrasePlace]);
  });

  test('with two different names of the key', async () => {
    const at = (answer: Answer) => [answer.outcome, answer.field];
    const named = (key: string, user: string) => ({ body: '{}', user, headers: { 'x-vault-key': key } });
    expect(at(await refused(named('u', 'v')))).toEqual(['400 conflicting_parameters', 'header.X-Vault-Key']);
    expect(at(await refused(named('v', '')))).toEqual(['404 key_not_found', 'header.X-Vault-Key']);
    for (const user of ['', 'u']) {
      const { headers } = await sent(named('u', user));
      expect(JSON.stringify(headers).toLowerCase()).not.toContain('x-vault');
    }
  });

  test('where the connection does not exist, or is not for it', async () => {
    expect((await refused({ body: '{}' }, undefined, 'none')).outcome).toBe('404 connection_not_found');
    const limited = await connect(item.account, party, { methods: ['get'], paths: ['/v1/charges'] });
    for (const [method, rest, field] of [
      ['POST', '/v1/charges', 'method'],
      ['GET', '/v1/refunds', 'path'],
      ['GET', '/v1/charges-and-more', 'path'],
      ['GET', '/v1/charges/..%2frefunds', 'path'],
      ['GET', '', 'path'],
    ] as const) {
      const { outcome, json, field: at } = await refused({ method }, rest, limited);
      expect([outcome, at]).toEqual(['403 not_allowed', field]);
      expect(Object(json).error.message).toContain(`among the \`${field}s\` of the connection`);
    }
    party.script('/v1/charges/ch_1', { body: '{}' });
    expect((await relay(item.account, limited, '/v1/charges/ch_1', { method: 'GET' })).outcome).toBe('200');
  });

  test('with a body that is encoded, or too large', async () => {
    const encoded = await refused({ body: gzipSync('{}'), headers: { 'content-encoding': 'gzip' } });
    expect(encoded.outcome).toBe('400 content_encoding_unsupported');
    expect((await refused({ body: Buffer.alloc(1_048_577, 'a') })).outcome).toBe('413 body_too_large');
  });

  test('and each item that was named has it in its log', async () => {
    const before = (await logOf(item)).length;
    await refused({ body: `{"n":"${placeholder(item.token, 'pin')}"}` });
    const log = await logOf(item);
    expect(log.slice(0, log.length - before)).toMatchObject([
      { action: 'decrypt', outcome: 'placeholder_unknown' },
    ]);
  });

  test('with a value that would end the place where it stands', async () => {
    const lines = await anotherItem(item, { card_number: '5555555555554444', note: 'a\r\nX-Injected: 1' });
    const note = placeholder(lines.token, 'note');
    expect((await refused({ body: '{}', headers: { 'x-note': note } })).outcome).toBe('400 invalid_request');
    const multipart = { body: note, headers: { 'content-type': 'multipart/form-data; boundary=b' } };
    expect((await refused(multipart)).outcome).toBe('400 invalid_request');
    expect((await sent({ body: `{"n":"${note}"}` })).text).toBe('{"n":"a\\r\\nX-Injected: 1"}');
  });
});
