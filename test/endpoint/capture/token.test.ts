/** A capture endpoint for one item: what is sent is merged into it, unread, and opens with it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { runCommand } from '../../helpers/command.ts';
import {
  capture,
  createCapture,
  createRetrieve,
  type MadeEndpoint,
  retrieve,
} from '../../helpers/endpoints.ts';
import { changesOf } from '../../helpers/tampering.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const TTL_MS = 60_000;
const CARD = { card_number: '4111111111111111', holder: 'Ada' };

let vault: TestVault;
let account: AccountClient;
let ahead = 0;
let made = 0;

beforeAll(async () => {
  vault = await openTestVault({ sadTtlMs: TTL_MS, now: () => Date.now() + ahead });
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

interface Item {
  readonly token: string;
  readonly reference: string;
  readonly endpoint: MadeEndpoint;
}

/** An item of its own, and an endpoint for it. */
async function item(body: object = CARD, query: Query = {}): Promise<Item> {
  made += 1;
  const reference = `item ${made}`;
  const token = await account.store('u', body, { reference });
  return { token, reference, endpoint: await createCapture(account, 'u', { token, reference, ...query }) };
}

function send({ endpoint }: Item, body: unknown, query: Query = {}): Promise<Answer> {
  return capture(vault, endpoint, { body, query });
}

async function opened({ token, reference }: Omit<Item, 'endpoint'>): Promise<unknown> {
  return JSON.parse(await account.open('u', token, { reference }));
}

/** The name of the item in Redis. */
async function nameOf({ token }: Item): Promise<string> {
  const [name = ''] = await vault.raw.keys(`*}i${token}`);
  return name;
}

function update({ token, reference }: Item, data: object): Promise<Answer> {
  return account.send('POST', '/vault/update', {
    query: { user: 'u', token, reference },
    passphrase: PASSPHRASE,
    body: data,
  });
}

async function withClock(ms: number, act: () => Promise<void>): Promise<void> {
  ahead = ms;
  try {
    await act();
  } finally {
    ahead = 0;
  }
}

describe('what is sent', () => {
  test('is merged into the item, and needs no number', async () => {
    const one = await item();
    const answer = await send(one, { cvv: '737', floor: 2 });
    expect([answer.outcome, answer.json]).toEqual([
      '200',
      { token: one.token, user: 'u', reference: one.reference },
    ]);
    expect(await opened(one)).toEqual({ ...CARD, cvv: '737', floor: 2 });
    expect((await send(one, { holder: { first: 'Grace' } })).outcome).toBe('200');
    expect(await opened(one)).toEqual({ ...CARD, cvv: '737', floor: 2, holder: { first: 'Grace' } });
  });

  test('moves the item in time order, and is one entry of its log, of the endpoint', async () => {
    const one = await item();
    const { token, reference } = one;
    const times = (await nameOf(one)).replace(/}i.*/, '}t');
    const storedAt = async () => Number(await vault.raw.zscore(times, token));
    const before = await storedAt();
    await send(one, { cvv: '737' });
    expect(await storedAt()).toBeGreaterThan(before);
    const log = await account.send('GET', '/vault/metadata', { query: { user: 'u', token, reference } });
    const [newest] = log.as<readonly Record<string, string>[]>();
    expect(newest).toMatchObject({
      ...{ action: 'encrypt', source: 'capture', outcome: 'ok', endpoint: one.endpoint.unique_id },
    });
    expect(log.as<unknown[]>()).toHaveLength(2);
  });

  test('is seen by every reader, and lies nowhere readable', async () => {
    const one = await item();
    await send(one, { note: 'only for readers', cvv: '9931' });
    const expected = { ...CARD, note: 'only for readers', cvv: '9931' };
    const endpoint = await createRetrieve(account, 'u', { token: one.token, reference: one.reference });
    expect((await retrieve(vault, endpoint, { query: { token: one.token } })).json).toEqual(expected);
    for await (const found of account.sdk.vault.decryptAll({ user: 'u', reference: one.reference })) {
      expect(found.data).toEqual(expected);
    }
    const all = await vault.raw.hgetallBuffer(await nameOf(one));
    expect(Object.values(all).some((value) => value.includes('only for readers'))).toBe(false);
  });

  test('goes through the rules of the endpoint', async () => {
    const rule = [
      { name: 'substr', input_field: 'cvv', output_field: 'cvv', arguments: { start: 0, end: 3 } },
    ];
    await account.send('POST', '/rule', { query: { id: 'three' }, body: rule });
    const one = await item(CARD, { rules: 'three' });
    expect((await send(one, { cvv: '73799' })).outcome).toBe('200');
    expect(await opened(one)).toMatchObject({ cvv: '737' });
  });

  test('counts once where the request is repeated with its key', async () => {
    const one = await item();
    const use = { body: { floor: 1 }, idempotencyKey: 'k1' };
    const first = await capture(vault, one.endpoint, use);
    await update(one, { floor: 2 });
    const again = await capture(vault, one.endpoint, use);
    expect([again.outcome, again.text]).toEqual(['200', first.text]);
    expect(await opened(one)).toMatchObject({ floor: 2 });
  });
});

