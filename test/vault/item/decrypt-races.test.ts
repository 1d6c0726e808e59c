/** A decryption reads an item in two commands, between which anything may happen. */
import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import type { RedisLink } from '../../../server/store/redis/client.ts';
import { type AccountClient, PASSPHRASE } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

let vault: TestVault;
let client: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ workers: 1 });
  client = await vault.account();
  await client.key('k');
});
afterAll(() => vault.close());

const spies: { mockRestore: () => void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) {
    spy.mockRestore();
  }
});

/** Runs `change` once, between the first read of a decryption and the second. */
function between(change: () => Promise<unknown>): { readonly ran: () => boolean } {
  const { redis } = vault.opened;
  const readEach: RedisLink['readEach'] = redis.readEach.bind(redis);
  let hasRun = false;
  spies.push(
    spyOn(redis, 'readEach').mockImplementation(async (commands) => {
      const first = await readEach(commands.slice(0, 1));
      if (!hasRun) {
        hasRun = true;
        await change();
      }
      return [...first, ...(await readEach(commands.slice(1)))];
    }),
  );
  return { ran: () => hasRun };
}

function read(token: string) {
  return client.send('GET', '/vault', { query: { user: 'k', token }, passphrase: PASSPHRASE });
}
function update(token: string, body: object) {
  return client.send('POST', '/vault/update', { query: { user: 'k', token }, passphrase: PASSPHRASE, body });
}
async function entriesOf(token: string): Promise<number> {
  const log = await client.send('GET', '/vault/metadata', { query: { user: 'k', token } });
  return log.as<readonly unknown[]>().length;
}

describe('between the two reads of a decryption', () => {
  test('an update of the codes is seen whole, never half', async () => {
    const token = await client.store('k', { number: '4111111111111111', cvv: '123' });
    const { ran } = between(() => update(token, { cvv: '999', more: 1 }));
    const answer = await read(token);
    expect(ran()).toBe(true);
    expect(answer.json).toEqual({ number: '4111111111111111', cvv: '999', more: 1 });
  });

  test('codes that an update takes away are not missed', async () => {
    const token = await client.store('k', { number: '5555555555554444', cvv: '123' });
    await read(token);
    const { ran } = between(() => client.store('k', { number: '5555555555554444', name: 'again' }));
    const answer = await read(token);
    expect(ran()).toBe(true);
    expect(answer.json).toEqual({ number: '5555555555554444', name: 'again' });
  });

  test('a deletion shows nothing', async () => {
    const token = await client.store('k', { number: '378282246310005', cvv: '1234' });
    const { ran } = between(() => client.send('DELETE', '/vault', { query: { user: 'k', token } }));
    expect((await read(token)).outcome).toBe('404 token_not_found');
    expect(ran()).toBe(true);
  });

  test('a new passphrase makes the old one wrong, also for what was read already', async () => {
    await client.key('changed');
    const token = await client.store('changed', { number: '6011111111111117', cvv: '123' });
    const query = { user: 'changed', token };
    await client.send('GET', '/vault', { query, passphrase: PASSPHRASE });
    const { ran } = between(() =>
      client.send('PUT', '/key', {
        body: { user: 'changed', passphrase: PASSPHRASE, new_passphrase: 'another passphrase, long enough' },
      }),
    );
    const answer = await client.send('GET', '/vault', { query, passphrase: PASSPHRASE });
    expect(ran()).toBe(true);
    expect(answer.outcome).toMatch(/passphrase_wrong$/);
    expect(answer.text).not.toContain('6011');
  });

  test('damage that stays is damage, and shows nothing', async () => {
    const token = await client.store('k', { number: '4242424242424242', cvv: '123' });
    const before = await entriesOf(token);
    const kid = await vault.kidOf(client, 'k');
    const [sad = ''] = await vault.raw.keys(`{${kid}.*}s${token}`);
    expect(sad).not.toBe('');
    const { ran } = between(() => vault.raw.set(sad, Buffer.from('forged')));
    expect((await read(token)).outcome).toBe('500 integrity_failed');
    expect(ran()).toBe(true);
    expect(await entriesOf(token)).toBe(before);
  });
});
