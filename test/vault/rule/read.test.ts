import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../../sdk/index.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const STORED =
  '{"number":"4111111111111111","amount":1.10,"big":12345678901234567890,"s":"","holder":"Ada Lovelace"}';

let vault: TestVault;
let account: AccountClient;
let masked: AccountClient;
let token: string;
let rulesMade = 0;

beforeAll(async () => {
  vault = await openTestVault();
  [account, masked] = [await vault.account(), await vault.account({ unmasked: false })];
  await Promise.all([account.key('u'), masked.key('u')]);
  token = await account.store('u', STORED);
  await masked.store('u', STORED);
});
afterAll(() => vault.close());

async function rule(client: AccountClient, ...operations: object[]): Promise<string> {
  rulesMade += 1;
  const id = `rule-${rulesMade}`;
  expect((await client.send('POST', '/rule', { query: { id }, body: operations })).outcome).toBe('200');
  return id;
}
function read(query: Query, client = account): Promise<Answer> {
  return client.send('GET', '/vault', { query: { user: 'u', ...query }, passphrase: PASSPHRASE });
}
async function tokenOf(client: AccountClient): Promise<string> {
  return (await client.sdk.vault.list({ user: 'u' })).data['u']?.[0]?.token ?? '';
}

/** What rules make of the stored object, opened alone; opened with the whole key it must be the same. */
async function seen(query: Query, client = account): Promise<string> {
  const alone = await read({ ...query, token: await tokenOf(client) }, client);
  expect(alone.outcome).toBe('200');
  expect((await read({ ...query, decrypt_all: true }, client)).text).toContain(`"data":${alone.text}}`);
  return alone.text;
}
function append(text: string, order_position = 1) {
  return {
    name: 'format',
    input_field: '*',
    output_field: 's',
    order_position,
    arguments: { format_string: `%v${text}`, keys: ['s'] },
  };
}

describe('rules on what is read', () => {
  test('change the reply alone', async () => {
    const id = await rule(account, { name: 'template', arguments: { template: '{"n":"{{number}}!"}' } });
    expect(await seen({ rules: id })).toBe('{"n":"4111111111111111!"}');
    expect(await seen({})).toBe(STORED);
  });

  test('leave untouched numbers as they are written', async () => {
    const id = await rule(account, {
      name: 'substr',
      input_field: 'number',
      output_field: 'last',
      arguments: { start: -4 },
    });
    expect(await seen({ rules: id })).toBe(`${STORED.slice(0, -1)},"last":"1111"}`);
  });

  test('run in the order of the list, whatever the positions in them say', async () => {
    const [a, b] = [
      await rule(account, append('a', 2), append('A', 1)),
      await rule(account, append('b', -5)),
    ];
    for (const [rules, s] of [
      [`${a},${b}`, 'aAb'],
      [`${b},${a}`, 'baA'],
      [`${b},${b}`, 'bb'],
      [`${a} , ${b}`, 'aAb'],
      ['', ''],
    ] as const) {
      expect(JSON.parse(await seen({ rules }))).toMatchObject({ s });
    }
  });

  test('may be 64, and each may have 64 operations', async () => {
    const id = await rule(account, append('x'));
    expect(JSON.parse(await seen({ rules: Array(64).fill(id).join() }))).toMatchObject({ s: 'x'.repeat(64) });
    const refused = await read({ token, rules: Array(65).fill(id).join() });
    expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.rules']);
  });

  test('come after the masks of the account and before mask_fields, which know names and not values', async () => {
    const copies = [
      { name: 'noop', input_field: 'number', output_field: 'copy' },
      { name: 'noop', input_field: 'holder', output_field: 'name' },
    ];
    for (const [client, number] of [
      [account, '4111111111111111'],
      [masked, '************1111'],
    ] as const) {
      const rules = await rule(client, ...copies);
      expect(JSON.parse(await seen({ rules, mask_fields: 'holder' }, client))).toMatchObject({
        number,
        copy: number,
        holder: '*** ****lace',
        name: 'Ada Lovelace',
      });
      expect(JSON.parse(await seen({ rules, mask_fields: 'name,copy' }, client))).toMatchObject({
        number,
        copy: '************1111',
        holder: 'Ada Lovelace',
        name: '*** ****lace',
      });
    }
  });

  test('may write what looks like card metadata, which then gives way to the real', async () => {
    const fake = {
      name: 'template',
      arguments: { template: '{"number":"1","card_metadata":{"bin":"fake"}}' },
    };
    const rules = await rule(account, fake);
    const { json } = await read({ token, rules, return_card_metadata: true });
    expect(json).toEqual({ number: '1', card_metadata: { bin: '41111111', brand: 'visa', issuer: [] } });
    expect((await read({ token, rules })).json).toEqual({ number: '1', card_metadata: { bin: 'fake' } });
  });

  test('do nothing in a listing without data', async () => {
    const id = await rule(account, append('x'));
    const plain = await account.send('GET', '/vault', { query: { user: 'u' } });
    expect((await account.send('GET', '/vault', { query: { user: 'u', rules: id } })).text).toBe(plain.text);
  });

  test('go over each item of a whole key by itself', async () => {
    await account.key('many');
    const count = 150;
    await Promise.all(
      Array.from({ length: count }, (_, n) => account.store('many', { number: `${n}`, s: '' })),
    );
    const rules = await rule(account, append('!'), {
      name: 'format',
      output_field: 'id',
      arguments: { format_string: '%v%v', keys: ['number', 's'] },
    });
    const all = await read({ user: 'many', decrypt_all: true, rules });
    const data = (all.as<Tree>()['many'] ?? []).map((item) => item.data ?? {});
    expect(data).toHaveLength(count);
    expect(data.every(({ id, number }) => id === `${number}!`)).toBe(true);
  });
});