describe('a number', () => {
  const facts = { last_four: '4444', card_type: 'mastercard' };
  const algorithms = ['full', 'luhn', 'partial_8_start', 'partial_12_end', 'partial_middle_6_4'];

  test.each(algorithms)('that is the one of a %s token is taken, and left out', async (algorithm) => {
    made += 1;
    const reference = `item ${made}`;
    const token = await account.store('u', CARD, { reference, algorithm });
    const endpoint = await createCapture(account, 'u', { token, reference });
    const one = { token, reference, endpoint };
    for (const card_number of [CARD.card_number, '4111 1111 1111 1111']) {
      expect((await send(one, { card_number, floor: 1 })).outcome).toBe('200');
    }
    expect(await opened(one)).toEqual({ ...CARD, floor: 1 });
    const answer = await send(one, { card_number: '5555555555554444', ...facts });
    expect([answer.outcome, answer.field]).toEqual(['400 number_invalid', 'body']);
    expect(await opened(one)).toEqual({ ...CARD, floor: 1 });
  });

  test('that is another is refused under every name', async () => {
    const one = await item();
    for (const name of ['card_number', 'account_number', 'n', 'number']) {
      const body = { card_number: CARD.card_number, ...facts, [name]: '5555555555554444' };
      expect((await send(one, body)).outcome).toBe('400 number_invalid');
    }
    expect(await opened(one)).toEqual(CARD);
  });

  test('fits no random token', async () => {
    const token = await account.store('u', CARD, { reference: 'random', algorithm: 'uuid' });
    const endpoint = await createCapture(account, 'u', { token, reference: 'random' });
    const one = { token, reference: 'random', endpoint };
    expect((await send(one, CARD)).outcome).toBe('400 number_invalid');
    expect((await send(one, { floor: 1 })).outcome).toBe('200');
  });

  test('is a guess: many wrong ones lock the source for right ones too, and for nothing else', async () => {
    const guarded = await openTestVault({ authFailuresMax: 3 });
    try {
      const owner = await guarded.account();
      await owner.key('u');
      const token = await owner.store('u', CARD);
      const endpoint = await createCapture(owner, 'u', { token });
      const outcome = async (body: object) => (await capture(guarded, endpoint, { body })).outcome;
      const wrong = { card_number: '5555555555554444' };
      expect(await outcome(CARD)).toBe('200');
      for (let n = 0; n < 3; n++) {
        expect(await outcome(wrong)).toBe('400 number_invalid');
      }
      expect(await outcome(wrong)).toBe('429 too_many_failures');
      expect(await outcome(CARD)).toBe('429 too_many_failures');
      expect(await outcome({ floor: 1 })).toBe('200');
    } finally {
      await guarded.close();
    }
  });
});

