import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Sending } from '../helpers/clients.ts';
import { failNext, holdNext } from '../helpers/hold.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const CARD = { number: '4111111111111111' };
const UUID = { query: { algorithm: 'uuid' } };

let vault: TestVault;
let account: AccountClient;
let keys = 0;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

function freshKey(): string {
  keys += 1;
  return `request ${keys}`;
}
function store(idempotencyKey: string, sending: Sending = {}, client = account): Promise<Answer> {
  return client.send('POST', '/vault', {
    passphrase: PASSPHRASE,
    body: CARD,
    ...sending,
    query: { user: 'u', ...sending.query },
    idempotencyKey,
  });
}
function isReplay({ headers }: Answer): boolean {
  return headers.get('idempotency-replayed') === 'true';
}
async function countItems(): Promise<number> {
  return (await account.sdk.vault.list({ user: 'u', limit: -1 })).data['u']?.length ?? 0;
}
async function logOf(token: string) {
  return (await account.sdk.vault.log({ user: 'u', token })).data;
}

describe('repeating a store', () => {
  test('gives the first reply again, marked, and does nothing more', async () => {
    const key = freshKey();
    const query = { algorithm: 'uuid', return_card_metadata: true };
    const first = await store(key, { query });
    expect([first.status, isReplay(first)]).toEqual([200, false]);
    for (let n = 0; n < 3; n++) {
      // With and without the trailing slash it is the same route.
      const path = n === 0 ? '/vault/' : '/vault';
      const sending = {
        query: { user: 'u', ...query },
        passphrase: PASSPHRASE,
        body: CARD,
        idempotencyKey: key,
      };
      const again = await account.send('POST', path, sending);
      expect([again.status, again.text, isReplay(again)]).toEqual([200, first.text, true]);
    }
    expect(await logOf(first.as<{ token: string }>().token)).toHaveLength(1);
  });

  test('many at once store once; who comes too early is told so', async () => {
    const key = freshKey();
    const before = await countItems();
    const answers = await Promise.all(Array.from({ length: 10 }, () => store(key, UUID)));
    const stored = answers.filter(({ status }) => status === 200);
    expect(stored.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(stored.map(({ text }) => text)).size).toBe(1);
    for (const { status, outcome } of answers) {
      if (status !== 200) {
        expect(outcome).toBe('409 idempotency_conflict');
      }
    }
    expect(await countItems()).toBe(before + 1);
  });

  test('while the first is still in flight is a conflict, afterwards its reply', async () => {
    const key = freshKey();
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const first = store(key, UUID);
    await held.reached;
    const early = await store(key, UUID);
    expect([early.outcome, early.headers.get('retry-after')]).toEqual(['409 idempotency_conflict', '1']);
    const other = await store(key, { query: { algorithm: 'luhn' } });
    expect([other.outcome, other.headers.get('retry-after')]).toEqual(['409 idempotency_conflict', null]);
    held.release();
    const { text } = await first;
    const again = await store(key, UUID);
    expect([again.text, isReplay(again)]).toEqual([text, true]);
  });

  test('on another server gives the same, at the same time too', async () => {
    const key = freshKey();
    const first = await store(key, UUID);
    const second = await vault.secondServer();
    try {
      const racing = freshKey();
      const clients = [account, account.via(second.handle)];
      const race = await Promise.all(
        Array.from({ length: 8 }, (_, n) => store(racing, UUID, clients[n % 2])),
      );
      const won = race.filter(({ status }) => status === 200);
      expect(won.filter((answer) => !isReplay(answer))).toHaveLength(1);
      expect(new Set(won.map(({ text }) => text)).size).toBe(1);
      const again = await store(key, UUID, account.via(second.handle));
      expect([again.text, isReplay(again)]).toEqual([first.text, true]);
    } finally {
      await second.close();
    }
  });

  test('after the item was deleted still gives the first reply, and stores nothing', async () => {
    const key = freshKey();
    const first = await store(key, { query: { reference: 'deleted' } });
    const { token } = first.as<{ token: string }>();
    await account.sdk.vault.delete({ user: 'u', token, reference: 'deleted' });
    expect((await store(key, { query: { reference: 'deleted' } })).text).toBe(first.text);
    expect((await account.sdk.vault.list({ user: 'u', reference: 'deleted' })).data).toEqual({ u: [] });
  });

  test('is kept for 24 hours', async () => {
    await store(freshKey());
    for (const name of await vault.raw.keys('{d:*')) {
      const ttl = await vault.raw.pttl(name);
      expect(ttl).toBeGreaterThan(86_400_000 - 60_000);
      expect(ttl).toBeLessThanOrEqual(86_400_000);
    }
  });

  test('the SDK repeats under a key of its own, so a lost reply stores once', async () => {
    let lose = true;
    const sdk = account.sdkWith({
      fetch: async (url, init) => {
        const response = await vault.handle(new Request(url, init));
        if (!lose) {
          return response;
        }
        lose = false;
        throw new TypeError('the connection broke');
      },
    });
    const before = await countItems();
    const { token } = await sdk.vault.store({ user: 'u', data: CARD, algorithm: 'uuid' });
    expect(await countItems()).toBe(before + 1);
    expect(await logOf(token)).toHaveLength(1);
  });
});

