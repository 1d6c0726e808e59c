import { afterAll, describe, expect, test } from 'bun:test';
import { type Answer, PASSPHRASE, type Query, refusalOf } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', card_holder: 'Ada Lovelace' };
const WRONG = 'not the passphrase of this key';
const FAILURES_MAX = 4;

const vault = await openTestVault({ authFailuresMax: FAILURES_MAX });
const account = await vault.account();
await account.key('u');
const plain = await account.store('u', CARD);
const named = await account.store('u', CARD, { reference: 'customer-1' });
afterAll(() => vault.close());

function read(query: Query, passphrase: string | undefined = PASSPHRASE, client = account): Promise<Answer> {
  return client.send('GET', '/vault', {
    query: { user: 'u', ...query },
    ...(passphrase === undefined ? {} : { passphrase }),
  });
}
function listed(query: Query): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user: 'u', ...query } });
}

describe('decrypting', () => {
  test('gives the stored object itself, flat', async () => {
    const opened = await read({ token: plain });
    expect([opened.status, opened.text]).toEqual([200, JSON.stringify(CARD)]);
    expect(opened.headers.get('content-type')).toBe('application/json');
    expect(opened.headers.get('cache-control')).toBe('no-store');
    expect(await account.sdk.vault.decrypt({ user: 'u', token: plain })).toEqual(CARD);
  });

  test('needs the reference of an item that has one', async () => {
    const refused = await read({ token: named });
    expect(refused.outcome).toBe('400 reference_required');
    expect((await read({ token: named, reference: 'customer-1' })).json).toEqual(CARD);
  });

  test('needs the identifier of the key', async () => {
    const refused = await account.send('GET', '/vault', { query: { token: plain }, passphrase: PASSPHRASE });
    expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.key']);
  });

  test('with decrypt_all as well still gives the one object', async () => {
    expect((await read({ token: plain, decrypt_all: true })).text).toBe(JSON.stringify(CARD));
  });
});

describe('what is not there, or not the caller’s, is the same 404', () => {
  test('an unknown token, a wrong reference, one too many, another account’s, another key’s', async () => {
    const other = await vault.account();
    await other.key('u');
    await account.key('second');
    const theirs = await other.store('u', CARD);
    const answers = await Promise.all([
      read({ token: 'f'.repeat(64) }),
      read({ token: 'no token at all' }),
      read({ token: `${plain}\u0000` }),
      read({ token: plain.toUpperCase() }),
      read({ token: plain.slice(0, -1) }),
      read({ token: plain, reference: 'customer-1' }),
      read({ token: named, reference: 'customer-2' }),
      read({ token: named, reference: 'customer-' }),
      read({ token: named, reference: 'customer-1 ' }),
      read({ token: named, reference: 'CUSTOMER-1' }),
      read({ token: theirs }),
      read({ token: plain }, PASSPHRASE, other),
      read({ token: plain, user: 'second' }),
    ]);
    const [first] = answers;
    expect(first?.outcome).toBe('404 token_not_found');
    for (const answer of answers) {
      expect(refusalOf(answer)).toEqual(refusalOf(first ?? answer));
    }
  });

  test('a wrong passphrase hears nothing of what is there', async () => {
    await account.key('hides');
    const queries = [
      { token: plain },
      { token: named },
      { token: 'f'.repeat(64) },
      { token: named, reference: 'x' },
    ];
    for (const query of queries) {
      expect((await read({ ...query, user: 'hides' }, WRONG)).outcome).toBe('403 passphrase_wrong');
      await read({ token: 'x', user: 'hides' });
    }
  });

  test('an unknown key is another 404, of another account’s key too', async () => {
    await account.key('only-mine');
    expect((await read({ user: 'nobody', token: plain })).outcome).toBe('404 key_not_found');
    const other = await vault.account();
    expect((await read({ user: 'only-mine', token: plain }, PASSPHRASE, other)).outcome).toBe(
      '404 key_not_found',
    );
  });
});

