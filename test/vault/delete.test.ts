import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { Cursors } from '../../server/core/cursors.ts';
import { actFor, createContext } from '../../server/request/context.ts';
import { ItemRemover } from '../../server/vault/remover.ts';
import { type Answer, PASSPHRASE, type Query, refusalOf } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { openTestVault } from '../helpers/vault.ts';

let numbers = 0;

const vault = await openTestVault({ alone: true });
const account = await vault.account();
await account.key('u');
const kid = await vault.kidOf(account, 'u');
afterAll(() => vault.close());

const CARD = { number: '4111111111111111', cvv: '123' };

function newItem(reference?: string): Promise<string> {
  numbers += 1;
  return account.store('u', { number: `${numbers}`, cvv: '737' }, { reference });
}
function newItems(count: number, reference: string): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => newItem(reference)));
}
function remove(query: Query, client = account): Promise<Answer> {
  return client.send('DELETE', '/vault/', { query: { user: 'u', ...query } });
}
async function traces(token: string): Promise<string[]> {
  return (await vault.raw.keys(`*${token}*`)).sort();
}
function erase(query: Query, client = account): Promise<Answer> {
  return remove({ all: true, ...query }, client);
}
async function erased(reference: string): Promise<number> {
  const answer = await erase({ reference });
  expect(answer.outcome).toBe('200');
  return answer.as<{ deleted: number }>().deleted;
}
async function listed(query: Query): Promise<string[]> {
  const answer = await account.send('GET', '/vault', { query: { user: 'u', limit: -1, ...query } });
  return (answer.as<Record<string, { token: string }[]>>()['u'] ?? []).map(({ token }) => token);
}
/** Members of the reference indexes of the key. */
async function indexed(): Promise<number> {
  const names = await vault.raw.keys(`{${kid}.*}r`);
  const counts = await Promise.all(names.map((name) => vault.raw.zcard(name)));
  return counts.reduce((sum, n) => sum + n, 0);
}

describe('deleting an item', () => {
  test('answers with a message, and the item is gone everywhere', async () => {
    const token = await account.store('u', CARD, { reference: 'gone' });
    expect(await traces(token)).toHaveLength(2);
    expect(Object.keys((await remove({ token, reference: 'gone' })).as<object>())).toEqual(['message']);
    const query = { user: 'u', token, reference: 'gone' };
    const after = await Promise.all([
      account.send('GET', '/vault', { query, passphrase: PASSPHRASE }),
      account.send('GET', '/vault', { query }),
      account.send('GET', '/vault/metadata', { query }),
      account.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body: {} }),
      remove(query),
    ]);
    expect(new Set(after.map(({ outcome }) => outcome))).toEqual(new Set(['404 token_not_found']));
    expect((await account.sdk.vault.list({ user: 'u', reference: 'gone' })).data).toEqual({ u: [] });
    expect(await traces(token)).toEqual([]);
  });

  test('works through the SDK, and needs no passphrase', async () => {
    const { token } = await account.sdk.vault.store({ user: 'u', data: CARD });
    expect(Object.keys(await account.sdk.vault.delete({ user: 'u', token }))).toEqual(['message']);
  });

  test('leaves all other items as they are', async () => {
    const [one, two] = [
      await account.store('u', CARD, { reference: 'a' }),
      await account.store('u', CARD, { reference: 'b' }),
    ];
    await remove({ token: one, reference: 'a' });
    expect(await account.open('u', two, { reference: 'b' })).toBe(JSON.stringify(CARD));
  });

  test('lets the same card be stored again, under the same token, with a new log', async () => {
    const token = await account.store('u', CARD, { reference: 'again' });
    await account.open('u', token, { reference: 'again' });
    await remove({ token, reference: 'again' });
    expect(await account.store('u', { ...CARD, cvv: '999' }, { reference: 'again' })).toBe(token);
    expect(await account.open('u', token, { reference: 'again' })).toContain('999');
    const { data } = await account.sdk.vault.log({ user: 'u', token, reference: 'again' });
    expect(data.map(({ action }) => action)).toEqual(['decrypt', 'encrypt']);
  });
});

