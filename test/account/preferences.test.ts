import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import type { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import { actFor, createContext } from '../../server/request/context.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

const SYSTEM = {
  default_algorithm: 'full',
  default_limit: 1024,
  mask_fields: [],
  return_card_metadata: false,
  webhook_max_attempts: 8,
};
const CARD = { card_number: '4000000000000010', cvv: '123', note: 'a longer note' };

let client: AccountClient;

const vault = await openTestVault();
beforeEach(async () => {
  client = await vault.account();
});
afterAll(() => vault.close());

function unreachable(): never {
  throw new Error('the account is there');
}
function set(key: unknown, value: unknown): Promise<Answer> {
  return client.send('POST', '/preferences', { body: { key, value } });
}
function remove(key: string): Promise<Answer> {
  return client.send('DELETE', '/preferences', { query: { key } });
}
function get(key: string): Promise<Answer> {
  return client.send('GET', '/preferences', { query: { key } });
}

describe('a preference', () => {
  test('of the system has its default until it is set, and again when it is deleted', async () => {
    for (const [key, byDefault] of Object.entries(SYSTEM)) {
      const value =
        { default_algorithm: 'luhn', mask_fields: ['note'], return_card_metadata: true }[key] ?? 3;
      expect((await get(key)).json).toEqual({ key, value: byDefault, is_default: true });
      expect((await set(key, value)).json).toEqual({ key, value, is_default: false });
      expect((await get(key)).json).toEqual({ key, value, is_default: false });
      expect((await remove(key)).json).toEqual({ message: 'The preference was deleted.' });
      expect((await get(key)).json).toEqual({ key, value: byDefault, is_default: true });
      expect((await remove(key)).outcome).toBe('200');
    }
  });

  test('of its own is kept as it was sent, whatever it is', async () => {
    const texts = [
      '"text \\u0000 ü"',
      '1.10',
      '-0',
      '1e400',
      '123456789012345678901234567890',
      'true',
      'null',
      '[1.0,"a",[]]',
      '{"__proto__":{"a":1},"b":[]}',
    ];
    for (const text of texts) {
      const answer = await client.send('POST', '/preferences', {
        body: `{"value": ${text} , "key":"__proto__"}`,
      });
      expect(answer.text).toBe(`{"key":"__proto__","value":${text},"is_default":false}`);
      expect((await get('__proto__')).text).toBe(answer.text);
    }
    expect((await remove('__proto__')).outcome).toBe('200');
    expect([(await get('__proto__')).outcome, (await get('__proto__')).field]).toEqual([
      '404 preference_not_found',
      'query.key',
    ]);
    expect((await remove('__proto__')).outcome).toBe('404 preference_not_found');
  });

  test('is in the list in order, with those of the system', async () => {
    await set('zebra', 1);
    await set('aardvark', 'x');
    await set('default_limit', 7);
    const list = await client.sdk.admin.listPreferences();
    expect(list.map(({ key }) => key)).toEqual(['aardvark', ...Object.keys(SYSTEM), 'zebra']);
    expect(list.find(({ key }) => key === 'default_limit')).toEqual({
      key: 'default_limit',
      value: 7,
      is_default: false,
    });
  });

  test('of an account that was made anew is not for a request of the one before', async () => {
    const { accounts, preferences } = vault.opened.services;
    const { name, password } = client;
    const ctx = actFor(
      createContext({ ip: '127.0.0.1', userAgent: '', requestId: 'r', source: 'vault' }),
      (await accounts.lookUp(name)) ?? unreachable(),
    );
    await vault.opened.removeAccount(name);
    await accounts.create(name, new Secret(new TextEncoder().encode(password)), {});
    const body = new TextEncoder().encode('{"key":"own","value":1}');
    expect(await preferences.set(ctx, body).catch(({ code }: VaultError) => code)).toBe('unauthenticated');
    expect((await get('own')).outcome).toBe('404 preference_not_found');
  });

  test('belongs to one account', async () => {
    await set('mine', 1);
    const other = await vault.account();
    expect((await other.send('GET', '/preferences?key=mine')).outcome).toBe('404 preference_not_found');
    expect((await other.send('GET', '/preferences')).as<unknown[]>()).toHaveLength(5);
  });

  test('of the system cannot be anything else', async () => {
    const wrong = {
      default_algorithm: ['partial_3_start', '', null],
      default_limit: [0, 1.5, '1.0', 1e300],
      mask_fields: ['note,,cvv', [''], [1]],
      return_card_metadata: ['yes', 1],
      webhook_max_attempts: [0, 9, 2.5],
    };
    for (const [key, values] of Object.entries(wrong)) {
      for (const value of values) {
        const refused = await set(key, value);
        expect([value, refused.outcome, refused.field]).toEqual([value, '400 invalid_request', 'body.value']);
      }
      expect((await get(key)).json).toMatchObject({ is_default: true });
    }
  });

  test('must be named, have a value, and be of a size', async () => {
    const refusals = [
      [await set('', 1), '400 invalid_request', 'body.key'],
      [await set('a b', 1), '400 invalid_request', 'body.key'],
      [await set(7, 1), '400 invalid_request', 'body.key'],
      [await set('k', undefined), '400 invalid_request', 'body.value'],
      [await client.send('POST', '/preferences', { body: '[]' }), '400 invalid_request', 'body'],
      [await client.send('POST', '/preferences', { body: '{"key":' }), '400 invalid_json', 'body'],
      [await set('k', 'ü'.repeat(2_048)), '413 body_too_large', 'body.value'],
      [await client.send('DELETE', '/preferences'), '400 invalid_request', 'query.key'],
    ] as const;
    for (const [answer, outcome, field] of refusals) {
      expect([answer.outcome, answer.field]).toEqual([outcome, field]);
    }
    expect((await set('k', 'ü'.repeat(2_047))).outcome).toBe('200');
  });

  test('is one of at most 64 of its own, and of 16 KB; those of the system always have a place', async () => {
    const many = await Promise.all(Array.from({ length: 64 }, (_, n) => set(`k${n}`, n)));
    expect(many.every(({ status }) => status === 200)).toBe(true);
    expect((await set('one-more', 1)).outcome).toBe('409 preferences_full');
    expect((await set('k0', 'again')).outcome).toBe('200');
    expect((await set('default_limit', 3)).outcome).toBe('200');
    const texts = await Promise.all([1, 2, 3, 4, 5].map((n) => set(`k${n}`, 'x'.repeat(4_000))));
    expect(texts.map(({ outcome }) => outcome).sort()).toEqual([
      ...Array.from({ length: 4 }, () => '200'),
      '409 preferences_full',
    ]);
  });

  test('of many that are set at once on two servers none is lost', async () => {
    const second = await vault.secondServer();
    try {
      const there = client.via(second.handle);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 === 0 ? client : there).send('POST', '/preferences', { body: { key: `k${n}`, value: n } }),
        ),
      );
      expect(answers.every(({ status }) => status === 200)).toBe(true);
      expect(await there.sdk.admin.listPreferences()).toHaveLength(25);
    } finally {
      await second.close();
    }
  });
});