describe('where the passphrase stands', () => {
  const target = (search: string, header?: string): Promise<Answer> =>
    account.send(
      'GET',
      `/vault?user=u&token=${plain}${search}`,
      header === undefined ? {} : { headers: { 'x-vault-passphrase': header } },
    );
  const encoded = encodeURIComponent(PASSPHRASE);

  test('in the header or in the query, and in both when they are the same', async () => {
    expect((await target('', encoded)).json).toEqual(CARD);
    expect((await target(`&passphrase=${encoded}`)).json).toEqual(CARD);
    expect((await target(`&passphrase=${encoded.replaceAll('%20', '+')}`)).json).toEqual(CARD);
    expect((await target(`&passphrase=${encoded}`, encoded)).json).toEqual(CARD);
    expect((await target(`&passphrase=${encoded}`, 'other')).outcome).toBe('400 conflicting_parameters');
  });

  test('a plus sign is literal in the header, and a space in the query', async () => {
    await account.key('plus', 'one+two+three and four');
    const send = (search: string, header?: string) =>
      account.send(
        'GET',
        `/vault?user=plus&decrypt_all=t${search}`,
        header === undefined ? {} : { headers: { 'x-vault-passphrase': header } },
      );
    expect((await send('', 'one+two+three%20and%20four')).outcome).toBe('200');
    expect((await send('&passphrase=one%2Btwo%2Bthree+and+four')).outcome).toBe('200');
    expect((await send('&passphrase=one+two+three+and+four')).outcome).toBe('403 passphrase_wrong');
  });

  test('none at all lists the item instead', async () => {
    expect(Object.keys((await target('')).as<object>())).toEqual(['u']);
    const { data } = await account.sdk.vault.list({ user: 'u', token: plain });
    expect(data['u']?.map(({ token }) => token)).toEqual([plain]);
  });

  test('in a listing without decrypt_all it is not looked at', async () => {
    expect((await read({}, WRONG)).outcome).toBe('200');
    expect((await listed({ passphrase: WRONG })).outcome).toBe('200');
  });
});

test('a server that keeps no key unlocked opens with the right passphrase each time, and with no other', async () => {
  const cold = await vault.secondServer({ warmUnlockSeconds: 0, workers: 2 });
  try {
    const there = account.via(cold.handle);
    expect((await read({ token: plain }, PASSPHRASE, there)).json).toEqual(CARD);
    expect((await read({ token: plain }, WRONG, there)).outcome).toBe('403 passphrase_wrong');
    expect(
      await Array.fromAsync(there.sdk.vault.decryptAll({ user: 'u', reference: 'customer-1' })),
    ).toHaveLength(1);
    const many = await Promise.all(
      Array.from({ length: 8 }, () => read({ token: plain }, PASSPHRASE, there)),
    );
    expect(many.every(({ status }) => status === 200)).toBe(true);
  } finally {
    await cold.close();
  }
});

describe('guessing', () => {
  const guess = (user: string, n: number): Promise<Answer> =>
    read({ user, token: plain }, `guess number ${n} of many`);

  test('counts all ways together: storing, opening all, updating, changing, and from every account name alike', async () => {
    await account.key('ways');
    const sending = { passphrase: WRONG, body: CARD };
    const ways = [
      await account.send('POST', '/vault', { query: { user: 'ways' }, ...sending }),
      await read({ user: 'ways', decrypt_all: true }, WRONG),
      await account.send('POST', '/vault/update', { query: { user: 'ways', token: plain }, ...sending }),
      await account.send('PUT', '/key', { body: { user: 'ways', passphrase: WRONG } }),
    ];
    expect(ways.map(({ outcome }) => outcome)).toEqual(Array(4).fill('403 passphrase_wrong'));
    expect((await guess('ways', 5)).outcome).toBe('429 too_many_failures');
    const keyed = { query: { user: 'ways' }, ...sending, idempotencyKey: 'guess' };
    expect((await account.send('POST', '/vault', keyed)).outcome).toBe('429 too_many_failures');
  });
});
