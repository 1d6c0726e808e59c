import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Tree } from '../../sdk/index.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../helpers/endpoints.ts';
import { openTestVault } from '../helpers/vault.ts';

const LIMIT = '400 rule_limit';
const TEXT = 'x'.repeat(60_000);
const OPERATIONS = 64;

function times(operation: object): object[] {
  return Array<object>(OPERATIONS).fill(operation);
}
function template(text: string, output_field = '*'): object {
  return {
    name: 'template',
    output_field,
    arguments: { template: text },
  };
}
/** Programs that run over a bound whatever the machine: none of them depends on the clock. */
const HOSTILE: readonly (readonly [string, readonly object[]])[] = [
  [
    'growing',
    [{ name: 'replace', input_field: 'text', arguments: { substr: 'x', new_str: 'xxxxxxxxxxxxxxxxxxxx' } }],
  ],
  ['doubling', times(template('{{text}}{{text}}', 'text'))],
  [
    'formatting',
    [
      {
        name: 'format',
        output_field: 'a',
        arguments: { format_string: '%v'.repeat(64), keys: Array(64).fill('text') },
      },
    ],
  ],
];

const vault = await openTestVault();
const [account, stranger] = [await vault.account(), await vault.account()];
await Promise.all([account.key('u'), stranger.key('s')]);
const token = await account.store('u', { number: '1', text: TEXT });
for (const [id, operations] of HOSTILE) {
  const made = await account.send('POST', '/rule', { query: { id }, body: operations });
  expect(made.outcome).toBe('200');
}
afterAll(() => vault.close());

function read(query: Query, client = account): Promise<Answer> {
  return client.send('GET', '/vault', { query: { user: 'u', ...query }, passphrase: PASSPHRASE });
}
function endOf(reply: Promise<Answer>): Promise<string> {
  return reply.then(({ outcome }) => outcome).catch(() => 'broke off');
}
/** What there is, what was logged, and what was counted of all that rules can spoil. */
async function state(): Promise<unknown> {
  const { decrypt, retrieve: retrieved, capture: captured, update, store } = await vault.usage(account);
  const { data } = await account.sdk.vault.list({ user: 'u', limit: -1 });
  const entries = (await account.sdk.vault.log({ user: 'u', token })).data;
  const log = entries.filter(({ outcome }) => outcome === 'ok').length;
  return { decrypt, retrieved, captured, update, store, data, log };
}

describe('a rule over its bounds', () => {
  test.each(HOSTILE.map(([id]) => id))(
    'that is %s ends with 400: no data, no entry, nothing stored or counted',
    async (rules) => {
      const [reader, writer] = [
        await createRetrieve(account, 'u', { rules, token }),
        await createCapture(account, 'u', { rules }),
      ];
      const before = await state();
      const query = { user: 'u', token, rules };
      const answers = [
        await read({ token, rules }),
        await retrieve(vault, reader, { query: { token } }),
        await capture(vault, writer, { body: { number: '2', text: TEXT } }),
        await account.send('POST', '/vault/update', { query, passphrase: PASSPHRASE, body: { a: 1 } }),
      ];
      for (const answer of answers) {
        expect(answer.outcome).toBe(LIMIT);
        expect(Object.keys(answer.as<object>())).toEqual(['error', 'code', 'request_id']);
      }
      expect(await state()).toEqual(before);
    },
  );

  test('breaks a tree off at the item that it cannot do; what came before was logged and counted', async () => {
    await account.key('mixed');
    const count = 100;
    const tokens: string[] = [];
    for (let n = 0; n < count; n++) {
      tokens.push(await account.store('mixed', { number: `${n}`, text: n === count - 1 ? TEXT : 'x' }));
    }
    const before = (await vault.usage(account))['decrypt'] ?? 0;
    expect(await endOf(read({ user: 'mixed', decrypt_all: true, rules: 'growing' }))).toBe('broke off');
    const logged = await Promise.all(
      tokens.map(
        async (item) => (await account.sdk.vault.log({ user: 'mixed', token: item })).data.length - 1,
      ),
    );
    expect(logged.at(-1)).toBe(0);
    expect(logged.reduce((sum, n) => sum + n, 0)).toBe(
      ((await vault.usage(account))['decrypt'] ?? 0) - before,
    );
    const [first] =
      (await read({ user: 'mixed', decrypt_all: true, rules: 'growing', limit: 1 })).as<Tree>()['mixed'] ??
      [];
    expect(first?.data).toEqual({ number: '0', text: 'x'.repeat(20) });
  });

  test('leaves every thread alive and nothing unexpected', () => {
    const { threadsAlive, restarts } = vault.opened.pool.stats();
    expect([threadsAlive, restarts]).toEqual([1, 0]);
    expect(vault.lines.filter(({ event }) => event === 'unexpected_error')).toEqual([]);
  });
});

