/** Summaries of cards are set when a key is made or later, listed, and found by their last four digits. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import { capture, createCapture } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { reseal } from './reseals.ts';

const VISA = '4111111111111111';
const MASTER = '5555555555554444';
const SUMMARY = { brand: 'visa', last_four: '1111', expiry_month: '12', expiry_year: '2029' };

interface Listed {
  readonly token: string;
  readonly card?: object;
}

let vault: TestVault;
let account: AccountClient;
beforeAll(async () => {
  vault = await openTestVault({ sadTtlMs: 600_000 });
  account = await vault.account();
});
afterAll(() => vault.close());

function change(user: string, members: object, through = account): Promise<Answer> {
  return through.send('PUT', '/key', { body: { user, passphrase: PASSPHRASE, ...members } });
}
async function listed(user: string, query = {}): Promise<readonly Listed[]> {
  const answer = await account.send('GET', '/vault', { query: { user, ...query } });
  return answer.as<Record<string, Listed[]>>()[user] ?? [];
}
const cardsOf = async (user: string) => (await listed(user)).map(({ card }) => card);
const found = async (user: string, last_four: string) =>
  (await listed(user, { last_four })).map(({ token }) => token);
async function verified(): Promise<object> {
  const { ok, faults } = JSON.parse((await runCommand(['verify', '--json'], { vault })).out);
  return { ok, faults };
}
/** Entries of the metadata index of a key. */
async function indexed(user: string): Promise<number> {
  const kid = await vault.kidOf(account, user);
  const { buckets } = vault.opened.stores.itemStore;
  const sizes = Array.from({ length: buckets }, (_, number) =>
    vault.raw.zcard(redisKeys.metadata({ kid, number })),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

describe('summaries that are set later', () => {
  test('are those of what is stored from then on, and passphrase and endpoints stay', async () => {
    await account.key('later');
    const endpoint = await createCapture(account, 'later', {});
    const before = await account.store('later', { card_number: VISA, expiry: '12/29' });
    const set = await change('later', { summary: true });
    expect([set.outcome, set.json]).toEqual([
      '200',
      { user: 'later', passphrase: PASSPHRASE, summary: true },
    ]);
    expect(await cardsOf('later')).toEqual([undefined]);
    expect(await account.open('later', before)).toContain('12/29');
    await account.store('later', { card_number: MASTER });
    expect((await capture(vault, endpoint, { body: { card_number: VISA } })).outcome).toBe('200');
    expect(await cardsOf('later')).toEqual([
      undefined,
      { brand: 'mastercard', last_four: '4444' },
      { brand: 'visa', last_four: '1111' },
    ]);
    await account.send('POST', '/vault/update', {
      ...{ query: { user: 'later', token: before }, passphrase: PASSPHRASE, body: { holder: 'Ada' } },
    });
    expect(await found('later', '1111')).toContain(before);
  });

  test('are given to the items before by a reseal, which changes nothing else', async () => {
    await account.key('all');
    const token = await account.store(
      'all',
      { card_number: VISA, expiry: '12/29', cvv: '123' },
      {
        ...{ reference: 'a', metadata: '{"tier":"gold"}' },
      },
    );
    const patched = await account.store('all', { card_number: VISA });
    const endpoint = await createCapture(account, 'all', { token: patched });
    await capture(vault, endpoint, { body: { expiry: '01/31' } });
    const bare = await account.store('all', { note: 'no number' }, { number: VISA, reference: 'b' });
    const read = () =>
      account.send('GET', '/vault', {
        query: { user: 'all', token, reference: 'a' },
        passphrase: PASSPHRASE,
      });
    const log = () =>
      account.send('GET', '/vault/metadata', { query: { user: 'all', token, reference: 'a' } });
    const [was, times, entries] = [await read(), await listed('all'), (await log()).as<object[]>()];
    await change('all', { summary: true });
    expect(await reseal(account, 'all', PASSPHRASE)).toMatchObject({ total: 3, done: 3 });
    const is = await read();
    expect([is.text, is.headers.get('etag')]).toEqual([was.text, was.headers.get('etag')]);
    expect((await log()).as<object[]>()).toHaveLength(entries.length + 1);
    const after = await listed('all');
    expect(after.map(({ card: _, ...rest }) => rest)).toEqual(times.map(({ card: _, ...rest }) => rest));
    expect(after.map(({ card }) => card)).toEqual([
      SUMMARY,
      { ...SUMMARY, expiry_month: '01', expiry_year: '2031' },
      {},
    ]);
    expect(await found('all', '1111')).toEqual([token, patched]);
    expect(await found('all', '1112')).toEqual([]);
    expect(bare).toBeString();
    expect(await reseal(account, 'all', PASSPHRASE)).toMatchObject({ total: 0, done: 0 });
    expect(await verified()).toEqual({ ok: true, faults: [] });
  });

  test('are taken away again', async () => {
    const key = { user: 'off', passphrase: PASSPHRASE, summary: true };
    expect((await account.send('POST', '/key', { body: key })).json).toEqual({
      ...{ user: 'off', passphrase: PASSPHRASE },
    });
    await account.store('off', { card_number: VISA, expiry: '12/29' }, { metadata: '{"tier":"gold"}' });
    expect(await indexed('off')).toBe(2);
    expect((await change('off', { summary: false })).json).toMatchObject({ summary: false });
    await account.store('off', { card_number: MASTER });
    expect(await cardsOf('off')).toEqual([SUMMARY, undefined]);
    expect(await reseal(account, 'off', PASSPHRASE)).toMatchObject({ total: 1, done: 1 });
    expect(await cardsOf('off')).toEqual([undefined, undefined]);
    expect(await indexed('off')).toBe(1);
    expect(await listed('off', { metadata: 'tier:gold' })).toHaveLength(1);
    expect(await verified()).toEqual({ ok: true, faults: [] });
  });

  test('come with a new passphrase too, and outlast one', async () => {
    await account.key('both');
    const next = 'another-long-passphrase-Zq4-kT9';
    const both = await change('both', { new_passphrase: next, summary: true });
    expect(both.json).toEqual({ user: 'both', passphrase: next, summary: true });
    const again = await change('both', { passphrase: next, new_passphrase: PASSPHRASE });
    expect(again.json).toEqual({ user: 'both', passphrase: PASSPHRASE });
    await account.store('both', { card_number: VISA, expiry: '12/29' });
    expect(await cardsOf('both')).toEqual([SUMMARY]);
  });

  test('need the passphrase and the right to read unmasked, and are in the security log', async () => {
    await account.key('rights');
    const wrong = await change('rights', { passphrase: 'wrong-passphrase-wrong-pass', summary: true });
    expect(wrong.outcome).toBe('403 passphrase_wrong');
    const credential = { scopes: ['key:write', 'vault:read'] as const, keys: ['rights'] };
    for (const [unmasked, outcome] of [
      [false, '403 not_allowed'],
      [true, '200'],
    ] as const) {
      const { secret } = await account.sdk.credentials.create({ name: 'c', ...credential, unmasked });
      const answer = await account.send('PUT', '/key', {
        headers: { authorization: `Bearer ${secret}` },
        body: { user: 'rights', passphrase: PASSPHRASE, summary: true },
      });
      expect([answer.outcome, answer.field]).toEqual([outcome, unmasked ? undefined : 'body.summary']);
    }
    const { json } = await account.send('GET', '/audit', { query: { action: 'key.change', limit: 2 } });
    expect(json).toMatchObject([
      { outcome: 'success', object: 'key/rights/summary:true' },
      { outcome: 'not_allowed', object: 'key/rights/summary:true' },
    ]);
    const none = await change('nobody', { summary: true });
    expect([none.outcome, none.field]).toEqual(['404 key_not_found', 'body.user']);
  });

  test('leave a recovery valid', async () => {
    await account.key('kept');
    const recipients = [
      'age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm',
      'age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg',
    ];
    const recovery = { user: 'kept', passphrase: PASSPHRASE, recipients, threshold: 2 };
    const made = await account.send('POST', '/key/recovery', { body: recovery });
    expect((await change('kept', { summary: true })).outcome).toBe('200');
    const now = await account.send('GET', '/key/recovery', { query: { user: 'kept' } });
    expect([now.outcome, now.json]).toEqual(['200', made.json]);
    expect(await verified()).toEqual({ ok: true, faults: [] });
  });
});

describe('on two servers', () => {
  test('a server that has the key in memory knows at once', async () => {
    const second = await vault.secondServer();
    const beside = account.via(second.handle);
    await account.key('two');
    const endpoint = await createCapture(account, 'two', {});
    for (const summary of [true, false, true]) {
      const query = { reference: `before ${summary}` };
      await Promise.all([account, beside].map((at) => at.store('two', { card_number: VISA }, query)));
      await change('two', { summary });
      const stored = await beside.store('two', { card_number: MASTER }, { reference: String(summary) });
      const batch = await beside.send('POST', '/vault/batch', {
        body: { user: 'two', items: [{ data: { card_number: VISA }, reference: `batch ${summary}` }] },
        passphrase: PASSPHRASE,
      });
      const captured = await capture(second, endpoint, { body: { card_number: VISA } });
      const tokens = [stored, Object(batch.json).results[0].token, Object(captured.json).token];
      const shown = (await listed('two')).filter(({ token }) => tokens.includes(token));
      expect(shown.map(({ card }) => card !== undefined)).toEqual([summary, summary, summary]);
    }
    await second.close();
  });

  test('stores under simultaneous changes end with what the key says', async () => {
    const second = await vault.secondServer();
    const beside = account.via(second.handle);
    await account.key('race');
    const stores = Array.from({ length: 40 }, (_, n) =>
      (n % 2 === 0 ? account : beside).send('POST', '/vault', {
        ...{
          query: { user: 'race', reference: `r${n}` },
          passphrase: PASSPHRASE,
          body: { card_number: VISA },
        },
      }),
    );
    const changes = await Promise.all(
      [true, false, true, false].map((summary, n) => change('race', { summary }, n % 2 ? beside : account)),
    );
    expect(changes.filter(({ outcome }) => !['200', '409 key_changed'].includes(outcome))).toEqual([]);
    expect((await Promise.all(stores)).filter(({ outcome }) => outcome !== '200')).toEqual([]);
    await change('race', { summary: true });
    const token = await beside.store('race', { card_number: MASTER });
    expect(await found('race', '4444')).toEqual([token]);
    await reseal(account, 'race', PASSPHRASE);
    expect(await found('race', '1111')).toHaveLength(40);
    await second.close();
  });

  test('a change that was interrupted before its fences, or overtaken in them, stops no store', async () => {
    await account.key('cut');
    const kid = await vault.kidOf(account, 'cut');
    await vault.opened.stores.keyStore.setSummaries(kid, true);
    await account.store('cut', { card_number: VISA });
    expect(await cardsOf('cut')).toEqual([undefined]);
    await vault.opened.stores.keyStore.setSummaries(kid, true);
    const endpoint = await createCapture(account, 'cut', {});
    expect((await capture(vault, endpoint, { body: { card_number: VISA } })).outcome).toBe('200');
  });
});

describe('last_four', () => {
  test('finds the items of a key, page by page, with other filters and with their data', async () => {
    await account.send('POST', '/key', { body: { user: 'find', passphrase: PASSPHRASE, summary: true } });
    const tokens: string[] = [];
    for (let n = 0; n < 5; n++) {
      const query = { reference: `r${n}`, metadata: `{"odd":"${n % 2}"}` };
      tokens.push(await account.store('find', { card_number: VISA, n }, query));
    }
    await account.store('find', { card_number: MASTER });
    expect(await found('find', '1111')).toEqual(tokens);
    const pages: string[] = [];
    for await (const { token } of account.sdk.vault.items({ user: 'find', last_four: '1111', limit: 2 })) {
      pages.push(token);
    }
    expect(pages).toEqual(tokens);
    const both = await listed('find', { last_four: '1111', metadata: 'odd:1' });
    expect(both.map(({ token }) => token)).toEqual(tokens.filter((_, n) => n % 2 === 1));
    expect(await listed('find', { last_four: '1111', reference: 'r3' })).toHaveLength(1);
    expect(await listed('find', { last_four: '4444', reference: 'r3' })).toHaveLength(0);
    const opened = await account.send('GET', '/vault', {
      query: { user: 'find', last_four: '4444', decrypt_all: true },
      passphrase: PASSPHRASE,
    });
    expect(Object(opened.json).find).toMatchObject([{ data: { card_number: MASTER } }]);
    await account.send('DELETE', '/vault', { query: { user: 'find', token: tokens[0], reference: 'r0' } });
    expect(await found('find', '1111')).toEqual(tokens.slice(1));
  });

  test('finds the items of all keys that have summaries, and says where none has', async () => {
    const other = await vault.account();
    await other.key('plain');
    await other.store('plain', { card_number: VISA });
    const query = { last_four: '1111' };
    for (const refused of [
      await other.send('GET', '/vault', { query }),
      await other.send('GET', '/vault', { query: { ...query, user: 'plain' } }),
      await other.send('GET', '/vault', { query: { ...query, user: 'plain', limit: -1 } }),
      await other.send('GET', '/vault', {
        ...{ query: { ...query, user: 'plain', decrypt_all: true }, passphrase: PASSPHRASE },
      }),
    ]) {
      expect([refused.outcome, refused.field]).toEqual(['400 invalid_request', 'query.last_four']);
    }
    await other.send('POST', '/key', { body: { user: 'told', passphrase: PASSPHRASE, summary: true } });
    const token = await other.store('told', { card_number: VISA });
    for (const limit of [undefined, 1, -1]) {
      const answer = await other.send('GET', '/vault', { query: { ...query, limit } });
      expect(answer.json).toMatchObject({ told: [{ token }] });
      expect(Object.keys(Object(answer.json))).toEqual(['told']);
    }
  });

  test('is four digits', async () => {
    for (const last_four of ['', '111', '11111', '١١١١', '111a']) {
      const answer = await account.send('GET', '/vault', { query: { user: 'find', last_four } });
      expect([answer.outcome, answer.field]).toEqual(['400 invalid_request', 'query.last_four']);
    }
  });

  test('is no digit of the database, and no metadata leads to it', async () => {
    expect(await listed('find', { metadata: ':1111' }).catch(() => [])).toEqual([]);
    const kid = await vault.kidOf(account, 'find');
    const names = await vault.raw.keys(`*${kid}*`);
    const members = await Promise.all(
      names.filter((name) => name.endsWith('}y')).map((name) => vault.raw.zrangeBuffer(name, '0', '-1')),
    );
    expect(members.flat().length).toBeGreaterThan(0);
    expect(Buffer.concat(members.flat().map((member) => member.subarray(0, 8))).includes('1111')).toBe(false);
  });
});