describe('another request under the same key is a conflict', () => {
  const others: readonly (readonly [string, Sending])[] = [
    ['another body', { body: { number: '4111111111111112' } }],
    ['the same body in other white space', { body: ` ${JSON.stringify(CARD)}` }],
    ['another algorithm', { query: { algorithm: 'luhn' } }],
    ['another key', { query: { user: 'other' } }],
  ];
  test.each(others)('with %s', async (_, sending) => {
    await account.key('other').catch(() => undefined);
    const key = freshKey();
    const first = await store(key);
    expect((await store(key, sending)).outcome).toBe('409 idempotency_conflict');
    expect((await store(key)).text).toBe(first.text);
  });

  test('but not one of another account, or of another route', async () => {
    const key = freshKey();
    const stranger = await vault.account();
    await stranger.key('u');
    const [mine, theirs] = [await store(key, UUID), await store(key, UUID, stranger)];
    expect([mine.status, theirs.status, isReplay(theirs)]).toEqual([200, 200, false]);
    expect(theirs.text).not.toBe(mine.text);
    const { token } = mine.as<{ token: string }>();
    const update = { query: { user: 'u', token }, passphrase: PASSPHRASE, body: CARD, idempotencyKey: key };
    expect((await account.send('POST', '/vault/update', update)).status).toBe(200);
    const create = { body: { user: 'by-the-way', passphrase: PASSPHRASE }, idempotencyKey: key };
    expect((await account.send('POST', '/key', create)).status).toBe(200);
  });
});

describe('the passphrase', () => {
  test('is checked before anything is told of earlier requests', async () => {
    const key = freshKey();
    await store(key);
    for (const sending of [{}, { body: { number: '1' } }]) {
      expect((await store(key, { ...sending, passphrase: 'not the passphrase' })).outcome).toBe(
        '403 passphrase_wrong',
      );
    }
  });

  test('is no part of the comparison: a repeat brings the one of its time, where it may', async () => {
    await account.key('changes');
    const key = freshKey();
    const first = await store(key, { query: { user: 'changes', algorithm: 'uuid' } });
    const change = { user: 'changes', passphrase: PASSPHRASE, new_passphrase: 'the new passphrase of it' };
    await account.send('PUT', '/key', { body: change });
    expect((await store(key, { query: { user: 'changes', algorithm: 'uuid' } })).outcome).toBe(
      '403 passphrase_wrong',
    );
    const again = await store(key, {
      query: { user: 'changes', algorithm: 'uuid' },
      passphrase: change.new_passphrase,
    });
    expect([again.text, isReplay(again)]).toEqual([first.text, true]);
    const target = `/vault?user=changes&algorithm=uuid&passphrase=${encodeURIComponent(change.new_passphrase)}`;
    const inQuery = await account.send('POST', target, { body: CARD, idempotencyKey: key });
    expect([inQuery.text, isReplay(inQuery)]).toEqual([first.text, true]);
  });
});

describe('a refused request is not remembered', () => {
  const refusals: readonly (readonly [string, Sending, string])[] = [
    ['no number', { body: {} }, '400 number_missing'],
    ['no such key', { query: { user: 'nobody' } }, '404 key_not_found'],
    ['a wrong passphrase', { passphrase: 'not the passphrase' }, '403 passphrase_wrong'],
  ];
  test.each(refusals)('for %s', async (_, sending, outcome) => {
    const key = freshKey();
    expect((await store(key, sending)).outcome).toBe(outcome);
    expect((await store(key, sending)).outcome).toBe(outcome);
    const better = await store(key);
    expect([better.status, isReplay(better)]).toEqual([200, false]);
  });

  test('one whose outcome is unknown may be made again, and is done once', async () => {
    const key = freshKey();
    const before = await countItems();
    // The item is written, the reply is not kept: what a crash between the two would leave.
    failNext(vault.opened.stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    expect((await store(key, UUID)).outcome).toBe('503 store_unavailable');
    const again = await store(key, UUID);
    expect(again.status).toBe(200);
    expect(await countItems()).toBe(before + 1);
    expect((await store(key, UUID)).text).toBe(again.text);
  });

  test('an update whose reply was lost is not made again over what somebody else wrote since', async () => {
    const token = await account.store('u', { ...CARD, step: 'stored', mark: 'keyed update' });
    const send = (): Promise<Answer> =>
      account.send('POST', '/vault/update', {
        query: { user: 'u', token },
        passphrase: PASSPHRASE,
        headers: { 'Idempotency-Key': 'lost-update' },
        body: JSON.stringify({ step: 'keyed' }),
      });
    failNext(vault.opened.stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    expect((await send()).outcome).toBe('503 store_unavailable');
    await account.sdk.vault.update({ user: 'u', token, data: { step: 'newer' } });
    expect((await send()).status).toBe(200);
    expect(JSON.parse(await account.open('u', token))).toMatchObject({ step: 'newer' });
  });

  test('one that was silent for too long may be taken over, and still there is one item', async () => {
    const key = freshKey();
    const before = await countItems();
    const known = new Set(await vault.raw.keys('{d:*'));
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const slow = store(key, UUID);
    await held.reached;
    const [name = ''] = (await vault.raw.keys('{d:*')).filter((found) => !known.has(found));
    await vault.raw.hset(name, 'u', Date.now() - 1);
    const quick = await store(key, UUID);
    expect([quick.status, isReplay(quick)]).toEqual([200, false]);
    held.release();
    const { status, text } = await slow;
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ token: quick.as<{ token: string }>().token });
    expect(await countItems()).toBe(before + 1);
    expect((await store(key, UUID)).text).toBe(quick.text);
  });
});