describe('refusals leave the item', () => {
  let plain: string;
  let named: string;
  beforeAll(async () => {
    plain = await account.store('u', { number: '71' });
    named = await account.store('u', { number: '72' }, { reference: 'r' });
  });
  const left = async (): Promise<void> => {
    expect(await account.open('u', plain)).toBe('{"number":"71"}');
    expect(await account.open('u', named, { reference: 'r' })).toBe('{"number":"72"}');
  };

  test('without the reference of an item that has one', async () => {
    expect((await remove({ token: named })).outcome).toBe('400 reference_required');
    await left();
  });

  test('with a wrong reference, one too many, an unknown token, from another account: all the same', async () => {
    const stranger = await vault.account();
    await stranger.key('u');
    const answers = [
      await remove({ token: 'nothing' }),
      await remove({ token: named, reference: 's' }),
      await remove({ token: plain, reference: 'r' }),
      await remove({ token: plain }, stranger),
    ];
    for (const answer of answers) {
      expect(refusalOf(answer)).toEqual(refusalOf(answers[0] ?? answer));
    }
    expect(answers[0]?.outcome).toBe('404 token_not_found');
    await left();
  });

  test('with an unknown key, or without what is needed', async () => {
    expect((await remove({ token: plain, user: 'nobody' })).outcome).toBe('404 key_not_found');
    expect((await remove({})).field).toBe('query.token');
    expect((await account.send('DELETE', '/vault', { query: { token: plain } })).field).toBe('query.user');
    await left();
  });
});