describe('changes that wait', () => {
  test('are merged by an update, and dropped when the item is stored anew', async () => {
    const one = await item();
    const unpatched = (await vault.raw.hgetBuffer(await nameOf(one), 'c'))?.length ?? 0;
    await send(one, { cvv: '737', floor: 1 });
    expect((await vault.raw.hgetBuffer(await nameOf(one), 'c'))?.length).toBeGreaterThan(unpatched);
    expect((await update(one, { door: 'left' })).outcome).toBe('200');
    expect((await vault.raw.hgetBuffer(await nameOf(one), 'c'))?.length).toBe(unpatched);
    const merged = { ...CARD, cvv: '737', floor: 1, door: 'left' };
    expect(await opened(one)).toEqual(merged);
    await send(one, { floor: 2 });
    expect(await opened(one)).toEqual({ ...merged, floor: 2 });
    await account.store('u', CARD, { reference: one.reference });
    expect(await opened(one)).toEqual(CARD);
  });

  test('of the same members take the place of each other', async () => {
    const one = await item();
    await send(one, { cvv: '1', floor: 1 });
    const [size, sadName] = [await vault.raw.hstrlen(await nameOf(one), 'c'), `*}s${one.token}`];
    const sad = await vault.raw.strlen((await vault.raw.keys(sadName))[0] ?? '');
    for (let n = 0; n < 40; n++) {
      expect((await send(one, { floor: n, cvv: `${n}` })).outcome).toBe('200');
    }
    expect(await vault.raw.hstrlen(await nameOf(one), 'c')).toBe(size);
    expect(await vault.raw.strlen((await vault.raw.keys(sadName))[0] ?? '')).toBe(sad);
    expect(await opened(one)).toEqual({ ...CARD, cvv: '39', floor: 39 });
  });

  test('of other members are 32 at most, until the owner merges them', async () => {
    const one = await item();
    for (let n = 1; n <= 32; n++) {
      expect((await send(one, { [`m${n}`]: n })).outcome).toBe('200');
    }
    const before = await opened(one);
    expect((await send(one, { m33: 33 })).outcome).toBe('409 patches_full');
    expect((await send(one, { m5: 'again' })).outcome).toBe('200');
    expect(await opened(one)).toEqual({ ...Object(before), m5: 'again' });
    await update(one, {});
    expect((await send(one, { m33: 33 })).outcome).toBe('200');
    expect(await opened(one)).toEqual({ ...Object(before), m5: 'again', m33: 33 });
  });

  test('are no longer, together with the item, than an item may be', async () => {
    const one = await item();
    const long = 'x'.repeat(131_000);
    expect((await send(one, { a: long })).outcome).toBe('200');
    expect((await send(one, { b: long })).outcome).toBe('413 body_too_large');
    expect((await update(one, { c: 1 })).outcome).toBe('200');
    expect(await opened(one)).toEqual({ ...CARD, a: long, c: 1 });
  });

  test('of one instant are all there, between updates too', async () => {
    const one = await item();
    const numbers = Array.from({ length: 12 }, (_, n) => n);
    const answers = await Promise.all(
      numbers.map((n) => (n % 4 === 3 ? update(one, { [`m${n}`]: n }) : send(one, { [`m${n}`]: n }))),
    );
    expect(answers.map(({ outcome }) => outcome)).toEqual(numbers.map(() => '200'));
    expect(await opened(one)).toEqual({ ...CARD, ...Object.fromEntries(numbers.map((n) => [`m${n}`, n])) });
  });

  test('open under the next generations of the key, which end the endpoint', async () => {
    const owner = await vault.account();
    await owner.key('g');
    const token = await owner.store('g', CARD);
    const first = await createCapture(owner, 'g', { token });
    await capture(vault, first, { body: { a: 1 } });
    await owner.sdk.keys.changePassphrase({
      user: 'g',
      passphrase: PASSPHRASE,
      new_passphrase: `${PASSPHRASE}!`,
    });
    expect((await capture(vault, first, { body: { a: 2 } })).outcome).toBe('410 endpoint_gone');
    const second = await createCapture(owner, 'g', { token }, `${PASSPHRASE}!`);
    expect((await capture(vault, second, { body: { b: 2 } })).outcome).toBe('200');
    const query = { user: 'g', token };
    const answer = await owner.send('GET', '/vault/', { query, passphrase: `${PASSPHRASE}!` });
    expect(answer.json).toEqual({ ...CARD, a: 1, b: 2 });
  });
});

describe('a verification code', () => {
  test('is kept for its own time where none was left, also when it is sent again', async () => {
    const one = await item({ ...CARD, cvv: '111' });
    await withClock(TTL_MS + 1, async () => {
      expect(await opened(one)).toEqual(CARD);
      await send(one, { cvv: '737' });
      expect(await opened(one)).toEqual({ ...CARD, cvv: '737' });
    });
    await withClock(1.5 * TTL_MS, async () => {
      await send(one, { cvv: '738' });
    });
    await withClock(2.4 * TTL_MS, async () => {
      expect(await opened(one)).toEqual({ ...CARD, cvv: '738' });
    });
    await withClock(2.6 * TTL_MS, async () => {
      expect(await opened(one)).toEqual(CARD);
    });
  });

  test('does not prolong the time of one that was there', async () => {
    const one = await item({ ...CARD, pin: '0000' });
    await withClock(TTL_MS / 2, async () => {
      await send(one, { cvv: '737' });
      expect(await opened(one)).toEqual({ ...CARD, pin: '0000', cvv: '737' });
      await send(one, { floor: 1 });
      expect(await opened(one)).toEqual({ ...CARD, pin: '0000', cvv: '737', floor: 1 });
    });
    await withClock(TTL_MS + 1, async () => {
      expect(await opened(one)).toEqual({ ...CARD, floor: 1 });
    });
  });
});

