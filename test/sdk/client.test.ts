import { afterEach, describe, expect, test } from 'bun:test';
import { Vault, VaultApiError, VaultConnectionError, VaultError } from '../../sdk/index.ts';
import { type Answer, json, openPeer, refusal } from './peer.ts';

const CANARY_PASSPHRASE = 'canary+pass phrase/ü%';
const CANARY_PASSWORD = 'canary-pässword';
const CANARY_NUMBER = '4000000000000002';
const KEY = /^[0-9a-f]{32}$/;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) {
    await close();
  }
});

const setUp = (...answers: Answer[]) => {
  const peer = openPeer(...answers);
  closers.push(peer.close);
  const client = new Vault({
    baseUrl: peer.baseUrl,
    username: 'shöp',
    password: CANARY_PASSWORD,
    passphrase: CANARY_PASSPHRASE,
    retries: 1,
  });
  return { peer, client };
};

const failureOf = async (call: () => Promise<unknown>): Promise<unknown> => {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('The call was expected to fail.');
};

interface Wire {
  readonly call: (client: Vault) => Promise<unknown>;
  readonly request: string;
  readonly body?: unknown;
  readonly passphrase?: true;
  readonly keyed?: true;
}

const item = { user: 'shop', token: 't1', reference: 'r&1' };
const data = { card_number: CANARY_NUMBER };

const wires: Record<string, Wire> = {
  'keys.create': {
    call: ({ keys }) => keys.create({ user: 'shop' }),
    request: 'POST /v1/key',
    body: { user: 'shop' },
  },
  'keys.create with a passphrase': {
    call: ({ keys }) => keys.create({ user: 'shop', passphrase: 'chosen-one' }),
    request: 'POST /v1/key',
    body: { user: 'shop', passphrase: 'chosen-one' },
    keyed: true,
  },
  'keys.list': { call: ({ keys }) => keys.list(), request: 'GET /v1/key' },
  'keys.list of a page': {
    call: ({ keys }) => keys.list({ limit: 2, next_token: 'n' }),
    request: 'GET /v1/key?limit=2&next_token=n',
  },
  'keys.changePassphrase': {
    call: ({ keys }) => keys.changePassphrase({ user: 'shop', passphrase: 'old', new_passphrase: 'new' }),
    request: 'PUT /v1/key',
    body: { user: 'shop', passphrase: 'old', new_passphrase: 'new' },
  },
  'keys.delete': {
    call: ({ keys }) => keys.delete({ user: 'shop', safe: false }),
    request: 'DELETE /v1/key?user=shop&safe=false',
  },
  'vault.store': {
    call: ({ vault }) => vault.store({ user: 'shop', reference: 'r&1', algorithm: 'uuid', data }),
    request: 'POST /v1/vault?user=shop&reference=r%261&algorithm=uuid',
    body: data,
    passphrase: true,
    keyed: true,
  },
  'vault.decrypt': {
    call: ({ vault }) => vault.decrypt({ ...item, mask_fields: ['cvv', 'card.pan'], rules: ['a', 'b'] }),
    request: 'GET /v1/vault?user=shop&token=t1&reference=r%261&mask_fields=cvv%2Ccard.pan&rules=a%2Cb',
    passphrase: true,
  },
  'vault.list': {
    call: ({ vault }) => vault.list({ user: 'shop', limit: 5, stored_after: '2026-01-31T12:00:00Z' }),
    request: 'GET /v1/vault?user=shop&limit=5&stored_after=2026-01-31T12%3A00%3A00Z',
  },
  'vault.update': {
    call: ({ vault }) => vault.update({ ...item, rules: ['a'], data: { expiry: '01/31' } }),
    request: 'POST /v1/vault/update?user=shop&token=t1&reference=r%261&rules=a',
    body: { expiry: '01/31' },
    passphrase: true,
    keyed: true,
  },
  'vault.delete': {
    call: ({ vault }) => vault.delete(item),
    request: 'DELETE /v1/vault?user=shop&token=t1&reference=r%261',
  },
  'vault.log': {
    call: ({ vault }) => vault.log({ ...item, limit: 1 }),
    request: 'GET /v1/vault/metadata?user=shop&token=t1&reference=r%261&limit=1',
  },
  'utility.luhn': {
    call: ({ utility }) => utility.luhn({ number: CANARY_NUMBER }),
    request: `GET /v1/luhn?number=${CANARY_NUMBER}`,
  },
  'utility.passphrase': {
    call: ({ utility }) => utility.passphrase({ length: 32 }),
    request: 'GET /v1/passphrase?length=32',
  },
  'admin.whoami': { call: ({ admin }) => admin.whoami(), request: 'GET /v1/whoami' },
};

describe('on the wire', () => {
  test.each(Object.entries(wires))('%s', async (_, wire) => {
    const { peer, client } = setUp(json({}));
    await wire.call(client);
    const [request] = peer.seen;
    if (request === undefined) {
      throw new Error('Nothing was sent.');
    }
    expect(`${request.method} ${request.url.pathname}${request.url.search}`).toBe(wire.request);
    expect(request.body).toBe(wire.body === undefined ? '' : JSON.stringify(wire.body));
    expect(request.headers.get('content-type')).toBe(wire.body === undefined ? null : 'application/json');
    expect(request.headers.get('x-vault-passphrase')).toBe(
      wire.passphrase === true ? 'canary%2Bpass%20phrase%2F%C3%BC%25' : null,
    );
    if (wire.keyed === true) {
      expect(request.headers.get('idempotency-key')).toMatch(KEY);
    } else {
      expect(request.headers.get('idempotency-key')).toBeNull();
    }
    const basic = Buffer.from(`shöp:${CANARY_PASSWORD}`).toString('base64');
    expect(request.headers.get('authorization')).toBe(`Basic ${basic}`);
  });

  test('no URL ever holds a passphrase', async () => {
    const { peer, client } = setUp(...Array<Answer>(5).fill(json({})));
    const own = { ...item, passphrase: CANARY_PASSPHRASE };
    await client.vault.store({ ...own, data });
    await client.vault.decrypt(own);
    await client.vault.update({ ...own, data });
    await Array.fromAsync(client.vault.decryptAll({ user: 'shop', passphrase: CANARY_PASSPHRASE }));
    expect(peer.seen).toHaveLength(4);
    for (const { url } of peer.seen) {
      expect(decodeURIComponent(url.href)).not.toContain('canary');
    }
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
      message: 'The vault answered 400 invalid_request at query.user (request req-7).',
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
});

test('a client shows no credentials', () => {
  const { client } = setUp();
  const shown = `${Bun.inspect(client, { depth: 9 })} ${JSON.stringify(client)}`;
  expect(shown).not.toContain('canary');
});