describe('erasing a reference', () => {
  test('deletes all its items and nothing else, and leaves no trace but what tells that they were deleted', async () => {
    const before = await indexed();
    const gone = await newItems(40, 'customer-1');
    const others = [...(await newItems(3, 'customer-10')), await newItem('customer-'), await newItem()];
    expect(await erased('customer-1')).toBe(40);
    expect(await listed({ reference: 'customer-1' })).toEqual([]);
    const kept = await listed({});
    expect(others.every((token) => kept.includes(token))).toBe(true);
    expect(await indexed()).toBe(before + 4);
    for (const token of gone) {
      expect(await vault.raw.keys(`*${token}*`)).toEqual([]);
    }
    expect(await erased('customer-1')).toBe(0);
  });

  test('of an unknown reference deletes nothing; of an unknown key it is an error', async () => {
    expect(await erased('nobody')).toBe(0);
    expect((await erase({ user: 'nobody', reference: 'r' })).outcome).toBe('404 key_not_found');
  });

  test.each([
    [{}, 'query.reference'],
    [{ reference: 'r', token: 't' }, 'query.token'],
    [{ token: 't' }, 'query.token'],
    [{ reference: 'r', all: 'perhaps' }, 'query.all'],
    [{ reference: 'r', all: false }, 'query.token'],
    [{ token: 't', all: false, next_token: 'n' }, 'query.next_token'],
  ] as const)('is refused with %j', async (query, field) => {
    const answer = await erase(query);
    expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', field]);
  });

  test('counts each item, and is one entry of the security log', async () => {
    const other = await vault.account();
    await other.key('u');
    await Promise.all([1, 2, 3].map((n) => other.store('u', { number: `${n}` }, { reference: 'r' })));
    await erase({ reference: 'r' }, other);
    expect((await vault.usage(other))['delete']).toBe(3);
    const { data } = await other.sdk.audit.list({ limit: 10 });
    const entries = data.filter(({ action }) => action === 'item.delete');
    expect(entries.map(({ object, outcome }) => `${object} ${outcome}`)).toEqual(['items/u/3 success']);
  });

  test('leaves items of another reference whose encoding is the same', async () => {
    const mine = await newItem('collides-a');
    const other = await newItem('collides-b');
    // The index claims that the other item has the reference, as two references of one encoding would.
    const { itemStore } = vault.opened.stores;
    const bucket = itemStore.bucketOf(kid, other);
    const name = `{${kid}.${bucket.number}}r`;
    const prefixes = await vault.opened.crypto.encodeReference({
      aid: account.aid,
      reference: 'collides-a',
      exact: true,
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(other.length);
    const member = Buffer.concat([prefixes[0] ?? Buffer.of(), Buffer.from(other), length]);
    await vault.raw.zadd(name, 0, member);
    expect(await erased('collides-a')).toBe(1);
    expect(await account.open('u', other, { reference: 'collides-b' })).toContain('number');
    expect(await vault.raw.keys(`*${mine}*`)).toEqual([]);
    await vault.raw.zrem(name, member);
    await erased('collides-b');
  });

  test('goes page by page while there is more', async () => {
    await newItems(25, 'pages');
    const { crypto, roots, services, stores } = vault.opened;
    const { keyOpener: keys, limiter, metering, accounts } = services;
    const cursors = new Cursors(() => roots.cursorKeys());
    const small = new ItemRemover(stores.itemStore, crypto, limiter, keys, metering, cursors, Date.now, 10);
    const found = await accounts.lookUp(account.name);
    if (found === undefined) {
      throw new Error('the account is gone');
    }
    const ctx = actFor(createContext({ requestId: 'r', ip: '', userAgent: '', source: 'vault' }), found);
    const first = await small.erase(ctx, { user: 'u', reference: 'pages' });
    const second = await small.erase(ctx, { user: 'u', reference: 'pages', next_token: first.nextToken });
    const third = await small.erase(ctx, { user: 'u', reference: 'pages', next_token: second.nextToken });
    expect([first.deleted, second.deleted, third]).toEqual([10, 10, { deleted: 5 }]);
    const forged = await erase({ reference: 'others', next_token: first.nextToken });
    expect(forged.outcome).toBe('400 cursor_invalid');
  });
});

test('an erasure that fails in between goes on when it is repeated', async () => {
  await newItems(60, 'broken');
  const { itemStore } = vault.opened.stores;
  const remove = itemStore.remove.bind(itemStore);
  let calls = 0;
  const spy = spyOn(itemStore, 'remove').mockImplementation((bucket, items) => {
    calls += 1;
    return calls > 5 ? Promise.reject(new Error('the connection broke')) : remove(bucket, items);
  });
  const broken = await erase({ reference: 'broken' });
  spy.mockRestore();
  expect(broken.status).toBe(500);
  const left = (await listed({ reference: 'broken' })).length;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(60);
  expect(await erased('broken')).toBe(left);
});

describe('vault erase', () => {
  test('deletes the items of a reference and says so in both security logs', async () => {
    await newItems(7, 'by operator');
    const args = ['erase', '--account', account.name, '--key', 'u', '--reference', 'by operator'];
    const unconfirmed = await runCommand([...args, '--json'], { vault });
    expect(unconfirmed.code).toBe(2);
    expect(await listed({ reference: 'by operator' })).toHaveLength(7);
    const { code, out } = await runCommand([...args, '--yes', '--json'], { vault });
    expect([code, JSON.parse(out)]).toEqual([0, { user: 'u', deleted: 7 }]);
    expect(await listed({ reference: 'by operator' })).toEqual([]);
    const { data } = await account.sdk.audit.list({ action: 'item.delete', limit: 1 });
    expect(data[0]).toMatchObject({ actor: 'operator', object: 'items/u/7', outcome: 'success' });
  });

  test('without key or reference is a wrong command line, and of an unknown key an error', async () => {
    const base = ['erase', '--account', account.name, '--yes'];
    expect((await runCommand(base, { vault })).code).toBe(2);
    expect((await runCommand([...base, '--key', 'no', '--reference', 'r'], { vault })).code).toBe(1);
  });

  test('takes the key by its other name too, and refuses two different ones', async () => {
    await newItems(2, 'by another name');
    const base = ['erase', '--account', account.name, '--reference', 'by another name', '--yes', '--json'];
    const two = await runCommand([...base, '--key', 'u', '--user', 'v'], { vault });
    expect([two.code, two.err]).toEqual([2, '--key and --user have different values; give --key alone.\n']);
    const { code, out } = await runCommand([...base, '--user', 'u', '--key', 'u'], { vault });
    expect([code, JSON.parse(out)]).toEqual([0, { user: 'u', deleted: 2 }]);
    const help = await runCommand(['erase', '--help'], { vault });
    expect(help.out).toContain('--key NAME');
    expect(help.out).not.toContain('--user');
  });
});
