import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { flip } from '../helpers/tampering.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { acceptedChanges, outcomeOf, REFUSED } from './copies.ts';

let vault: TestVault;
let account: AccountClient;

beforeAll(async () => {
  vault = await openTestVault({ authFailuresMax: 0 });
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function read(token: string, query: Query = {}): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user: 'u', token, ...query }, passphrase: PASSPHRASE });
}
interface StoredItem {
  readonly token: string;
  readonly text: string;
  /** Names in Redis. */
  readonly item: string;
  readonly sad: string;
  readonly times: string;
}
let numbers = 0;
async function newItem(reference?: string): Promise<StoredItem> {
  numbers += 1;
  const text = `{"number":"${numbers}","cvv":"123","holder":"Ada"}`;
  const token = await account.store('u', text, { reference });
  const place = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'u'), token);
  return {
    token,
    text,
    item: redisKeys.item(place, token),
    sad: redisKeys.sad(place, token),
    times: redisKeys.times(place),
  };
}
function log(token: string): Promise<Answer> {
  return account.send('GET', '/vault/metadata', { query: { user: 'u', token } });
}
async function fieldOf(item: StoredItem, field: string): Promise<Buffer> {
  return (await vault.raw.hgetBuffer(item.item, field)) ?? Buffer.alloc(0);
}

describe.each(['c', 'm'])('an item’s field %s', (field) => {
  test('that was changed in any way is refused, and serves again when it is put back', async () => {
    const item = await newItem();
    const original = await fieldOf(item, field);
    expect(
      await acceptedChanges(
        original,
        (bytes) => vault.raw.hset(item.item, field, bytes),
        () => read(item.token),
      ),
    ).toEqual([]);
    expect((await read(item.token)).text).toBe(item.text);
  });

  test('of another item, of a former version, or missing is refused', async () => {
    const [item, other] = [await newItem(), await newItem()];
    const former = await fieldOf(item, field);
    await account.sdk.vault.update({ user: 'u', token: item.token, data: { holder: 'Grace' } });
    for (const bytes of [former, await fieldOf(other, field)]) {
      await vault.raw.hset(item.item, field, bytes);
      expect((await read(item.token)).outcome).toBe(REFUSED);
    }
    await vault.raw.hdel(item.item, field);
    expect([REFUSED, '404 token_not_found']).toContain((await read(item.token)).outcome);
    expect((await read(other.token)).text).toBe(other.text);
  });

  test('that was changed is refused to updates, and never repaired by them', async () => {
    const item = await newItem();
    await vault.raw.hset(item.item, field, flip(await fieldOf(item, field), 40));
    const update = { query: { user: 'u', token: item.token }, passphrase: PASSPHRASE, body: { a: 1 } };
    expect((await account.send('POST', '/vault/update', update)).outcome).toBe(REFUSED);
    expect((await read(item.token)).outcome).toBe(REFUSED);
  });

  test('that was changed ends the decryption of all, and touches no other item alone', async () => {
    const [item, other] = [await newItem('all'), await newItem('all')];
    await vault.raw.hset(item.item, field, flip(await fieldOf(item, field), 40));
    const query = { user: 'u', decrypt_all: true, reference: 'all' };
    const outcome = await outcomeOf(account.send('GET', '/vault', { query, passphrase: PASSPHRASE }));
    expect(['broke off', REFUSED]).toContain(outcome);
    expect((await read(other.token, { reference: 'all' })).text).toBe(other.text);
    await account.sdk.vault.store({ user: 'u', data: item.text, reference: 'all' });
    expect((await read(item.token, { reference: 'all' })).text).toBe(item.text);
  });
});

