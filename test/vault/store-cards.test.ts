import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { loadBinTable } from '../../server/bin-table/command.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import type { CardMetadata } from '../../server/vault/schema.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { openTestVault, type TestVault, type VaultSettings } from '../helpers/vault.ts';

const REAL = '4123450131003312';
const TABLE = `bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level
412345,412345,VISA,Bank of Tests,Testland,CREDIT,GOLD
41234500,41234509,VISA,"Second, Bank",,DEBIT,
378282,378282,AMERICAN EXPRESS,,,,
`;

let vault: TestVault;
let account: AccountClient;
let now = Date.now();

function begin(settings: VaultSettings) {
  return async (): Promise<void> => {
    vault = await openTestVault({ ...settings, now: () => now });
    account = await vault.account();
    await account.key('u');
  };
}
function loadBins(csv: string) {
  const { randomId, stores } = vault.opened;
  return loadBinTable({ binStore: stores.binStore, randomId }, csv);
}
function store(body: unknown, query: Query = {}): Promise<Answer> {
  return account.send('POST', '/vault', { query: { user: 'u', ...query }, passphrase: PASSPHRASE, body });
}

describe('production', () => {
  beforeAll(begin({ environment: 'production' }));
  afterAll(() => vault.close());

  test('says so', async () => {
    expect((await account.sdk.admin.whoami()).environment).toBe('production');
  });

  test('refuses published test numbers, however they are written and wherever they stand', async () => {
    for (const number of ['4111111111111111', '378282246310005', '6205500000000000004']) {
      const spaced = number.replace(/(....)/g, '$1 ');
      const attempts = [
        store({ card_number: number }),
        store({ account_number: spaced }),
        store({ n: number.replace(/(....)/g, '$1-') }),
        store(`{"number":${number}}`),
        store({ holder: 'Ada' }, { number }),
        store({ holder: 'Ada' }, { card_number: spaced }),
        store({ number }, { algorithm: 'uuid', reference: 'r' }),
        store({ number }, { number: REAL }),
      ];
      for (const refused of await Promise.all(attempts)) {
        expect(refused.outcome).toBe('400 test_card');
      }
    }
  });

  test('stores every other number, and nothing of those it refused', async () => {
    expect((await store({ number: REAL })).outcome).toBe('200');
    expect((await store({ account_number: 'DE89 3704 0044 0532 0130 00' })).outcome).toBe('200');
    expect((await store({ number: '4111111111111112' })).outcome).toBe('200');
    expect((await account.sdk.vault.list({ user: 'u' })).data['u']).toHaveLength(3);
  });

  test('an update brings no test number in: the names of numbers are ignored', async () => {
    const token = await account.store('u', { number: REAL });
    await account.sdk.vault.update({ user: 'u', token, data: { number: '4111111111111111', n: '1' } });
    expect(await account.open('u', token)).toBe(`{"number":"${REAL}"}`);
  });
});

