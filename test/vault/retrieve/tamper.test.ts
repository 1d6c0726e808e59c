import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../../server/store/redis/keys.ts';
import { type AccountClient, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { createCapture, createRetrieve, type MadeEndpoint, retrieve } from '../../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { changesOf } from '../tampering.ts';

const SECRET_NUMBER = '4242424242424242';

let now = Date.UTC(2026, 1, 1);
let vault: TestVault;
let account: AccountClient;
let token: string;

beforeAll(async () => {
  vault = await openTestVault({ now: () => now });
  account = await vault.account();
  await Promise.all([account.key('u'), account.key('v')]);
  token = await account.store('u', { number: SECRET_NUMBER, holder: 'Ada Lovelace' });
  await account.store('u', { number: '1' });
});
afterAll(() => vault.close());

function place({ unique_id }: Pick<MadeEndpoint, 'unique_id'>): string {
  return redisKeys.endpoint(unique_id);
}
async function fieldOf(endpoint: MadeEndpoint, field: string): Promise<Buffer> {
  return (await vault.raw.hgetBuffer(place(endpoint), field)) ?? Buffer.alloc(0);
}
function put(endpoint: MadeEndpoint, field: string, value: string | Buffer): Promise<unknown> {
  return vault.raw.hset(place(endpoint), field, value);
}

/** What one use of an endpoint ends with, on a server that knows nothing of it yet. */
async function outcomeOf(endpoint: MadeEndpoint, query: Query = { token }): Promise<string> {
  // What the server remembers of endpoints it forgets after a minute.
  now += 61_000;
  return retrieve(vault, endpoint, { query }).then(
    ({ outcome, text }) => {
      expect(outcome === '200' || !text.includes(SECRET_NUMBER)).toBe(true);
      return outcome;
    },
    () => 'broke off',
  );
}

/** A tampered endpoint may refuse as one whose records are spoilt, or as one that does not know the secret. */
const REFUSALS = ['500 integrity_failed', '403 endpoint_refused'];

describe.each([
  ['policy', 'p'],
  ['wrap', 'w'],
])('the %s of an endpoint', (_, field) => {
  test('that was changed in any way opens nothing, and serves again when it is put back', async () => {
    const endpoint = await createRetrieve(account, 'u', { ttl: '0' });
    const original = await fieldOf(endpoint, field);
    const wrong: string[] = [];
    for (const [change, bytes] of changesOf(original, 5)) {
      await put(endpoint, field, bytes);
      const outcome = await outcomeOf(endpoint);
      if (!REFUSALS.includes(outcome)) {
        wrong.push(`${change}: ${outcome}`);
      }
    }
    expect(wrong).toEqual([]);
    await put(endpoint, field, original);
    expect(await outcomeOf(endpoint)).toBe('200');
  });

  test('that was changed opens no tree either', async () => {
    const endpoint = await createRetrieve(account, 'u', { ttl: '0' });
    const original = await fieldOf(endpoint, field);
    for (const [, bytes] of changesOf(original, 40)) {
      await put(endpoint, field, bytes);
      expect([...REFUSALS, 'broke off']).toContain(await outcomeOf(endpoint, { decrypt_all: true }));
    }
  });

  test('of another endpoint, wider, longer, of another key, kind or account, opens nothing', async () => {
    const other = await vault.account();
    await other.key('u');
    const narrow = await createRetrieve(account, 'u', { token, ttl: '1h', mask_fields: 'holder' });
    const donors = [
      await createRetrieve(account, 'u', { ttl: '0' }),
      await createRetrieve(account, 'v', { ttl: '0' }),
      await createRetrieve(other, 'u', { ttl: '0' }),
      await createCapture(account, 'u', { ttl: '0' }),
    ];
    for (const donor of donors) {
      await put(narrow, field, await fieldOf(donor, field));
      expect(REFUSALS).toContain(await outcomeOf(narrow));
      expect(REFUSALS).toContain(await outcomeOf({ ...narrow, secret: donor.secret }));
    }
  });
});

describe('a whole endpoint', () => {
  const copy = async (from: MadeEndpoint, to: MadeEndpoint): Promise<void> => {
    await vault.raw.restore(place(to), 0, await vault.raw.dumpBuffer(place(from)), 'REPLACE');
  };

  test('under another id opens with neither secret', async () => {
    const [wide, narrow] = [
      await createRetrieve(account, 'u', { ttl: '0' }),
      await createRetrieve(account, 'u', { token: 'another' }),
    ];
    await copy(wide, narrow);
    expect(REFUSALS).toContain(await outcomeOf(narrow));
    expect(REFUSALS).toContain(await outcomeOf({ ...narrow, secret: wide.secret }));
    expect(await outcomeOf(wide)).toBe('200');
  });

  test('that was put back after its deletion is one of an older time, and reads no other account’s data', async () => {
    const other = await vault.account();
    await other.key('u');
    const endpoint = await createRetrieve(account, 'u', { ttl: '0' });
    await put(endpoint, 'a', other.aid);
    expect(REFUSALS).toContain(await outcomeOf(endpoint));
  });

  test('that was stopped stays so when its wrap is put back: the key has moved on', async () => {
    await account.key('moved');
    await account.store('moved', { number: SECRET_NUMBER });
    const endpoint = await createRetrieve(account, 'moved', { ttl: '0' });
    const kept = await vault.raw.dumpBuffer(place(endpoint));
    const change = { user: 'moved', passphrase: PASSPHRASE, new_passphrase: `${PASSPHRASE} 2` };
    expect((await account.send('PUT', '/key', { body: change })).outcome).toBe('200');
    await vault.raw.restore(place(endpoint), 0, kept, 'REPLACE');
    for (const query of [{}, { decrypt_all: true }, { token: 'x' }]) {
      expect(['410 endpoint_gone', '404 token_not_found']).toContain(await outcomeOf(endpoint, query));
    }
  });

  test('whose generation or nonce was rewritten shows nothing more', async () => {
    const endpoint = await createRetrieve(account, 'u', { token: 'another', ttl: '0' });
    for (const [field, value] of [
      ['g', '7'],
      ['g', ''],
      ['n', 'x'],
      ['x', '1'],
    ] as const) {
      await put(endpoint, field, value);
      expect(await outcomeOf(endpoint)).toBe('403 endpoint_out_of_scope');
    }
  });

  test('of another type in its place is refused', async () => {
    const endpoint = await createRetrieve(account, 'u', { ttl: '0' });
    await vault.raw.del(place(endpoint));
    await vault.raw.set(place(endpoint), 'a text');
    expect([...REFUSALS, '503 store_unavailable']).toContain(await outcomeOf(endpoint));
    await vault.raw.del(place(endpoint));
    await vault.raw.hset(place(endpoint), 'n', 'a reservation');
    expect(await outcomeOf(endpoint)).toBe('403 endpoint_refused');
  });
});

describe('the list of endpoints', () => {
  test('refuses to show an endpoint whose policy was changed', async () => {
    const client = await vault.account();
    await client.key('u');
    const endpoint = await createRetrieve(client, 'u');
    const original = await fieldOf(endpoint, 'p');
    await put(endpoint, 'p', changesOf(original, 9)[3]?.[1] ?? '');
    expect((await client.send('GET', '/retrieve')).outcome).toBe('500 integrity_failed');
    await put(endpoint, 'p', original);
    expect((await client.send('GET', '/retrieve')).outcome).toBe('200');
  });

  test('after all that every thread is alive, and nothing was unexpected', () => {
    expect(vault.opened.pool.stats().threadsAlive).toBe(1);
    expect(vault.lines.filter(({ event }) => event === 'unexpected_error')).toEqual([]);
  });
});