describe('a whole item', () => {
  const copy = async (from: string, to: string): Promise<void> => {
    await vault.raw.restore(to, 0, (await vault.raw.dumpBuffer(from)) ?? '', 'REPLACE');
  };

  test('in the place of another is refused, both ways', async () => {
    const [one, two] = [await newItem(), await newItem()];
    await copy(one.item, '{spare}');
    for (const [from, to] of [
      [two.item, one.item],
      ['{spare}', two.item],
    ] as const) {
      await copy(from, to);
    }
    expect((await read(one.token)).outcome).toBe(REFUSED);
    expect((await read(two.token)).outcome).toBe(REFUSED);
    expect(
      (await account.send('GET', '/vault/metadata', { query: { user: 'u', token: one.token } })).outcome,
    ).toBe(REFUSED);
    await vault.raw.del('{spare}');
  });

  test('under another key of the account, or of another one, is refused', async () => {
    const item = await newItem();
    const stranger = await vault.account();
    for (const client of [account, stranger]) {
      await client.key('elsewhere');
      const place = vault.opened.stores.itemStore.bucketOf(
        await vault.kidOf(client, 'elsewhere'),
        item.token,
      );
      await copy(item.item, redisKeys.item(place, item.token));
      await copy(item.sad, redisKeys.sad(place, item.token));
      await vault.raw.zadd(redisKeys.times(place), Date.now(), item.token);
      const reading = { query: { user: 'elsewhere', token: item.token }, passphrase: PASSPHRASE };
      expect((await client.send('GET', '/vault', reading)).outcome).toBe(REFUSED);
    }
  });

  test('of another type is refused', async () => {
    for (const write of [
      (name: string) => vault.raw.set(name, 'text'),
      (name: string) => vault.raw.rpush(name, 'list'),
    ]) {
      const item = await newItem();
      await vault.raw.del(item.item);
      await write(item.item);
      expect((await read(item.token)).outcome).toBe(REFUSED);
      const query = { user: 'u', token: item.token };
      expect((await account.send('DELETE', '/vault', { query })).outcome).toBe(REFUSED);
    }
  });
});

describe('verification codes', () => {
  test('that were changed in any way are refused, with the item', async () => {
    const item = await newItem();
    const original = (await vault.raw.getBuffer(item.sad)) ?? Buffer.alloc(0);
    expect(
      await acceptedChanges(
        original,
        (bytes) => vault.raw.set(item.sad, bytes),
        () => read(item.token),
      ),
    ).toEqual([]);
    expect((await read(item.token)).text).toBe(item.text);
  });

  test('that are gone, of another item, of a former version or come from nowhere are refused', async () => {
    const [item, other] = [await newItem(), await newItem()];
    const [former, foreign] = await vault.raw.mgetBuffer(item.sad, other.sad);
    await account.sdk.vault.update({ user: 'u', token: item.token, data: { cvv: '456' } });
    for (const bytes of [former, foreign]) {
      await vault.raw.set(item.sad, bytes ?? '');
      expect((await read(item.token)).outcome).toBe(REFUSED);
    }
    await vault.raw.del(item.sad);
    expect((await read(item.token)).outcome).toBe(REFUSED);
    const plain = await account.store('u', { number: '123456' });
    const place = vault.opened.stores.itemStore.bucketOf(await vault.kidOf(account, 'u'), plain);
    await vault.raw.set(redisKeys.sad(place, plain), foreign ?? '');
    expect((await read(plain)).outcome).toBe(REFUSED);
  });
});

describe('the log', () => {
  test('with an entry that was changed in any way is refused', async () => {
    const item = await newItem();
    const original = await fieldOf(item, '1');
    expect(
      await acceptedChanges(
        original,
        (bytes) => vault.raw.hset(item.item, '1', bytes),
        () => log(item.token),
      ),
    ).toEqual([]);
    expect((await log(item.token)).outcome).toBe('200');
  });

  test('with an entry of another item, or with one missing, is refused', async () => {
    const [item, other] = [await newItem(), await newItem()];
    await read(item.token);
    await vault.raw.hset(item.item, '1', await fieldOf(other, '1'));
    expect((await log(item.token)).outcome).toBe(REFUSED);
    await vault.raw.hdel(item.item, '1');
    expect((await log(item.token)).outcome).toBe(REFUSED);
  });

  test.each(['x', '', '-1', '1.5', '99', '1e9', '9'.repeat(30)])(
    'with a length of %p shows nothing that is not there',
    async (length) => {
      const item = await newItem();
      await vault.raw.hset(item.item, 'n', length);
      const answers = [await log(item.token), await read(item.token)];
      for (const answer of answers) {
        expect([REFUSED, '200']).toContain(answer.outcome);
      }
      expect(answers[0]?.outcome).toBe(REFUSED);
      if (answers[1]?.status === 200) {
        expect(answers[1].text).toBe(item.text);
      }
    },
  );
});