describe('card_metadata', () => {
  beforeAll(begin({}));
  afterAll(() => vault.close());

  const flag = { return_card_metadata: true };
  const metadataOf = (answer: Answer): CardMetadata | undefined =>
    answer.as<{ card_metadata?: CardMetadata }>().card_metadata;
  const decrypt = (token: string, query: Query = flag, client = account): Promise<Answer> =>
    client.send('GET', '/vault', { query: { user: 'u', token, ...query }, passphrase: PASSPHRASE });

  test('is of test numbers too in staging', async () => {
    expect((await account.sdk.admin.whoami()).environment).toBe('staging');
    expect(metadataOf(await store({ number: '5555 5555 5555 4444' }, flag))?.brand).toBe('mastercard');
  });

  test('without a table is BIN and brand, from the number alone', async () => {
    const stored = await store({ number: REAL }, flag);
    expect(metadataOf(stored)).toEqual({ bin: '41234501', brand: 'visa', issuer: [] });
    const spaced = await store({ number: '4123 4501 3100 3312' }, flag);
    expect(metadataOf(spaced)).toEqual({ bin: '41234501', brand: 'visa', issuer: [] });
  });

  test('is not made up for what is no card', async () => {
    for (const number of ['12345678', 'DE89 3704 0044 0532 0130 00', '9'.repeat(30)]) {
      const stored = await store({ account_number: number }, flag);
      expect(stored.status).toBe(200);
      expect(metadataOf(stored)).toBeUndefined();
      const { token } = stored.as<{ token: string }>();
      expect((await decrypt(token)).json).toEqual({ account_number: number });
    }
  });

  describe('with a table', () => {
    const bank = {
      brand: 'VISA',
      issuing_bank: 'Bank of Tests',
      country_name: 'Testland',
      card_type: 'CREDIT',
      card_level: 'GOLD',
    };
    const second = { brand: 'VISA', issuing_bank: 'Second, Bank', card_type: 'DEBIT' };
    beforeEach(async () => {
      expect(await loadBins(TABLE)).toEqual({ kind: 'loaded', rows: 3, segments: 3 });
      now += 120_000;
    });

    afterAll(async () => {
      await vault.raw.del(redisKeys.binVersion);
      now += 120_000;
    });

    test('has the rows that cover the number', async () => {
      expect(metadataOf(await store({ number: REAL }, flag))?.issuer).toEqual([bank, second]);
      expect(metadataOf(await store({ number: '4123459999999999' }, flag))?.issuer).toEqual([bank]);
      expect(metadataOf(await store({ number: '4123469999999999' }, flag))?.issuer).toEqual([]);
      const amex = metadataOf(await store({ number: '378282246310005' }, flag));
      expect(amex).toMatchObject({ bin: '378282', issuer: [{ brand: 'AMERICAN EXPRESS' }] });
    });

    test('stands beside the stored object, in a tree beside each', async () => {
      const token = await account.store('u', { number: REAL, holder: 'Ada' }, { reference: 'tree' });
      const card_metadata = { bin: '41234501', brand: 'visa', issuer: [bank, second] };
      const opened = await decrypt(token, { ...flag, reference: 'tree' });
      expect(opened.json).toEqual({ number: REAL, holder: 'Ada', card_metadata });
      expect((await decrypt(token, { reference: 'tree' })).json).toEqual({ number: REAL, holder: 'Ada' });
      const [item] = await Array.fromAsync(
        account.sdk.vault.decryptAll({ user: 'u', reference: 'tree', return_card_metadata: true }),
      );
      expect(item).toMatchObject({ token, data: { number: REAL, holder: 'Ada' }, card_metadata });
      expect(item?.data).not.toHaveProperty('card_metadata');
    });

    test('knows a number that came in the query when it is stored', async () => {
      const stored = await store({ holder: 'Ada' }, { ...flag, number: REAL });
      expect(metadataOf(stored)?.issuer).toEqual([bank, second]);
    });

    test('takes the place of a stored member of its name only in such a reply', async () => {
      const token = await account.store('u', { card_metadata: 'mine', number: REAL }, { reference: 'own' });
      expect(await account.open('u', token, { reference: 'own' })).toBe(
        `{"card_metadata":"mine","number":"${REAL}"}`,
      );
      const asked = await decrypt(token, { ...flag, reference: 'own' });
      expect(asked.text.match(/card_metadata/g)).toHaveLength(1);
      expect(metadataOf(asked)?.bin).toBe('41234501');
    });

    test('shows the BIN where the number is masked', async () => {
      const masked = await vault.account({ unmasked: false });
      await masked.key('u');
      const token = await masked.store('u', { number: REAL });
      const { json } = await decrypt(token, { ...flag, mask_fields: 'bin,brand' }, masked);
      expect(json).toEqual({
        number: '************3312',
        card_metadata: { bin: '41234501', brand: 'visa', issuer: [bank, second] },
      });
    });

    test('has the rows that cover the first eight digits, also where the reply shows only six', async () => {
      const header = TABLE.slice(0, TABLE.indexOf('\n') + 1);
      const rows = '37828220,37828229,AMEX,Right Bank,,,\n37828200,37828209,AMEX,Wrong Bank,,,\n';
      await loadBins(header + rows);
      now += 120_000;
      const stored = await store({ number: '378282246310005' }, flag);
      const card = { bin: '378282', issuer: [{ brand: 'AMEX', issuing_bank: 'Right Bank' }] };
      expect(metadataOf(stored)).toMatchObject(card);
      const { token } = stored.as<{ token: string }>();
      expect(metadataOf(await decrypt(token))).toMatchObject(card);
      const other = await store({ number: '378282996310005' }, flag);
      expect(metadataOf(other)?.issuer).toEqual([]);
    });

    test('a new table takes the place of the old one', async () => {
      const header = TABLE.slice(0, TABLE.indexOf('\n') + 1);
      await loadBins(`${header}412345,412346,VISA,Third Bank,,,\n`);
      now += 120_000;
      expect(metadataOf(await store({ number: REAL }, flag))?.issuer).toEqual([
        { brand: 'VISA', issuing_bank: 'Third Bank' },
      ]);
    });
  });
});
