import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { LogEntry } from '../../../sdk/index.ts';
import { VaultError } from '../../../server/core/errors.ts';
import type { AccountClient, Query } from '../../helpers/clients.ts';
import { createRetrieve, type MadeEndpoint, retrieve } from '../../helpers/endpoints.ts';
import { failNext, holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const ITEMS = 30;

let vault: TestVault;
let account: AccountClient;
let open: MadeEndpoint;
let tokens: string[];
let numbers = 0;

beforeAll(async () => {
  vault = await openTestVault({ trustedProxies: ['127.0.0.0/8'] });
  account = await vault.account();
  await account.key('u');
  tokens = [];
  for (let n = 0; n < ITEMS; n++) {
    tokens.push(await account.store('u', { number: `7${n}` }, { reference: n < 10 ? 'ten' : undefined }));
  }
  await account.key('one');
  open = await createRetrieve(account, 'u');
});
afterAll(() => vault.close());

/** An item under a key that has an endpoint of its own, so that other tests leave its log alone. */
async function newItem(): Promise<{ token: string; endpoint: MadeEndpoint }> {
  numbers += 1;
  const token = await account.store('one', { number: `${numbers}` });
  return { token, endpoint: await createRetrieve(account, 'one', { token }) };
}
async function logOf(user: string, token: string, reference?: string): Promise<LogEntry[]> {
  return (await account.sdk.vault.log({ user, token, ...(reference === undefined ? {} : { reference }) }))
    .data;
}
function use(query: Query = {}, endpoint = open) {
  return retrieve(vault, endpoint, { query });
}

interface Counts {
  readonly retrieve: number;
  readonly api_requests: number;
  readonly list: number;
  readonly decrypt: number;
}
/** What was counted while something ran. */
async function countsOf(run: () => Promise<unknown>): Promise<Counts> {
  const before = await vault.usage(account);
  await run();
  const after = await vault.usage(account);
  const grown = (name: string): number => (after[name] ?? 0) - (before[name] ?? 0);
  return {
    retrieve: grown('retrieve'),
    api_requests: grown('api_requests'),
    list: grown('list'),
    decrypt: grown('decrypt'),
  };
}
const NOTHING: Counts = { retrieve: 0, api_requests: 0, list: 0, decrypt: 0 };

describe('the log of an item', () => {
  test('names the retrieval as source, and who used the endpoint', async () => {
    const { token, endpoint } = await newItem();
    const headers = { 'x-forwarded-for': '203.0.113.9', 'user-agent': 'call centre/2.0 (tests)' };
    const answer = await retrieve(vault, endpoint, { query: { token }, headers });
    await retrieve(vault, endpoint, { query: { decrypt_all: true }, headers: { 'user-agent': '' } });
    const [second, first, stored, ...rest] = await logOf('one', token);
    expect(rest).toEqual([]);
    expect(first).toEqual({
      action: 'decrypt',
      source: 'retrieve',
      ip_address: '203.0.113.9',
      user_agent: 'call centre/2.0 (tests)',
      outcome: 'ok',
      actor: account.name,
      endpoint: endpoint.unique_id,
      request_id: answer.headers.get('x-request-id') ?? '',
      timestamp: first?.timestamp ?? '',
    });
    expect(second).toMatchObject({
      action: 'decrypt',
      source: 'retrieve',
      ip_address: '127.0.0.1',
      user_agent: '',
    });
    expect(stored).toMatchObject({ action: 'encrypt', source: 'vault' });
  });

  test('has one entry for each of many readings at once', async () => {
    const { token, endpoint } = await newItem();
    const read = await Promise.all(Array.from({ length: 40 }, () => use({ token }, endpoint)));
    expect(read.every(({ status }) => status === 200)).toBe(true);
    expect(await logOf('one', token)).toHaveLength(41);
  });

  test('has none for a tree without data and for readings of others, and one for each refusal', async () => {
    const { token, endpoint } = await newItem();
    const other = await newItem();
    await use({}, endpoint);
    await use({ limit: 0, token }, endpoint);
    await use({ token, reference: 'x' }, endpoint);
    await use({ token: 'nothing' }, endpoint);
    await use({ token }, { ...endpoint, secret: other.endpoint.secret });
    await use({ decrypt_all: true }, other.endpoint);
    expect((await logOf('one', token)).map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      // A token that is outside the lock names another item, or none.
      'decrypt token_not_found',
      'encrypt ok',
    ]);
    expect(await logOf('one', other.token)).toHaveLength(2);
  });

  test('is written before the data go out', async () => {
    const { token, endpoint } = await newItem();
    const held = holdNext(vault.opened.stores.itemStore, 'appendLog');
    let answered = false;
    const reading = use({ token }, endpoint).then((answer) => {
      answered = true;
      return answer;
    });
    await held.reached;
    // Whatever else would have been answered by now: the reply waits for its entry.
    await account.send('GET', '/whoami');
    expect(answered).toBe(false);
    held.release();
    expect((await reading).outcome).toBe('200');
    expect(await logOf('one', token)).toHaveLength(2);
  });
});