describe('a rule that is missing', () => {
  const state = async (): Promise<unknown> => {
    const { log: _, list: __, rule: ___, api_requests: ____, ...usage } = await vault.usage(account);
    const { data } = await account.sdk.vault.log({ user: 'u', token });
    return [data.filter(({ outcome }) => outcome === 'ok').length, usage];
  };

  test('is a 404 with nothing shown, logged as done or counted, alone or among others', async () => {
    const here = await rule(account, append('x'));
    const before = await state();
    for (const rules of ['missing', `${here},missing`, `missing,${here}`]) {
      for (const query of [{ token }, { decrypt_all: true }, { decrypt_all: true, limit: -1 }]) {
        const refused = await read({ ...query, rules });
        expect(refused.outcome).toBe('404 rule_not_found');
        expect(refused.text).not.toContain('missing');
        expect(refused.text).not.toContain('4111');
      }
    }
    expect(await state()).toEqual(before);
  });

  test('is so from the moment that it is deleted, on every server, and no longer when it is made again', async () => {
    const id = await rule(account, append('x'));
    const second = await vault.secondServer();
    const there = account.via(second.handle);
    expect((await read({ token, rules: id }, there)).outcome).toBe('200');
    await account.send('DELETE', '/rule', { query: { id } });
    expect((await read({ token, rules: id })).outcome).toBe('404 rule_not_found');
    expect((await read({ token, rules: id }, there)).outcome).toBe('404 rule_not_found');
    await account.send('POST', '/rule', { query: { id }, body: [append('y')] });
    expect((await read({ token, rules: id })).json).toMatchObject({ s: 'y' });
    expect((await read({ token, rules: id }, there)).json).toMatchObject({ s: 'y' });
    await second.close();
  });

  test('is what another account’s is', async () => {
    const theirs = await rule(masked, append('x'));
    expect((await read({ token, rules: theirs })).outcome).toBe('404 rule_not_found');
    expect((await read({ decrypt_all: true, rules: theirs })).outcome).toBe('404 rule_not_found');
  });
});
