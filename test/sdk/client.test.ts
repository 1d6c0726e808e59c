import { describe, expect, test } from 'bun:test';
import { inspect } from 'node:util';
import {
  captureClient,
  retrieveClient,
  Vault,
  VaultApiError,
  VaultConnectionError,
  VaultError,
} from '../../sdk/index.ts';
import { type Answer, closingAfterEach, failureOf, json, openPeer, refusal } from './peer.ts';
import { CANARY_NUMBER, SECRETS, UNIQUE_ID, WIRES } from './wires.ts';

const CANARY_PASSPHRASE = 'canary+pass phrase/ü%';
const CANARY_PASSWORD = 'canary-pässword';
const KEY = /^[0-9a-f]{32}$/;

const keep = closingAfterEach();

function setUp(...answers: Answer[]) {
  const peer = keep(openPeer(...answers));
  const client = new Vault({
    baseUrl: peer.baseUrl,
    username: 'shöp',
    password: CANARY_PASSWORD,
    passphrase: CANARY_PASSPHRASE,
    retries: 1,
  });
  const { baseUrl } = peer;
  const at = (kind: keyof typeof SECRETS) => ({
    url: `${baseUrl}/v1/${kind}/${UNIQUE_ID}`,
    secret: SECRETS[kind],
    retries: 1,
  });
  const checkout = captureClient(at('capture'));
  const desk = retrieveClient(at('retrieve'));
  return { peer, client, checkout, desk };
}

const item = { user: 'shop', token: 't1', reference: 'r&1' };
const data = { card_number: CANARY_NUMBER };

describe('on the wire', () => {
  test.each(Object.entries(WIRES))('%s', async (_, wire) => {
    const { peer, ...clients } = setUp(json(wire.reply ?? {}));
    await wire.call(clients);
    const [request] = peer.seen;
    if (request === undefined) {
      throw new Error('Nothing was sent.');
    }
    expect(`${request.method} ${request.url.pathname}${request.url.search}`).toBe(wire.request);
    const body = wire.body === undefined ? undefined : JSON.stringify(wire.body);
    expect(request.body).toBe(wire.text ?? body ?? '');
    const type = wire.text === undefined ? 'application/json' : 'application/x-pem-file';
    expect(request.headers.get('content-type')).toBe(request.body === '' ? null : type);
    expect(request.headers.get('x-vault-passphrase')).toBe(
      wire.passphrase === true ? 'canary%2Bpass%20phrase%2F%C3%BC%25' : null,
    );
    if (wire.keyed === true) {
      expect(request.headers.get('idempotency-key')).toMatch(KEY);
    } else {
      expect(request.headers.get('idempotency-key')).toBeNull();
    }
    const basic = `Basic ${Buffer.from(`shöp:${CANARY_PASSWORD}`).toString('base64')}`;
    const tag = wire.version === undefined ? null : `"${wire.version}"`;
    expect(request.headers.get('if-match')).toBe(tag);
    expect(request.headers.get('authorization')).toBe(wire.secret === undefined ? basic : null);
    for (const kind of ['capture', 'retrieve'] as const) {
      const sent = request.headers.get(`x-vault-${kind}-secret`);
      expect(sent).toBe(wire.secret === kind ? SECRETS[kind] : null);
    }
    expect(peer.seen).toHaveLength(1);
  });

  test("a call's own passphrase comes before the client's", async () => {
    const { peer, client } = setUp(json({}));
    await client.vault.decrypt({ ...item, passphrase: 'own' });
    expect(peer.seen[0]?.headers.get('x-vault-passphrase')).toBe('own');
  });

  test('JSON text is stored and returned exactly', async () => {
    const text = '{"n":12345678901234567890,"x":1.10,"__proto__":{"y":1e400}}';
    const { peer, client } = setUp(json({}), () => new Response(text));
    await client.vault.store({ user: 'shop', data: text });
    expect(peer.seen[0]?.body).toBe(text);
    expect(await client.vault.decryptText(item)).toBe(text);
  });
});

describe('a call that cannot be right', () => {
  const bare = () => new Vault({ baseUrl: 'http://127.0.0.1:1', username: 'shop', password: 'p' });

  test.each([
    ['decrypt', () => bare().vault.decrypt(item)],
    ['store', () => bare().vault.store({ user: 'shop', data })],
    ['update', () => bare().vault.update({ ...item, data })],
    ['capture.create', () => bare().capture.create({ user: 'shop' })],
    ['retrieve.create', () => bare().retrieve.create({ user: 'shop' })],
    ['decryptAll', () => Array.fromAsync(bare().vault.decryptAll({ user: 'shop' }))],
  ])('%s without a passphrase is refused before it is sent', async (_, call) => {
    const error = await failureOf(async () => call());
    expect(error).toMatchObject({ name: 'VaultError' });
    expect(error).not.toBeInstanceOf(VaultConnectionError);
  });

  test('a passphrase that is not Unicode text is refused without being repeated', async () => {
    const error = await failureOf(() => bare().vault.decrypt({ ...item, passphrase: 'canary\ud800' }));
    expect(error).toBeInstanceOf(VaultError);
    expect(Bun.inspect(error)).not.toContain('canary');
  });

  test.each(['', 'a:b'])('the username %j is refused', (username) => {
    expect(() => new Vault({ baseUrl: 'http://127.0.0.1:1', username, password: 'p' })).toThrow(VaultError);
  });

  test.each([-1, 0.5])('retries: %d is refused', (retries) => {
    const options = { baseUrl: 'http://127.0.0.1:1', username: 'shop', password: 'p', retries };
    expect(() => new Vault(options)).toThrow(VaultError);
  });

  test.each(['', 'a\nb', 'ü', 'x'.repeat(256)])(
    'an idempotency key that cannot be one is refused (%#)',
    async (idempotencyKey) => {
      const { client } = setUp();
      const error = await failureOf(() => client.vault.store({ user: 'shop', data }, { idempotencyKey }));
      expect(error).toMatchObject({ name: 'VaultError' });
    },
  );
});