describe('no entry, no data', () => {
  test('of one item', async () => {
    const { token, endpoint } = await newItem();
    const counted = await countsOf(async () => {
      for (const error of [new VaultError('store_unavailable'), new VaultError('internal')]) {
        failNext(vault.opened.stores.itemStore, 'appendLog', error);
        const answer = await use({ token }, endpoint);
        expect(answer.outcome).toBe(`${error.status} ${error.code}`);
        expect(answer.text).not.toContain('number');
      }
    });
    expect(counted).toEqual(NOTHING);
    expect(await logOf('one', token)).toHaveLength(1);
    expect((await use({ token }, endpoint)).outcome).toBe('200');
  });

  test('of a whole tree', async () => {
    const entries = async (): Promise<number> =>
      (await Promise.all(tokens.map((token, n) => logOf('u', token, n < 10 ? 'ten' : undefined)))).flat()
        .length;
    failNext(vault.opened.stores.itemStore, 'appendLog', new VaultError('store_unavailable'));
    const outcome = await use({ decrypt_all: true }).then(
      ({ status, text }) => `${status} ${text.includes('"data"')}`,
      () => 'broke off',
    );
    expect(['broke off', '503 false']).toContain(outcome);
    // Entries of other items of the tree may still be on their way.
    let before = -1;
    for (let now = await entries(); now !== before; now = await entries()) {
      before = now;
      await Bun.sleep(50);
    }
    expect((await use({ decrypt_all: true })).outcome).toBe('200');
    expect(await entries()).toBe(before + ITEMS);
  });

  test('of an item that was deleted while it was read', async () => {
    const { token, endpoint } = await newItem();
    for (const [query, shown] of [
      [{ token }, '404 token_not_found'],
      [{ decrypt_all: true }, '200'],
    ] as const) {
      const held = holdNext(vault.opened.stores.itemStore, 'appendLog');
      const reading = use(query, endpoint);
      await held.reached;
      await account.sdk.vault.delete({ user: 'one', token });
      held.release();
      const answer = await reading;
      expect(answer.outcome).toBe(shown);
      expect(answer.text).not.toContain('number');
      await account.store('one', { number: `${numbers}` });
    }
  });
});

describe('counting', () => {
  test('a reading is a retrieve and a request, and neither a decrypt nor a list', async () => {
    const { token, endpoint } = await newItem();
    expect(await countsOf(() => use({ token }, endpoint))).toEqual({
      ...NOTHING,
      retrieve: 1,
      api_requests: 1,
    });
  });

  test('so is a tree without data', async () => {
    for (const query of [{}, { limit: 3 }, { reference: 'nothing' }]) {
      expect(await countsOf(() => use(query))).toEqual({ ...NOTHING, retrieve: 1, api_requests: 1 });
    }
  });

  test.each([
    [{}, ITEMS],
    [{ reference: 'ten' }, 10],
    [{ reference_prefix: 't', limit: 4 }, 4],
    [{ reference: 'nothing' }, 0],
  ])('a tree with data is a retrieve for each item: %j', async (query, items) => {
    const counted = await countsOf(() => use({ decrypt_all: true, ...query }));
    expect(counted).toEqual({ ...NOTHING, retrieve: items, api_requests: 1 });
  });

  test('a refusal is nothing', async () => {
    const { token, endpoint } = await newItem();
    const [wrong, gone] = [
      { ...endpoint, secret: 'vrs1_x' },
      await createRetrieve(account, 'one', { ttl: '1s', unique_id: 'short' }),
    ];
    await account.send('DELETE', '/retrieve/short');
    const counted = await countsOf(async () => {
      for (const [query, made] of [
        [{ token: 'x' }, endpoint],
        [{ token, reference: 'r' }, endpoint],
        [{ limit: 0 }, endpoint],
        [{ next_token: 'x' }, endpoint],
        [{ token }, wrong],
        [{ token }, gone],
      ] as const) {
        expect((await use(query, made)).status).toBeGreaterThanOrEqual(400);
      }
    });
    expect(counted).toEqual(NOTHING);
  });

  test('is stored with the log entry: a reading that is not logged is neither answered nor counted', async () => {
    const { token, endpoint } = await newItem();
    const counted = await countsOf(async () => {
      failNext(vault.opened.stores.itemStore, 'appendLog', new VaultError('store_unavailable'));
      expect((await use({ token }, endpoint)).outcome).toBe('503 store_unavailable');
    });
    expect(counted.api_requests).toBe(0);
  });
});
