import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { inBatches } from '../../sdk/transport/batches.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const BYTES_MAX = 8_000_000;

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function store(count: number, reference?: string): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      account.store('u', { number: `${i + 1}`, place: i }, { reference }),
    ),
  );
}

interface Sent {
  readonly n: number;
}
/** Notes the sizes of batches, and how many are in flight at most. */
function counting() {
  const noted = { sizes: [] as number[], under: 0, most: 0 };
  const send = async (texts: readonly string[]): Promise<readonly Sent[]> => {
    noted.sizes.push(texts.length);
    noted.under += 1;
    noted.most = Math.max(noted.most, noted.under);
    await new Promise((resolve) => setTimeout(resolve, 1));
    noted.under -= 1;
    return texts.map((text) => ({ n: JSON.parse(text) as number }));
  };
  return { noted, send };
}

describe('items in batches', () => {
  test.each([
    [0, []],
    [1, [1]],
    [1_000, [1_000]],
    [3_001, [1_000, 1_000, 1_000, 1]],
  ])('of %d go out as %j, two requests at once, and come back in order', async (count, sizes) => {
    const { noted, send } = counting();
    const items = Array.from({ length: count }, (_, i) => i);
    const results = await Array.fromAsync(inBatches<number, Sent>(items, JSON.stringify, send, BYTES_MAX));
    expect(results.map((result) => ('n' in result ? result.n : -1))).toEqual(items);
    expect(noted.sizes).toEqual(sizes);
    expect(noted.most).toBeLessThanOrEqual(2);
  });

  test('are divided by their bytes as well', async () => {
    const { noted, send } = counting();
    const text = JSON.stringify(7).padEnd(3_000_000);
    await Array.fromAsync(inBatches<number, Sent>([1, 2, 3], () => text, send, BYTES_MAX));
    expect(noted.sizes).toEqual([2, 1]);
  });

  test('that come one after the other are taken as they come', async () => {
    const { send } = counting();
    const source = (async function* () {
      yield 1;
      yield 2;
    })();
    const results = await Array.fromAsync(inBatches<number, Sent>(source, JSON.stringify, send, BYTES_MAX));
    expect(results).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test('have errors that name their place among all items', async () => {
    const failed = async (texts: readonly string[]) =>
      texts.map((_, i) => ({
        ...{ error: `\`items[${i}].ttl\` must be a duration.`, code: 'invalid_request' },
        field: `body.items[${i}].ttl`,
      }));
    const items = Array.from({ length: 1_002 }, (_, i) => i);
    const results = await Array.fromAsync(inBatches<number, Sent>(items, JSON.stringify, failed, BYTES_MAX));
    expect(results.at(-1)).toEqual({
      ...{ error: '`items[1001].ttl` must be a duration.', code: 'invalid_request' },
      field: 'items[1001].ttl',
    });
  });

  test('whose request fails throw behind the results before them', async () => {
    const { send } = counting();
    let calls = 0;
    const failing = (texts: readonly string[]) => {
      calls += 1;
      return calls === 2 ? Promise.reject(new Error('the second')) : send(texts);
    };
    let seen = 0;
    const walk = async (): Promise<void> => {
      for await (const _ of inBatches<number, Sent>(
        Array.from({ length: 2_500 }, (__, i) => i),
        JSON.stringify,
        failing,
        BYTES_MAX,
      )) {
        seen += 1;
      }
    };
    await expect(walk()).rejects.toThrow('the second');
    expect(seen).toBe(1_000);
  });
});

describe('many items', () => {
  test('are decrypted in order, with an error for each that is refused', async () => {
    const tokens = await store(5);
    const missing = undefined as unknown as { token: string };
    const items = [...tokens.map((token) => ({ token })), { token: '' }, missing];
    const results = await Array.fromAsync(
      account.sdk.vault.decryptMany({ user: 'u', passphrase: PASSPHRASE, items }),
    );
    expect(results.map((result) => ('data' in result ? result.data['place'] : result.code))).toEqual([
      ...[0, 1, 2, 3, 4],
      ...['invalid_request', 'invalid_request'],
    ]);
    expect(results[5]).toMatchObject({ field: 'items[5].token' });
  });

  test('stand for themselves: the text of one adds nothing to it, and no other item', async () => {
    for (const data of [
      '{"number":"1"},"ttl":"1h"',
      '{"number":"1"}},{"data":{"number":"2"}',
      '{"number"',
      '',
    ]) {
      const items = [{ data, reference: 'text' }];
      const stored = Array.fromAsync(
        account.sdk.vault.storeMany({ user: 'u', passphrase: PASSPHRASE, items }),
      );
      await expect(stored).rejects.toThrow('data is no JSON text.');
    }
    expect(await account.sdk.vault.eraseReference({ user: 'u', reference: 'text' })).toBe(0);
  });

  test('of no list, or of no key, are told so', async () => {
    const { storeMany } = account.sdk.vault;
    for (const items of [undefined, null, { data: {} }]) {
      const given = { user: 'u', passphrase: PASSPHRASE, items } as unknown as Parameters<
        typeof storeMany
      >[0];
      expect(() => storeMany(given)).toThrow('items is missing, or cannot be iterated over.');
    }
    const items = [{ data: { number: '1' } }];
    for (const [user, outcome] of [
      [undefined, { code: 'invalid_request', field: 'body.key' }],
      ['nobody', { code: 'key_not_found', field: 'body.user' }],
    ] as const) {
      const given = { user, passphrase: PASSPHRASE, items } as unknown as Parameters<typeof storeMany>[0];
      await expect(Array.fromAsync(storeMany(given))).rejects.toMatchObject(outcome);
    }
  });

  test('are deleted, and so are all of a reference', async () => {
    const [one = ''] = await store(1);
    const results = await Array.fromAsync(
      account.sdk.vault.deleteMany({ user: 'u', items: [{ token: one }, { token: one }] }),
    );
    expect(results.map((result) => ('deleted' in result ? result.deleted : result.code))).toEqual([
      true,
      'token_not_found',
    ]);
    await store(3, 'r');
    expect(await account.sdk.vault.eraseReference({ user: 'u', reference: 'r' })).toBe(3);
    expect(await account.sdk.vault.eraseReference({ user: 'u', reference: 'r' })).toBe(0);
  });

  test('of one deletion stay one, whatever else is given with it', async () => {
    await store(2, 'kept');
    const item = { user: 'u', reference: 'kept', all: true } as unknown as { user: string; token: string };
    await expect(account.sdk.vault.delete(item)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
