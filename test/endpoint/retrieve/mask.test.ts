import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../../sdk/index.ts';
import type { AccountClient, Answer, Query } from '../../helpers/clients.ts';
import { createRetrieve, type MadeEndpoint, retrieve } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const STORED = {
  card_number: '5555555555554444',
  cvv: '123',
  holder: 'Ada Lovelace',
  card: { number: '378282246310005', cvc: 999, holder: 'Grace', pan: '6011111111111117' },
  cards: [{ number: '12345', track2: ';5555=1' }, { n: 67890 }],
  amount: '__amount__',
};
const TEXT = JSON.stringify(STORED).replace('"__amount__"', '1.10');
const MASKED = {
  ...STORED,
  amount: 1.1,
  card_number: '************4444',
  cvv: '***',
  card: { number: '***********0005', cvc: '***', holder: 'Grace', pan: '************1117' },
  cards: [{ number: '*2345', track2: '*******' }, { n: '*7890' }],
};

let vault: TestVault;
let masked: AccountClient;
let unmasked: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  [masked, unmasked] = [await vault.account({ unmasked: false }), await vault.account()];
  await Promise.all([masked.key('u'), unmasked.key('u')]);
});
afterAll(() => vault.close());

async function read(endpoint: MadeEndpoint, query: Query = {}): Promise<Answer> {
  const answer = await retrieve(vault, endpoint, { query });
  expect(answer.outcome).toBe('200');
  return answer;
}

/** What an endpoint shows of an item, alone; in the tree it must be the very same text. */
async function seenThrough(client: AccountClient, body: unknown, lock: Query = {}): Promise<string> {
  const token = await client.store('u', body, { number: '1' });
  const endpoint = await createRetrieve(client, 'u', { ...lock, token });
  const alone = (await read(endpoint, { token })).text;
  expect((await read(endpoint, { decrypt_all: true })).text).toContain(`"data":${alone}`);
  await client.sdk.vault.delete({ user: 'u', token });
  return alone;
}
async function rule(client: AccountClient, id: string, ...operations: object[]): Promise<void> {
  expect((await client.send('POST', '/rule', { query: { id }, body: operations })).outcome).toBe('200');
}

describe('masks of the account', () => {
  test('hide numbers but for four digits and codes whole, at any depth', async () => {
    const text = await seenThrough(masked, TEXT);
    expect(JSON.parse(text)).toEqual(MASKED);
    expect(text).toContain('"amount":1.10');
  });

  test('are none where the operator has allowed unmasked output', async () => {
    expect(await seenThrough(unmasked, TEXT)).toBe(TEXT);
  });

  test('are those of the account as they are now', async () => {
    const client = await vault.account({ unmasked: false });
    await client.key('u');
    const token = await client.store('u', STORED);
    const endpoint = await createRetrieve(client, 'u');
    const seen = async (): Promise<unknown[]> => [
      (await read(endpoint, { token })).as<Record<string, unknown>>()['card_number'],
      (await read(endpoint, { decrypt_all: true })).as<Tree>()['u']?.[0]?.data?.['card_number'],
    ];
    const second = await vault.secondServer();
    const there = async (): Promise<unknown> =>
      (await retrieve(second, endpoint, { query: { token } })).as<Record<string, unknown>>()['card_number'];
    for (const allowed of [false, true, false, true]) {
      await vault.opened.services.accounts.set(client.name, { unmasked: allowed });
      const shown = allowed ? STORED.card_number : '************4444';
      expect([...(await seen()), await there()]).toEqual([shown, shown, shown]);
    }
    await second.close();
  });

  test('cannot be asked away when it is used', async () => {
    const token = await masked.store('u', STORED);
    const endpoint = await createRetrieve(masked, 'u');
    const query = { token, unmasked: true, mask_fields: '', rules: '', return_card_metadata: true };
    expect((await read(endpoint, query)).json).toEqual({ ...MASKED, amount: '__amount__' });
    await masked.sdk.vault.delete({ user: 'u', token });
  });
});

describe('mask_fields', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['holder', { holder: '*** ****lace', card: { ...STORED.card, holder: '*race' } }],
    ['card.holder', { card: { ...STORED.card, holder: '*race' } }],
    ['cvv,card.cvc', { cvv: '***', card: { ...STORED.card, cvc: '***' } }],
    ['cards.0.number', { cards: [{ number: '*2345', track2: ';5555=1' }, { n: 67890 }] }],
    ['nothing,card.nothing', {}],
  ];
  test.each(cases)('%s hide those alone where output is unmasked', async (mask_fields, changes) => {
    expect(JSON.parse(await seenThrough(unmasked, STORED, { mask_fields }))).toEqual({
      ...STORED,
      ...changes,
    });
  });

  test('come on top of the account’s', async () => {
    expect(JSON.parse(await seenThrough(masked, STORED, { mask_fields: 'card.holder' }))).toEqual({
      ...MASKED,
      amount: '__amount__',
      card: { ...MASKED.card, holder: '*race' },
    });
  });

  test('stay when the operator allows unmasked output', async () => {
    const client = await vault.account({ unmasked: false });
    await client.key('u');
    const token = await client.store('u', { number: '12345', holder: 'Ada Lovelace' });
    const endpoint = await createRetrieve(client, 'u', { mask_fields: 'holder' });
    await vault.opened.services.accounts.set(client.name, { unmasked: true });
    expect((await read(endpoint, { token })).text).toBe('{"number":"12345","holder":"*** ****lace"}');
  });
});

