/** The networks of a card by its first digits, for forms that offer the choice between two. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { loadBinTable } from '../../server/bin-table/command.ts';
import type { AccountClient, Answer } from '../helpers/clients.ts';
import { createCapture, type MadeEndpoint, useEndpoint } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const TABLE = `bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level
412345,412345,VISA,Bank of Tests,France,DEBIT,
412345,412345,CARTES BANCAIRES,Bank of Tests,France,DEBIT,
`;

let vault: TestVault;
let account: AccountClient;
beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
  const { randomId, stores } = vault.opened;
  await loadBinTable({ binStore: stores.binStore, randomId }, TABLE);
});
afterAll(() => vault.close());

function ask({ url, secret }: MadeEndpoint, digits: string, headers = {}): Promise<Answer> {
  return useEndpoint(vault, 'GET', `${url}/bin/${digits}`, { secret, headers });
}

test('are that of the number first, then those of the table, with type and country', async () => {
  const endpoint = await createCapture(account, 'u');
  const expected = { networks: ['visa', 'cartes-bancaires'], card_type: 'DEBIT', country: 'France' };
  for (const digits of ['412345', '4123450', '41234599']) {
    expect((await ask(endpoint, digits)).json).toEqual(expected);
  }
  expect((await ask(endpoint, '55555555')).json).toEqual({ networks: ['mastercard'] });
  expect((await ask(endpoint, '00000000')).json).toEqual({ networks: [] });
});

test('are told to the secret alone, from any page, and use nothing up', async () => {
  const endpoint = await createCapture(account, 'u', {
    ...{ max_uses: 1, rate: '1/h', origins: 'https://shop.example' },
  });
  const origin = { origin: 'https://other.example' };
  for (let n = 0; n < 3; n++) {
    expect((await ask(endpoint, '412345', origin)).outcome).toBe('200');
  }
  const wrong = { ...endpoint, secret: `${endpoint.secret}x` };
  expect((await ask(wrong, '412345')).outcome).toBe('403 endpoint_refused');
  const state = await useEndpoint(vault, 'GET', endpoint.url, { secret: endpoint.secret });
  expect(state.outcome).toBe('200');
});

test('are told ten times a minute to each address', async () => {
  const endpoint = await createCapture(account, 'u');
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask(endpoint, '412345')));
  expect(answers.filter(({ outcome }) => outcome === '200')).toHaveLength(10);
  expect(answers.filter(({ outcome }) => outcome === '429 rate_limited')).toHaveLength(2);
});

test.each(['41234', '412345000', '41234x', '4123456789012'])('%p is no such start', async (digits) => {
  const answer = await ask(await createCapture(account, 'u'), digits);
  expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'path.digits']);
  expect(answer.text).not.toContain(digits);
});