describe('what is left out is as preferred', () => {
  test('the token of what is stored; a repeat gets the first reply, whatever is preferred by then', async () => {
    await client.key('u');
    await set('default_algorithm', 'luhn');
    const stored = () =>
      client.send('POST', '/vault', {
        query: { user: 'u' },
        passphrase: PASSPHRASE,
        body: CARD,
        idempotencyKey: 'once',
      });
    const first = await stored();
    expect(first.as<{ token: string }>().token).toMatch(/^9\d{15}$/);
    await set('default_algorithm', 'uuid');
    const again = await stored();
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
    expect(await client.store('u', CARD)).toMatch(/^[\da-f]{8}-/);
    expect(await client.store('u', CARD, { algorithm: 'full' })).toMatch(/^[\da-f]{64}$/);
  });

  test('the token of a capture, as it was preferred when the endpoint was made', async () => {
    await client.key('u');
    await set('default_algorithm', 'luhn');
    const made = await createCapture(client, 'u');
    const chosen = await createCapture(client, 'u', { algorithm: 'full' });
    await set('default_algorithm', 'uuid');
    const tokenOf = async (endpoint: typeof made, query = {}): Promise<string> =>
      (await capture(vault, endpoint, { body: CARD, query })).as<{ token: string }>().token;
    expect(await tokenOf(made)).toMatch(/^9\d{15}$/);
    expect(await tokenOf(made)).toBe(await tokenOf(made));
    expect(await tokenOf(chosen)).toMatch(/^[\da-f]{64}$/);
    expect(await tokenOf(made, { algorithm: 'full' })).toMatch(/^[\da-f]{64}$/);
  });

  test('card metadata, of what is stored, captured and read', async () => {
    await client.key('u');
    const before = await createCapture(client, 'u');
    await set('return_card_metadata', true);
    const after = await createCapture(client, 'u');
    const query = { user: 'u' };
    const store = (more = {}) =>
      client.send('POST', '/vault', { query: { ...query, ...more }, passphrase: PASSPHRASE, body: CARD });
    const { token, card_metadata } = (await store()).as<{ token: string; card_metadata?: object }>();
    expect(card_metadata).toMatchObject({ brand: 'visa' });
    expect((await store({ return_card_metadata: false })).json).not.toHaveProperty('card_metadata');
    expect(await client.open('u', token)).toContain('"card_metadata"');
    expect(await client.open('u', token, { return_card_metadata: 'f' })).not.toContain('card_metadata');
    const tree = await client.send('GET', '/vault?decrypt_all=t', { query, passphrase: PASSPHRASE });
    expect(tree.text).toContain('"card_metadata"');
    expect((await capture(vault, after, { body: CARD })).json).toHaveProperty('card_metadata');
    expect((await capture(vault, before, { body: CARD })).json).not.toHaveProperty('card_metadata');
  });

  test('masks, of what is read, also through endpoints that were made before', async () => {
    await client.key('u');
    const token = await client.store('u', CARD);
    const open = await createRetrieve(client, 'u', {});
    const own = await createRetrieve(client, 'u', { mask_fields: 'cvv' });
    await set('mask_fields', ['note']);
    const note = '"note":"* ****** note"';
    expect(await client.open('u', token)).toContain(note);
    expect(await client.open('u', token, { mask_fields: 'cvv' })).toContain(
      '"cvv":"***","note":"a longer note"',
    );
    expect(await client.open('u', token, { mask_fields: '' })).toContain('"note":"a longer note"');
    const tree = await client.send('GET', '/vault?decrypt_all=t&user=u', { passphrase: PASSPHRASE });
    expect(tree.text).toContain(note);
    expect((await retrieve(vault, open, { query: { token } })).text).toContain(note);
    expect((await retrieve(vault, own, { query: { token } })).text).toContain(
      '"cvv":"***","note":"a longer note"',
    );
    await remove('mask_fields');
    expect((await retrieve(vault, open, { query: { token } })).text).toContain('"note":"a longer note"');
  });

  test('also where it was set as the text that its parameter would have', async () => {
    await client.key('u');
    const token = await client.store('u', { number: '4111111111111111', note: 'a longer note', cvv: '123' });
    await set('mask_fields', 'note, cvv');
    await set('default_limit', '1');
    await set('return_card_metadata', 't');
    expect((await get('mask_fields')).json).toMatchObject({ value: 'note, cvv', is_default: false });
    expect(JSON.parse(await client.open('u', token))).toMatchObject({
      note: '* ****** note',
      cvv: '***',
      card_metadata: { brand: 'visa' },
    });
    await client.store('u', { number: '2' });
    const page = await client.send('GET', '/vault?user=u');
    expect([Object.values(page.json as object)[0]?.length, page.headers.has('x-vault-next-token')]).toEqual([
      1,
      true,
    ]);
  });

  test('limits, of every listing, on another server at once', async () => {
    const second = await vault.secondServer();
    try {
      const there = client.via(second.handle);
      await client.key('u');
      await client.key('v');
      const token = await client.store('u', { number: '1' });
      await client.store('u', { number: '2' });
      await client.open('u', token);
      const all = await createRetrieve(client, 'u', {});
      const sizes = async (query = {}) => {
        const answers = [
          await there.send('GET', '/key', { query }),
          await there.send('GET', '/vault?user=u', { query }),
          await there.send('GET', '/vault?user=u&decrypt_all=t', { query, passphrase: PASSPHRASE }),
          await there.send('GET', `/vault/metadata?user=u&token=${token}`, { query }),
          await retrieve(second, all, { query }),
        ];
        return answers.map(({ json, headers }) => {
          const entries = Array.isArray(json) ? json : (Object.values(json as object)[0] as unknown[]);
          return [entries.length, headers.has('x-vault-next-token')];
        });
      };
      expect((await sizes()).every(([, more]) => more === false)).toBe(true);
      await set('default_limit', 1);
      expect(await sizes()).toEqual(Array.from({ length: 5 }, () => [1, true]));
      expect((await sizes({ limit: 10 })).every(([, more]) => more === false)).toBe(true);
      await set('default_limit', -5);
      expect((await sizes()).every(([n, more]) => Number(n) > 1 && more === false)).toBe(true);
      await remove('default_limit');
      expect((await sizes()).every(([, more]) => more === false)).toBe(true);
    } finally {
      await second.close();
    }
  });
});