describe('the length of the log, behind which its tail is', () => {
  beforeAll(async () => {
    // One without the damage of other tests.
    account = await vault.account();
    await account.key('u');
  });
  const readAll = (): Promise<Answer> =>
    account.send('GET', '/vault', { query: { user: 'u', decrypt_all: true }, passphrase: PASSPHRASE });
  const update = ({ token }: StoredItem): Promise<Answer> =>
    account.send('POST', '/vault/update', {
      ...{ query: { user: 'u', token }, passphrase: PASSPHRASE, body: { more: 1 } },
    });
  const storeAgain = ({ text }: StoredItem): Promise<Answer> =>
    account.send('POST', '/vault', { query: { user: 'u' }, passphrase: PASSPHRASE, body: text });

  test.each(['', 'x', '-1', '1.5', 'nan', 'inf', '4294967295', '9'.repeat(30)])(
    'and that is %p is refused by all who open, change or replace the item',
    async (length) => {
      const item = await newItem();
      const tail = (await fieldOf(item, 'n')).subarray(-16);
      await vault.raw.hset(item.item, 'n', Buffer.concat([Buffer.from(length), tail]));
      const outcomes = [update(item), storeAgain(item), readAll()].map(outcomeOf);
      for (const outcome of [...(await Promise.all(outcomes)), await outcomeOf(read(item.token))]) {
        expect([REFUSED, 'broke off']).toContain(outcome);
      }
      await vault.raw.hset(item.item, 'n', Buffer.concat([Buffer.from('1'), tail]));
      expect((await readAll()).text).toContain(item.token);
    },
  );

  test('and that is gone is missed by all who open or change the item', async () => {
    const item = await newItem();
    const whole = await fieldOf(item, 'n');
    await vault.raw.hdel(item.item, 'n');
    for (const reply of [read(item.token), update(item), readAll()]) {
      expect([REFUSED, 'broke off']).toContain(await outcomeOf(reply));
    }
    await vault.raw.hset(item.item, 'n', whole);
  });

  test('and that says another log than there is shows in the log', async () => {
    const wrong: readonly ((whole: Buffer) => Uint8Array)[] = [
      (whole) => Buffer.concat([Buffer.from('7'), whole.subarray(-16)]),
      (whole) => Buffer.concat([Buffer.from('1'), whole.subarray(-16)]),
      (whole) => flip(whole, whole.length - 1),
    ];
    for (const change of wrong) {
      const item = await newItem();
      await read(item.token);
      await vault.raw.hset(item.item, 'n', Buffer.from(change(await fieldOf(item, 'n'))));
      await read(item.token);
      expect((await log(item.token)).outcome).toBe(REFUSED);
    }
  });
});

describe('indexes', () => {
  test('without the item’s time it is not listed, and opens as itself or not at all', async () => {
    const item = await newItem();
    await vault.raw.zrem(item.times, item.token);
    const answer = await read(item.token);
    expect(['200', REFUSED, '404 token_not_found']).toContain(answer.outcome);
    expect(answer.status === 200 ? answer.text : item.text).toBe(item.text);
    expect((await account.send('GET', '/vault')).text).not.toContain(item.token);
  });

  test('with tokens that nobody stored list nothing of them', async () => {
    await account.key('forged');
    const place = { kid: await vault.kidOf(account, 'forged'), number: 3 };
    await vault.raw.zadd(redisKeys.times(place), 1, 'forged token');
    for (const sending of [{}, { query: { decrypt_all: true }, passphrase: PASSPHRASE }]) {
      const listed = await account.send('GET', '/vault?user=forged', sending);
      expect(listed.text).toBe('{"forged":[]}');
    }
  });

  test('of references that point to other items show none that does not have the reference', async () => {
    await account.key('refs');
    const plain = await account.store('refs', { number: '1' });
    const named = await account.store('refs', { number: '2' }, { reference: 'mine' });
    const kid = await vault.kidOf(account, 'refs');
    const place = vault.opened.stores.itemStore.bucketOf(kid, named);
    const [member = Buffer.alloc(0)] = await vault.raw.zrangeBuffer(redisKeys.references(place), '0', '-1');
    const forged = Buffer.concat([
      member.subarray(0, member.length - 66),
      Buffer.from(plain),
      Buffer.of(0, 64),
    ]);
    await vault.raw.zadd(
      redisKeys.references(vault.opened.stores.itemStore.bucketOf(kid, plain)),
      '0',
      forged,
    );
    const listed = await account.sdk.vault.list({ user: 'refs', reference: 'mine' });
    expect(listed.data['refs']?.map(({ token }) => token)).toEqual([named]);
  });
});

describe('after all that', () => {
  test('the server is alive and all threads work', async () => {
    const item = await newItem();
    expect((await read(item.token)).text).toBe(item.text);
    expect(vault.opened.pool.stats().threadsAlive).toBe(1);
    expect(vault.lines.filter(({ event }) => event === 'unexpected_error')).toEqual([]);
  });
});
