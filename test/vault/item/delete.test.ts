import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AccountClient, type Answer, PASSPHRASE, type Query, refusalOf } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const CARD = { number: '4111111111111111', cvv: '123' };

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function remove(query: Query, client = account): Promise<Answer> {
  return client.send('DELETE', '/vault/', { query: { user: 'u', ...query } });
}
async function traces(token: string): Promise<string[]> {
  return (await vault.raw.keys(`*${token}*`)).sort();
}

describe('deleting an item', () => {
  test('answers with a message, and the item is gone everywhere', async () => {
    const token = await account.store('u', CARD, { reference: 'gone' });
    expect(await traces(token)).toHaveLength(2);
    expect(Object.keys((await remove({ token, reference: 'gone' })).as<object>())).toEqual(['message']);
    const query = { user: 'u', token, reference: 'gone' };
    const after = await Promise.all([
      account.send('GET', '/vault', { query, passphrase: PASSPHRASE }),
      account.send('GET', '/vault', { query }),
      account.send('GET', '/vault/metadata', { query }),
      account.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body: {} }),
      remove(query),
    ]);
    expect(new Set(after.map(({ outcome }) => outcome))).toEqual(new Set(['404 token_not_found']));
    expect((await account.sdk.vault.list({ user: 'u', reference: 'gone' })).data).toEqual({ u: [] });
    expect(await traces(token)).toEqual([]);
  });

  test('works through the SDK, and needs no passphrase', async () => {
    const { token } = await account.sdk.vault.store({ user: 'u', data: CARD });
    expect(Object.keys(await account.sdk.vault.delete({ user: 'u', token }))).toEqual(['message']);
  });

  test('leaves all other items as they are', async () => {
    const [one, two] = [
      await account.store('u', CARD, { reference: 'a' }),
      await account.store('u', CARD, { reference: 'b' }),
    ];
    await remove({ token: one, reference: 'a' });
    expect(await account.open('u', two, { reference: 'b' })).toBe(JSON.stringify(CARD));
  });

  test('lets the same card be stored again, under the same token, with a new log', async () => {
    const token = await account.store('u', CARD, { reference: 'again' });
    await account.open('u', token, { reference: 'again' });
    await remove({ token, reference: 'again' });
    expect(await account.store('u', { ...CARD, cvv: '999' }, { reference: 'again' })).toBe(token);
    expect(await account.open('u', token, { reference: 'again' })).toContain('999');
    const { data } = await account.sdk.vault.log({ user: 'u', token, reference: 'again' });
    expect(data.map(({ action }) => action)).toEqual(['decrypt', 'encrypt']);
  });

  test('many at once all go, each answered once', async () => {
    const tokens = await Promise.all(
      Array.from({ length: 60 }, (_, n) => account.store('u', { number: `8${n}` })),
    );
    const outcomes = (await Promise.all([...tokens, ...tokens].map((token) => remove({ token })))).map(
      ({ outcome }) => outcome,
    );
    expect(outcomes.filter((outcome) => outcome === '200')).toHaveLength(60);
    expect(outcomes.filter((outcome) => outcome === '404 token_not_found')).toHaveLength(60);
  });

  test('is counted', async () => {
    const before = (await vault.usage(account))['delete'] ?? 0;
    await remove({ token: await account.store('u', { number: '91' }) });
    await remove({ token: 'nothing' });
    expect((await vault.usage(account))['delete']).toBe(before + 1);
  });
});

describe('refusals leave the item', () => {
  let plain: string;
  let named: string;
  beforeAll(async () => {
    plain = await account.store('u', { number: '71' });
    named = await account.store('u', { number: '72' }, { reference: 'r' });
  });
  const left = async (): Promise<void> => {
    expect(await account.open('u', plain)).toBe('{"number":"71"}');
    expect(await account.open('u', named, { reference: 'r' })).toBe('{"number":"72"}');
  };

  test('without the reference of an item that has one', async () => {
    expect((await remove({ token: named })).outcome).toBe('400 reference_required');
    await left();
  });

  test('with a wrong reference, one too many, an unknown token, from another account: all the same', async () => {
    const stranger = await vault.account();
    await stranger.key('u');
    const answers = [
      await remove({ token: 'nothing' }),
      await remove({ token: named, reference: 's' }),
      await remove({ token: plain, reference: 'r' }),
      await remove({ token: plain }, stranger),
    ];
    for (const answer of answers) {
      expect(refusalOf(answer)).toEqual(refusalOf(answers[0] ?? answer));
    }
    expect(answers[0]?.outcome).toBe('404 token_not_found');
    await left();
  });

  test('with an unknown key, or without what is needed', async () => {
    expect((await remove({ token: plain, user: 'nobody' })).outcome).toBe('404 key_not_found');
    expect((await remove({})).field).toBe('query.token');
    expect((await account.send('DELETE', '/vault', { query: { token: plain } })).field).toBe('query.user');
    await left();
  });
});