describe('updates', () => {
  const update = (
    idempotencyKey: string,
    token: string,
    body: object,
    passphrase = PASSPHRASE,
  ): Promise<Answer> =>
    account.send('POST', '/vault/update', { query: { user: 'u', token }, passphrase, body, idempotencyKey });

  test('are repeated without a second effect', async () => {
    const token = await account.store('u', { number: '500' });
    const key = freshKey();
    const first = await update(key, token, { a: 1 });
    await account.sdk.vault.update({ user: 'u', token, data: { a: 2 } });
    const again = await update(key, token, { a: 1 });
    expect([again.text, isReplay(again)]).toEqual([first.text, true]);
    expect(await account.open('u', token)).toBe('{"number":"500","a":2}');
    expect((await update(key, token, { a: 3 })).outcome).toBe('409 idempotency_conflict');
    expect((await update(key, token, { a: 1 }, 'not the passphrase')).outcome).toBe('403 passphrase_wrong');
  });
});

describe('keys', () => {
  const create = (idempotencyKey: string, body: object): Promise<Answer> =>
    account.send('POST', '/key', { body, idempotencyKey });

  test('are made once, and the repeat gets the first reply', async () => {
    const key = freshKey();
    const body = { user: 'once', passphrase: PASSPHRASE };
    const first = await create(key, body);
    expect(first.json).toEqual(body);
    const again = await create(key, body);
    expect([again.text, isReplay(again)]).toEqual([first.text, true]);
    expect((await create(freshKey(), body)).outcome).toBe('409 key_exists');
  });

  test('need their passphrase in the request: a generated one is never stored', async () => {
    const refused = await create(freshKey(), { user: 'generated' });
    expect(refused.outcome).toBe('400 idempotency_passphrase_required');
    expect((await account.sdk.keys.list()).data).not.toContainEqual({ user: 'generated' });
  });

  test('of another identifier are a conflict, and a wrong passphrase is refused', async () => {
    const key = freshKey();
    await create(key, { user: 'first', passphrase: PASSPHRASE });
    expect((await create(key, { user: 'second', passphrase: PASSPHRASE })).outcome).toBe(
      '409 idempotency_conflict',
    );
    expect((await create(key, { user: 'first', passphrase: 'not the passphrase' })).outcome).toBe(
      '403 passphrase_wrong',
    );
  });

  test('that were deleted since are missing, and are not made again', async () => {
    const key = freshKey();
    const body = { user: 'deleted', passphrase: PASSPHRASE };
    expect((await create(key, body)).status).toBe(200);
    await account.sdk.keys.delete({ user: 'deleted' });
    const again = await create(key, body);
    expect([again.outcome, again.field]).toEqual(['404 key_not_found', 'body.user']);
    expect((await account.sdk.keys.list()).data).not.toContainEqual({ user: 'deleted' });
    expect((await create(freshKey(), body)).status).toBe(200);
  });

  test('whose reply was lost half-way are finished by the repeat, once', async () => {
    const key = freshKey();
    const body = { user: 'half-way', passphrase: PASSPHRASE };
    failNext(vault.opened.stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    expect((await create(key, body)).outcome).toBe('503 store_unavailable');
    const token = await account.store('half-way', CARD);
    expect((await create(key, body)).json).toEqual(body);
    expect(await account.open('half-way', token)).toBe(JSON.stringify(CARD));
  });
});

describe('the key itself', () => {
  test.each(['x', 'a b', '!"#$%&~', 'x'.repeat(255)])('%p is taken', async (key) => {
    expect((await store(key)).status).toBe(200);
    expect(isReplay(await store(key))).toBe(true);
  });

  test.each(['', 'x'.repeat(256), 'a\tb', 'ümlaut', '\u007f'])('%p is refused', async (key) => {
    const refused = await store(key);
    expect(refused.outcome).toBe('400 invalid_request');
    expect(refused.field?.toLowerCase()).toBe('header.idempotency-key');
  });

  test('on a route that does not repeat is ignored', async () => {
    const sending = { idempotencyKey: freshKey() };
    expect((await account.send('GET', '/whoami', sending)).status).toBe(200);
    expect(isReplay(await account.send('GET', '/whoami', sending))).toBe(false);
  });
});