describe('slow rules', () => {
  // Turning long numbers of another base into decimal ones takes about 2 ms each.
  const slow = (count: number): object[] =>
    Array<object>(count).fill({
      name: 'convert_to_int',
      input_field: 'digits',
      output_field: 'd',
      arguments: { base: 36 },
    });
  const slowItem = { number: '5', digits: 'z'.repeat(4_000) };
  let plain: string;

  beforeAll(async () => {
    await account.send('POST', '/rule', { query: { id: 'slow' }, body: slow(64) });
    plain = await stranger.store('s', { number: '9' });
  });
  const readPlain = async (): Promise<void> => {
    const query = { user: 's', token: plain };
    const { outcome } = await stranger.send('GET', '/vault', { query, passphrase: PASSPHRASE });
    expect(outcome).toBe('200');
  };
  const untilWaiting = async (jobs: number): Promise<void> => {
    for (;;) {
      const { queued, running } = vault.opened.pool.stats();
      const { waiting } = vault.opened.services.limiter.stats().page;
      if (queued.hot + queued.bulk + running + waiting >= jobs) {
        return;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  test('of 30 decryptions at once let another account’s plain one through before the last of them', async () => {
    const item = await account.store('u', slowItem);
    await read({ token: item });
    await readPlain();
    let ended = 0;
    const hostile = Array.from({ length: 30 }, async () => {
      const { outcome } = await read({ token: item, rules: 'slow' });
      ended += 1;
      return outcome;
    });
    // Beside another account no more than sixteen run at once.
    await untilWaiting(10);
    await readPlain();
    expect(ended).toBeLessThan(30);
    for (const outcome of await Promise.all(hostile)) {
      expect(['200', LIMIT]).toContain(outcome);
    }
    await account.sdk.vault.delete({ user: 'u', token: item });
  });

  test('over a whole key go in jobs of so few items that each ends within 2 s', async () => {
    await account.key('slow');
    const items = Array.from({ length: 120 }, (_, n) => ({ data: { number: `${n}`, digits: 'z' } }));
    await account.send('POST', '/vault/batch', { passphrase: PASSPHRASE, body: { user: 'slow', items } });
    const { crypto } = vault.opened;
    const { decryptItems } = crypto;
    const sizes: number[] = [];
    Reflect.set(crypto, 'decryptItems', (input: Parameters<typeof decryptItems>[0]) => {
      sizes.push(input.page.tokens.length);
      return decryptItems(input);
    });
    const endpoint = await createRetrieve(account, 'slow', { rules: 'slow' });
    const all = await retrieve(vault, endpoint, { query: { decrypt_all: true } });
    Reflect.set(crypto, 'decryptItems', decryptItems);
    expect(all.as<Tree>()['slow']).toHaveLength(120);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(120);
    // Rules may take 100 ms for each item.
    expect(Math.max(...sizes) * 100).toBeLessThan(2_000);
  });
});

const CARD = { card_number: '4111111111111111', note: 'n' };
const NOOP = [{ name: 'noop' }];

async function post(account: AccountClient, id: string, body: unknown): Promise<string> {
  return (await account.send('POST', '/rule', { query: { id }, body })).outcome;
}
async function readBy(account: AccountClient, token: string, rules: string): Promise<string> {
  return (await account.send('GET', '/vault', { query: { user: 'u', token, rules }, passphrase: PASSPHRASE }))
    .outcome;
}

test('an account may have 1,000 rules, and another one after a deletion', async () => {
  const account = await vault.account();
  const others = Object.fromEntries(Array.from({ length: 999 }, (_, at) => [`other-${at}`, 'x']));
  await vault.raw.hset(redisKeys.rules(account.aid), others);
  expect(await post(account, 'last', NOOP)).toBe('200');
  expect(await post(account, 'over', NOOP)).toBe('409 rules_full');
  expect(await post(account, 'last', NOOP)).toBe('409 rule_exists');
  expect((await account.send('DELETE', '/rule', { query: { id: 'last' } })).outcome).toBe('200');
  expect(await post(account, 'over', NOOP)).toBe('200');
  expect(await post(await vault.account(), 'other', NOOP)).toBe('200');
});

test('all rules of one request are bounded in bytes, whatever each of them may be', async () => {
  const account = await vault.account();
  await account.key('u');
  const token = await account.store('u', CARD);
  const large = [{ name: 'template', output_field: 'a', arguments: { template: 'x'.repeat(60_000) } }];
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    expect(await post(account, id, large)).toBe('200');
  }
  expect(await readBy(account, token, 'a,b,c,d')).toBe('200');
  expect(await readBy(account, token, 'a,b,c,d,e')).toBe('400 rule_limit');
  expect(await readBy(account, token, 'a,a,a,a,a')).toBe('400 rule_limit');
  const endpoint = await createCapture(account, 'u', { rules: 'a,b,c,d,e' });
  expect((await capture(vault, endpoint, { body: CARD })).outcome).toBe('400 rule_limit');
});

test('a rule that has run is not taken for another one with the same bytes', async () => {
  const [account, other] = [await vault.account(), await vault.account()];
  for (const client of [account, other]) {
    await client.key('u');
    expect(await post(client, 'first', NOOP)).toBe('200');
    expect(await post(client, 'second', NOOP)).toBe('200');
  }
  const token = await account.store('u', CARD);
  const theirs = await other.store('u', CARD);
  expect(await readBy(account, token, 'first')).toBe('200');
  const bytes = await vault.raw.hgetBuffer(redisKeys.rules(account.aid), 'first');
  await vault.raw.hset(redisKeys.rules(account.aid), 'second', bytes ?? '');
  await vault.raw.hset(redisKeys.rules(other.aid), 'first', bytes ?? '');
  expect(await readBy(account, token, 'second')).toBe('500 integrity_failed');
  expect(await readBy(other, theirs, 'first')).toBe('500 integrity_failed');
  expect(await readBy(account, token, 'first')).toBe('200');
});

test('the list of large rules comes whole', async () => {
  const account = await vault.account();
  const ids = Array.from({ length: 20 }, (_, at) => `r${String(at).padStart(2, '0')}`);
  for (const id of ids.toReversed()) {
    await post(account, id, [{ name: 'template', arguments: { template: 'y'.repeat(50_000) } }]);
  }
  const listed = (await account.send('GET', '/rule')).as<{ id: string }[]>();
  expect(listed.map(({ id }) => id)).toEqual(ids);
  expect((await (await vault.account()).send('GET', '/rule')).json).toEqual([]);
});
