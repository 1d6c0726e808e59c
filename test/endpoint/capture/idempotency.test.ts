import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { VaultError } from '../../../server/core/errors.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../../helpers/clients.ts';
import { capture, createCapture, type MadeEndpoint, type Use } from '../../helpers/endpoints.ts';
import { failNext, holdNext } from '../../helpers/hold.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const START = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR = 3_600_000;
const CARD = { card_number: '4111111111111111' };

let clock = START;
let vault: TestVault;
let account: AccountClient;
let shop: MadeEndpoint;
let keys = 0;

beforeAll(async () => {
  vault = await openTestVault({ now: () => clock });
  account = await vault.account();
  await account.key('u');
  shop = await createCapture(account, 'u', { unique_id: 'shop', algorithm: 'uuid', ttl: '0' });
});
beforeEach(() => {
  clock = START;
});
afterAll(() => vault.close());

function freshKey(): string {
  keys += 1;
  return `key ${keys}`;
}
function post(idempotencyKey: string, use: Use = {}, endpoint = shop, at = vault): Promise<Answer> {
  return capture(at, endpoint, { body: CARD, ...use, idempotencyKey });
}
function isReplay({ headers }: Answer): boolean {
  return headers.get('idempotency-replayed') === 'true';
}
function tokenIn(answer: Answer): string {
  return answer.as<{ token: string }>().token;
}
async function items(user = 'u'): Promise<number> {
  return (await account.sdk.vault.list({ user, limit: -1 })).data[user]?.length ?? 0;
}