describe('what does not fit', () => {
  test('is refused when the endpoint is made', async () => {
    const one = await item();
    const { token, reference } = one;
    const make = async (query: Query) => {
      const answer = await account.send('POST', '/capture', {
        query: { user: 'u', ...query },
        passphrase: PASSPHRASE,
      });
      return [answer.outcome, answer.field];
    };
    expect(await make({ token: 'nothing' })).toEqual(['404 token_not_found', undefined]);
    expect(await make({ token, reference: 'another' })).toEqual(['404 token_not_found', undefined]);
    expect(await make({ token })).toEqual(['400 reference_required', undefined]);
    expect(await make({ token, reference, algorithm: 'luhn' })).toEqual([
      '400 invalid_request',
      'query.algorithm',
    ]);
    expect(await make({ token, reference, overwrite: false })).toEqual([
      '400 invalid_request',
      'query.overwrite',
    ]);
    const other = await vault.account();
    await other.key('u');
    const query = { user: 'u', token, reference };
    expect((await other.send('POST', '/capture', { query, passphrase: PASSPHRASE })).outcome).toBe(
      '404 token_not_found',
    );
  });

  test('is refused when it is used', async () => {
    const one = await item();
    const outcome = async (query: Query) => (await send(one, { cvv: '1' }, query)).outcome;
    expect(await outcome({ reference: one.reference })).toBe('200');
    expect(await outcome({ reference: 'another' })).toBe('403 endpoint_out_of_scope');
    expect(await outcome({ number: '4111111111111111' })).toBe('400 invalid_request');
    expect(await outcome({ algorithm: 'luhn' })).toBe('400 invalid_request');
    for (const body of ['', '[]', '"text"', '{"a":1,"a":2}', '{"cvv":']) {
      expect((await send(one, body)).status).toBe(400);
    }
    await account.sdk.vault.delete({ user: 'u', token: one.token, reference: one.reference });
    expect(await outcome({})).toBe('404 token_not_found');
    // Stored anew it is the same token, and so the endpoint's again.
    await account.store('u', CARD, { reference: one.reference });
    expect(await outcome({})).toBe('200');
  });

  test('is found by whoever reads or adds, if it was changed past the vault', async () => {
    const one = await item({ ...CARD, cvv: '1' });
    await send(one, { cvv: '2', floor: 1 });
    await send(one, { door: 3 });
    const [name, query] = [await nameOf(one), { user: 'u', token: one.token, reference: one.reference }];
    const [sadName = ''] = await vault.raw.keys(`*}s${one.token}`);
    const good = { c: await vault.raw.hgetBuffer(name, 'c'), s: await vault.raw.getBuffer(sadName) };
    const put = async (c: Buffer, s: Buffer) => {
      await vault.raw.hset(name, 'c', c);
      await vault.raw.set(sadName, s, 'PX', TTL_MS);
    };
    const outcomes = async () => [
      (await account.send('GET', '/vault/', { query, passphrase: PASSPHRASE })).outcome,
      (await send(one, { floor: 9 })).outcome,
      (await update(one, { floor: 9 })).outcome,
    ];
    const [c, s] = [good.c ?? Buffer.alloc(0), good.s ?? Buffer.alloc(0)];
    const damaged = Array<string>(3).fill('500 integrity_failed');
    for (const [, changed] of changesOf(c, 97)) {
      await put(changed, s);
      expect(await outcomes()).toEqual(damaged);
    }
    for (const [, changed] of changesOf(s, 97)) {
      await put(c, changed);
      expect(await outcomes()).toEqual(damaged);
    }
    await put(c, s);
    expect(await outcomes()).toEqual(['200', '200', '200']);
    expect(await opened(one)).toEqual({ ...CARD, cvv: '2', floor: 9, door: 3 });
  });
});

test('the vault verifies all of this', async () => {
  const one = await item({ ...CARD, cvv: '1' });
  await send(one, { cvv: '2', floor: 1 });
  const { code, out } = await runCommand(['verify'], { vault });
  expect([code, code === 0 ? '' : out]).toEqual([0, '']);
});
