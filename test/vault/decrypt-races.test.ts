/**
 * Between the reading of an item and its log entry anything may happen. An entry names the log that its writer has read: it
 * never becomes part of another one, and without it nothing is shown.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { holdNext } from '../helpers/hold.ts';
import { openTestVault } from '../helpers/vault.ts';

const NUMBER = '4111111111111111';

const vault = await openTestVault();
const second = await vault.secondServer();
const client = await vault.account();
const there = client.via(second.handle);
await client.key('k');
afterAll(async () => {
  await second.close();
  await vault.close();
});

function read(token: string): Promise<Answer> {
  return client.send('GET', '/vault', { query: { user: 'k', token }, passphrase: PASSPHRASE });
}
function readAll(): Promise<Answer> {
  return client.send('GET', '/vault', { query: { user: 'k', decrypt_all: true }, passphrase: PASSPHRASE });
}
function store(): Promise<Answer> {
  const body = { number: NUMBER, last: true };
  return client.send('POST', '/vault', { query: { user: 'k' }, passphrase: PASSPHRASE, body });
}
/** What was done with an item; not what was refused. */
async function actionsOf(token: string): Promise<readonly string[]> {
  const log = await client.send('GET', '/vault/metadata', { query: { user: 'k', token } });
  expect(log.outcome).toBe('200');
  const entries = log.as<readonly { action: string; outcome: string }[]>();
  return entries.filter(({ outcome }) => outcome === 'ok').map(({ action }) => action);
}
/** An item whose log has some entries. */
async function newItem(): Promise<string> {
  const token = await client.store('k', { number: NUMBER, old: true });
  await read(token);
  await read(token);
  return token;
}
async function remove(token: string): Promise<void> {
  await there.send('DELETE', '/vault', { query: { user: 'k', token } });
}
/** The same token again, with a log of its own, which may be longer or shorter than the first one. */
async function storeAnew(token: string, readings: number): Promise<void> {
  await remove(token);
  await there.store('k', { number: NUMBER, fresh: true });
  for (let i = 0; i < readings; i++) {
    await there.open('k', token);
  }
}
/** Begins a request; `change` happens before a step of it. */
async function before(
  step: 'appendLog' | 'write',
  skip: number,
  request: () => Promise<Answer>,
  change: () => Promise<void>,
): Promise<Answer> {
  const held = holdNext(vault.opened.stores.itemStore, step, { skip });
  const answer = request();
  await held.reached;
  await change();
  held.release();
  return answer;
}

describe.each([0, 3])('an item that is deleted and stored anew, and read %p times', (readings) => {
  test('between a reading and its log entry is not shown as it was, and its log is its own', async () => {
    for (const reading of [read, readAll]) {
      const token = await newItem();
      const answer = await before(
        'appendLog',
        0,
        () => reading(token),
        () => storeAnew(token, readings),
      );
      expect(answer.text).not.toContain('old');
      expect(await actionsOf(token)).toEqual([...Array<string>(readings).fill('decrypt'), 'encrypt']);
      expect(await client.open('k', token)).toContain('fresh');
      expect(await actionsOf(token)).toHaveLength(readings + 2);
      await remove(token);
    }
  });

  test('between the two steps of a store that replaces it keeps a log that is whole', async () => {
    const token = await newItem();
    const { outcome } = await before('write', 1, store, () => storeAnew(token, readings));
    expect(outcome).toBe('200');
    expect(await client.open('k', token)).toContain('last');
    expect(await actionsOf(token)).toHaveLength(readings + 3);
    await remove(token);
  });
});

test('an item that is deleted while it is replaced begins its log anew', async () => {
  const token = await newItem();
  expect((await before('write', 1, store, () => remove(token))).outcome).toBe('200');
  expect(await actionsOf(token)).toEqual(['encrypt']);
  await remove(token);
});

test('entries that come between a reading and its own do not hold it up', async () => {
  const token = await newItem();
  const answer = await before(
    'appendLog',
    0,
    () => read(token),
    async () => {
      await there.open('k', token);
      await there.store('k', { number: NUMBER, fresh: true });
    },
  );
  expect(answer.text).toContain('old');
  expect(await actionsOf(token)).toEqual(['decrypt', 'encrypt', 'decrypt', 'decrypt', 'decrypt', 'encrypt']);
});

describe('an item whose log field has no tail, as the first version wrote it', () => {
  /** The same items as the first version wrote them. */
  async function oldItem(): Promise<{ readonly token: string; readonly name: string }> {
    const token = await newItem();
    const kid = await vault.kidOf(client, 'k');
    const name = redisKeys.item(vault.opened.stores.itemStore.bucketOf(kid, token), token);
    await vault.raw.hset(name, 'n', '3');
    return { token, name };
  }

  test('is not shown when it was deleted and stored anew between its reading and its log entry', async () => {
    for (const reading of [read, readAll]) {
      const { token } = await oldItem();
      const answer = await before(
        'appendLog',
        0,
        () => reading(token),
        () => storeAnew(token, 0),
      );
      expect(answer.text).not.toContain('old');
      const shown = answer.text.includes('fresh') ? ['decrypt'] : [];
      expect(await actionsOf(token)).toEqual([...shown, 'encrypt']);
      await remove(token);
    }
  });

  test('gets entries that name their predecessor, so that a removed one shows', async () => {
    for (const reading of [read, readAll]) {
      const { token, name } = await oldItem();
      expect((await reading(token)).text).toContain('old');
      // Removes the entry before the newest one.
      const newest = (await vault.raw.hgetBuffer(name, '4')) ?? Buffer.alloc(0);
      await vault.raw.hset(name, '3', newest, 'n', Buffer.concat([Buffer.from('3'), newest.subarray(-16)]));
      await vault.raw.hdel(name, '4');
      const log = await client.send('GET', '/vault/metadata', { query: { user: 'k', token } });
      expect(log.outcome).toBe('500 integrity_failed');
      await remove(token);
    }
  });

  test('is shown to all who read it at once', async () => {
    for (const reading of [read, readAll]) {
      const { token } = await oldItem();
      const answer = await before(
        'appendLog',
        0,
        () => reading(token),
        async () => {
          expect(await there.open('k', token)).toContain('old');
        },
      );
      expect(answer.text).toContain('old');
      expect(await actionsOf(token)).toHaveLength(5);
      await remove(token);
    }
  });
});

test('an item of a newer generation is not damaged for a server that knows an older one', async () => {
  const user = 'changed';
  const passphrase = `${PASSPHRASE} and more`;
  await client.key(user);
  await client.open(user, await client.store(user, { number: NUMBER }));
  const change = { user, passphrase: PASSPHRASE, new_passphrase: passphrase };
  expect((await there.send('PUT', '/key', { body: change })).status).toBe(200);
  const stored = { number: '5555555555554444' };
  const made = await there.send('POST', '/vault', { query: { user }, passphrase, body: stored });
  const { token } = made.as<{ token: string }>();
  const query = { user, token };
  const update = { query, passphrase: PASSPHRASE, body: { more: 1 } };
  // With the old passphrase, this server opens the key as it was.
  expect((await client.send('POST', '/vault/update', update)).outcome).toBe('403 passphrase_wrong');
  const answers = [PASSPHRASE, passphrase].map((given) =>
    client.send('GET', '/vault', { query, passphrase: given }),
  );
  expect((await Promise.all(answers)).map(({ outcome }) => outcome)).toEqual(['403 passphrase_wrong', '200']);
});