describe('a refusal', () => {
  test('says which, where, and under which request id', async () => {
    const { client } = setUp(
      refusal(400, 'invalid_request', { 'X-Request-Id': 'req-7' }, { field: 'query.user' }),
    );
    const error = await failureOf(() => client.vault.delete(item));
    expect(error).toBeInstanceOf(VaultApiError);
    expect(error).toBeInstanceOf(VaultError);
    expect(error).toMatchObject({
      name: 'VaultApiError',
      status: 400,
      code: 'invalid_request',
      field: 'query.user',
      requestId: 'req-7',
      message: expect.stringMatching(
        /^The vault answered 400 invalid_request at query\.user: A sentence\. See http:\/\/[^/]+\/guide\/errors#invalid_request \(request req-7\)$/,
      ),
    });
  });

  test('keeps nothing of a reply that repeats what was sent', async () => {
    const secrets = [CANARY_PASSPHRASE, CANARY_PASSWORD, CANARY_NUMBER];
    const echo = secrets.join(' ');
    const bodies = [
      echo,
      JSON.stringify(echo),
      JSON.stringify({ error: echo, code: echo, request_id: echo, field: echo, other: echo }),
      JSON.stringify({ error: echo, code: 'invalid_request', field: `body.${echo}` }),
    ];
    for (const body of bodies) {
      const { client } = setUp(() => new Response(body, { status: 400 }));
      const error = await failureOf(() => client.vault.store({ user: 'shop', data }));
      expect(error).toBeInstanceOf(VaultApiError);
      const shown = `${Bun.inspect(error, { depth: 9 })} ${JSON.stringify(error)} ${String(error)}`;
      for (const secret of secrets) {
        expect(shown).not.toContain(secret);
      }
    }
  });

  test('a reply that is not JSON is not quoted', async () => {
    const { client } = setUp(() => new Response(`"${CANARY_NUMBER}`));
    const error = await failureOf(() => client.vault.decrypt(item));
    expect(error).toBeInstanceOf(VaultConnectionError);
    expect(Bun.inspect(error, { depth: 9 })).not.toContain(CANARY_NUMBER);
  });
});

describe('pages', () => {
  test('follow X-Vault-Next-Token to the end, with the same filters', async () => {
    const { peer, client } = setUp(
      json({ shop: [{ token: 'a' }] }, { 'X-Vault-Next-Token': 'n1' }),
      json({ shop: [{ token: 'b' }] }, { 'X-Vault-Next-Token': 'n2' }),
      json({ shop: [{ token: 'c' }] }),
    );
    const tokens: (string | undefined)[] = [];
    for await (const page of client.vault.pages({ user: 'shop', limit: 1 })) {
      tokens.push(page.data['shop']?.[0]?.token);
    }
    expect(tokens).toEqual(['a', 'b', 'c']);
    expect(peer.seen.map(({ url }) => url.search)).toEqual([
      '?user=shop&limit=1',
      '?user=shop&limit=1&next_token=n1',
      '?user=shop&limit=1&next_token=n2',
    ]);
  });

  test('begin where a next_token says, and are asked for one at a time', async () => {
    const { peer, client } = setUp(json([{ user: 'a' }], { 'X-Vault-Next-Token': 'n8' }));
    for await (const page of client.keys.pages({ next_token: 'n7' })) {
      expect(page).toEqual({ data: [{ user: 'a' }], next_token: 'n8' });
      break;
    }
    expect(peer.seen.map(({ url }) => url.search)).toEqual(['?next_token=n7']);
  });

  test('keep the query that they were called with', async () => {
    const { peer, client } = setUp(json({}, { 'X-Vault-Next-Token': 'n1' }), json({}), json({}));
    const query = { user: 'first' };
    const first = client.vault.pages(query);
    query.user = 'second';
    const second = client.vault.pages(query);
    query.user = 'third';
    await Array.fromAsync(first);
    await Array.fromAsync(second);
    expect(peer.seen.map(({ url }) => url.search)).toEqual([
      '?user=first',
      '?user=first&next_token=n1',
      '?user=second',
    ]);
  });
});

test.each(['client', 'checkout', 'desk'] as const)('the %s shows no credentials', (name) => {
  const shown = setUp()[name];
  const texts = [Bun.inspect(shown, { depth: 9 }), inspect(shown, { depth: 9, showHidden: true })];
  expect(`${texts} ${JSON.stringify(shown)} ${String(shown)}`).not.toContain('canary');
});