describe('card metadata', () => {
  const card_metadata = { bin: '55555555', brand: 'mastercard', issuer: [] };

  test('stand beside the data when the endpoint was made so, masked or not', async () => {
    for (const [client, number] of [
      [unmasked, '5555555555554444'],
      [masked, '************4444'],
    ] as const) {
      const token = await client.store('u', { number: '5555555555554444' });
      const endpoint = await createRetrieve(client, 'u', { return_card_metadata: true, token });
      expect((await read(endpoint, { token })).json).toEqual({ number, card_metadata });
      const [item] = (await read(endpoint, { decrypt_all: true })).as<Tree>()['u'] ?? [];
      expect(item).toMatchObject({ token, data: { number }, card_metadata });
      expect(item?.data).not.toHaveProperty('card_metadata');
      expect((await read(endpoint)).text).not.toContain('card_metadata');
      await client.sdk.vault.delete({ user: 'u', token });
    }
  });

  test('are left out without the flag, and where there is no card', async () => {
    const token = await unmasked.store('u', { number: '12' });
    const endpoint = await createRetrieve(unmasked, 'u', { return_card_metadata: true, token });
    expect((await read(endpoint, { token })).text).toBe('{"number":"12"}');
    expect(await seenThrough(unmasked, { number: '5555555555554444' })).toBe('{"number":"5555555555554444"}');
    await unmasked.sdk.vault.delete({ user: 'u', token });
  });

  test('tell of the stored number, whatever rules make of it', async () => {
    await rule(unmasked, 'other-number', {
      name: 'template',
      arguments: { template: '{"number":"378282246310005","card_metadata":"mine"}' },
    });
    const token = await unmasked.store('u', { number: '5555555555554444' });
    const endpoint = await createRetrieve(unmasked, 'u', {
      return_card_metadata: true,
      rules: 'other-number',
    });
    expect((await read(endpoint, { token })).json).toEqual({ number: '378282246310005', card_metadata });
    await unmasked.sdk.vault.delete({ user: 'u', token });
  });
});

describe('rules of the endpoint', () => {
  test('change what is shown, never what is stored', async () => {
    await rule(unmasked, 'last', {
      name: 'substr',
      input_field: 'number',
      output_field: 'last',
      arguments: { start: -4 },
    });
    const token = await unmasked.store('u', '{"number":"12345678","amount":1.10}');
    const endpoint = await createRetrieve(unmasked, 'u', { rules: 'last', token });
    const shown = '{"number":"12345678","amount":1.10,"last":"5678"}';
    expect((await read(endpoint, { token })).text).toBe(shown);
    expect((await read(endpoint, { decrypt_all: true })).text).toContain(`"data":${shown}}`);
    expect(await unmasked.open('u', token)).toBe('{"number":"12345678","amount":1.10}');
    await unmasked.sdk.vault.delete({ user: 'u', token });
  });

  test('come after the masks of the account and before mask_fields', async () => {
    for (const client of [masked, unmasked]) {
      await rule(
        client,
        'copies',
        { name: 'noop', input_field: 'number', output_field: 'copy' },
        { name: 'noop', input_field: 'holder', output_field: 'name' },
      );
    }
    const body = { number: '12345', holder: 'Ada Lovelace' };
    // A field that a rule makes is masked by its own name: the copy of the holder is not the holder.
    const lock = { rules: 'copies', mask_fields: 'holder,copy' };
    expect(JSON.parse(await seenThrough(masked, body, lock))).toEqual({
      number: '*2345',
      holder: '*** ****lace',
      copy: '*2345',
      name: 'Ada Lovelace',
    });
    expect(JSON.parse(await seenThrough(unmasked, body, lock))).toEqual({
      number: '12345',
      holder: '*** ****lace',
      copy: '*2345',
      name: 'Ada Lovelace',
    });
  });

  test('are those of the moment: missing, made later, made anew, deleted', async () => {
    const token = await unmasked.store('u', { number: '24680' });
    const endpoint = await createRetrieve(unmasked, 'u', { rules: 'later', token });
    const log = { user: 'u', token };
    const outcomes = async (): Promise<string[]> => [
      (await retrieve(vault, endpoint, { query: { token } })).outcome,
      (await retrieve(vault, endpoint, { query: { decrypt_all: true } })).outcome,
    ];
    const facts = async () => {
      const { data } = await unmasked.sdk.vault.log(log);
      const shown = data.filter(({ outcome }) => outcome !== 'rule_not_found');
      return [shown.length, (await vault.usage(unmasked))['retrieve']];
    };
    const before = await facts();
    expect(await outcomes()).toEqual(['404 rule_not_found', '404 rule_not_found']);
    expect(await facts()).toEqual(before);
    // A tree without data runs no rule.
    expect((await read(endpoint)).as<Tree>()['u']).toHaveLength(1);
    await rule(unmasked, 'later', { name: 'noop', input_field: 'number', output_field: 'first' });
    expect((await read(endpoint, { token })).json).toEqual({ number: '24680', first: '24680' });
    await unmasked.send('DELETE', '/rule', { query: { id: 'later' } });
    await rule(unmasked, 'later', { name: 'noop', input_field: 'number', output_field: 'second' });
    expect((await read(endpoint, { token })).json).toEqual({ number: '24680', second: '24680' });
    await unmasked.send('DELETE', '/rule', { query: { id: 'later' } });
    expect(await outcomes()).toEqual(['404 rule_not_found', '404 rule_not_found']);
    await unmasked.sdk.vault.delete({ user: 'u', token });
  });
});