describe('a repeat', () => {
  test('gets the first reply, marked, and stores nothing', async () => {
    const key = freshKey();
    const before = await items();
    const first = await post(key);
    const again = await post(key);
    expect([first.outcome, isReplay(first)]).toEqual(['200', false]);
    expect([again.text, isReplay(again)]).toEqual([first.text, true]);
    expect(again.headers.get('access-control-allow-origin')).toBe('*');
    expect(again.headers.get('access-control-expose-headers')).toContain('Idempotency-Replayed');
    expect(Object.keys(again.as<object>()).sort()).toEqual(['reference', 'token', 'user']);
    expect(await items()).toBe(before + 1);
    const address = { user: 'u', token: tokenIn(first), reference: 'shop' };
    expect((await account.sdk.vault.log(address)).data).toHaveLength(1);
  });

  test('by another visitor and on another server is the same', async () => {
    const key = freshKey();
    const first = await post(key);
    const second = await vault.secondServer();
    try {
      const headers = {
        'user-agent': 'another browser',
        'content-type': 'text/plain',
        origin: 'https://x.test',
      };
      const again = await post(key, { headers }, shop, second);
      expect([again.text, isReplay(again)]).toEqual([first.text, true]);
    } finally {
      await second.close();
    }
  });

  test('of many at once stores once', async () => {
    const key = freshKey();
    const before = await items();
    const answers = await Promise.all(Array.from({ length: 12 }, () => post(key)));
    const stored = answers.filter(({ status }) => status === 200);
    expect(stored.filter((answer) => !isReplay(answer))).toHaveLength(1);
    expect(new Set(stored.map(({ text }) => text)).size).toBe(1);
    for (const { status, outcome } of answers) {
      expect(status === 200 ? '409 idempotency_conflict' : outcome).toBe('409 idempotency_conflict');
    }
    expect(await items()).toBe(before + 1);
  });

  test('while the first is in flight is a conflict', async () => {
    const key = freshKey();
    const held = holdNext(vault.opened.stores.itemStore, 'write');
    const first = post(key);
    await held.reached;
    expect((await post(key)).outcome).toBe('409 idempotency_conflict');
    held.release();
    const { text } = await first;
    const again = await post(key);
    expect([again.text, isReplay(again)]).toEqual([text, true]);
  });

  test('of one whose reply was lost is made again, under the same token', async () => {
    const key = freshKey();
    const before = await items();
    failNext(vault.opened.stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    const lost = await post(key);
    expect([lost.outcome, lost.headers.get('access-control-allow-origin')]).toEqual([
      '503 store_unavailable',
      '*',
    ]);
    expect(lost.headers.get('retry-after')).toMatch(/^\d+$/);
    const again = await post(key);
    expect(again.outcome).toBe('200');
    expect(await items()).toBe(before + 1);
    expect((await post(key)).text).toBe(again.text);
  });
});

describe('another request under the same key is a conflict', () => {
  const others: readonly (readonly [string, Use])[] = [
    ['another body', { body: { card_number: '4111111111111112' } }],
    ['the same in other white space', { body: ` ${JSON.stringify(CARD)}` }],
    ['a reference', { query: { reference: 'r' } }],
    ['the reference that it would have anyway', { query: { reference: 'shop' } }],
    ['an algorithm', { query: { algorithm: 'luhn' } }],
    ['a number in the query', { query: { number: '1' } }],
    ['card metadata', { query: { return_card_metadata: true } }],
    ['a form type', { query: { form_type: 'pcd' } }],
  ];
  test.each(others)('with %s', async (_, use) => {
    const key = freshKey();
    const first = await post(key);
    const answer = await post(key, use);
    expect(answer.outcome).toBe('409 idempotency_conflict');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect((await post(key)).text).toBe(first.text);
  });

  test('but not one that differs in what the vault does not look at', async () => {
    const key = freshKey();
    const first = await post(key);
    expect((await post(key, { query: { utm_source: 'mail' } })).text).toBe(first.text);
  });
});

describe('the scope is the endpoint', () => {
  test('one key at two endpoints is two stores', async () => {
    const other = await createCapture(account, 'u', { unique_id: 'other', algorithm: 'uuid', ttl: '0' });
    const key = freshKey();
    const use = { query: { reference: 'same' } };
    const [here, there] = [await post(key, use), await post(key, use, other)];
    expect([isReplay(here), isReplay(there)]).toEqual([false, false]);
    expect(tokenIn(there)).not.toBe(tokenIn(here));
    expect((await post(key, use)).text).toBe(here.text);
    expect((await post(key, use, other)).text).toBe(there.text);
  });

  test('and not the account: a store under the same key is another request', async () => {
    const key = freshKey();
    await post(key);
    const stored = await account.send('POST', '/vault', {
      query: { user: 'u', reference: 'shop', algorithm: 'uuid' },
      passphrase: PASSPHRASE,
      body: CARD,
      idempotencyKey: key,
    });
    expect([stored.outcome, isReplay(stored)]).toEqual(['200', false]);
  });

  test('an endpoint made anew under the same id is another one', async () => {
    const key = freshKey();
    const made = await createCapture(account, 'u', { unique_id: 'made-anew', algorithm: 'uuid' });
    const first = await post(key, {}, made);
    expect((await account.send('DELETE', '/capture/made-anew')).outcome).toBe('200');
    const anew = await createCapture(account, 'u', { unique_id: 'made-anew', algorithm: 'uuid' });
    const second = await post(key, {}, anew);
    expect([second.outcome, isReplay(second)]).toEqual(['200', false]);
    expect(tokenIn(second)).not.toBe(tokenIn(first));
    expect((await post(key, {}, made)).outcome).toBe('403 endpoint_refused');
  });
});

describe('the endpoint is asked first', () => {
  test('a wrong secret with a used key is refused, whatever the request', async () => {
    const key = freshKey();
    await post(key);
    for (const use of [{}, { body: { number: '1' } }, { body: '{' }]) {
      for (const secret of ['vcs1_wrong', undefined]) {
        const answer = await post(key, { ...use, secret });
        expect([answer.outcome, isReplay(answer)]).toEqual(['403 endpoint_refused', false]);
      }
    }
  });

  test('a repeat after the end of the endpoint is told so', async () => {
    const key = freshKey();
    const made = await createCapture(account, 'u', { ttl: '1h' });
    await post(key, {}, made);
    clock = START + HOUR;
    for (const use of [{}, { body: { number: '1' } }]) {
      expect((await post(key, use, made)).outcome).toBe('410 endpoint_gone');
    }
  });

  test('a repeat after a passphrase change too, and after a deletion it is unknown', async () => {
    await account.key('changes');
    const [stopped, deleted] = [await createCapture(account, 'changes'), await createCapture(account, 'u')];
    const key = freshKey();
    expect((await post(key, {}, stopped)).outcome).toBe('200');
    expect((await post(key, {}, deleted)).outcome).toBe('200');
    const change = { user: 'changes', passphrase: PASSPHRASE, new_passphrase: 'the passphrase after it' };
    expect((await account.send('PUT', '/key', { body: change })).outcome).toBe('200');
    expect((await account.send('DELETE', `/capture/${deleted.unique_id}`)).outcome).toBe('200');
    expect((await post(key, {}, stopped)).outcome).toBe('410 endpoint_gone');
    expect((await post(key, {}, deleted)).outcome).toBe('403 endpoint_refused');
  });
});

describe('a refused request is not remembered', () => {
  const refusals: readonly (readonly [string, Use, string])[] = [
    ['no number', { body: {} }, '400 number_missing'],
    ['no JSON', { body: '{' }, '400 invalid_json'],
    ['a wrong secret', { secret: 'vcs1_wrong' }, '403 endpoint_refused'],
    ['too much', { body: 'x'.repeat(262_145) }, '413 body_too_large'],
  ];
  test.each(refusals)('for %s', async (_, use, outcome) => {
    const key = freshKey();
    expect((await post(key, use)).outcome).toBe(outcome);
    expect((await post(key, use)).outcome).toBe(outcome);
    const better = await post(key);
    expect([better.outcome, isReplay(better)]).toEqual(['200', false]);
  });

  test('for a rule that is not there yet', async () => {
    const made = await createCapture(account, 'u', { rules: 'later' });
    const key = freshKey();
    expect((await post(key, {}, made)).outcome).toBe('404 rule_not_found');
    const operations = [{ name: 'noop', input_field: 'a', output_field: 'a', arguments: {} }];
    expect((await account.send('POST', '/rule', { query: { id: 'later' }, body: operations })).outcome).toBe(
      '200',
    );
    const better = await post(key, {}, made);
    expect([better.outcome, isReplay(better)]).toEqual(['200', false]);
  });
});

describe('what is kept of a repeatable request', () => {
  test('holds neither number nor secret nor reference in the clear', async () => {
    await post('canary-key-of-a-request', { query: { reference: 'canary-reference' } });
    const kept = await vault.raw.keys('{d:*');
    expect(kept.length).toBeGreaterThan(0);
    for (const name of kept) {
      const text = Object.values(await vault.raw.hgetallBuffer(name)).map((value) =>
        value.toString('latin1'),
      );
      for (const hidden of [CARD.card_number, 'canary', shop.secret, 'shop']) {
        expect(`${name} ${text.join(' ')}`).not.toContain(hidden);
      }
      expect(await vault.raw.pttl(name)).toBeLessThanOrEqual(86_400_000);
    }
  });
});
