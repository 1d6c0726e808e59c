/** Writes that are done only while the data of an item is as their caller has seen it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { VaultApiError } from '../../sdk/index.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { capture, createCapture } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const CARD = { card_number: '4111111111111111', holder: 'Ada' };

let vault: TestVault;
let account: AccountClient;
beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
});
afterAll(() => vault.close());

const etagOf = ({ headers }: Answer) => headers.get('etag') ?? '';
function store(reference: string, body: object = CARD, headers = {}): Promise<Answer> {
  const query = { user: 'u', reference };
  return account.send('POST', '/vault', { query, body, passphrase: PASSPHRASE, headers });
}
async function stored(reference: string) {
  const answer = await store(reference);
  return { token: answer.as<{ token: string }>().token, reference, etag: etagOf(answer) };
}
type Stored = Awaited<ReturnType<typeof stored>>;
function read({ token, reference }: Stored): Promise<Answer> {
  return account.send('GET', '/vault', { query: { user: 'u', token, reference }, passphrase: PASSPHRASE });
}
function update({ token, reference }: Stored, body: object | undefined, headers = {}, query = {}) {
  const named = { user: 'u', token, reference, ...query };
  const sent = { query: named, passphrase: PASSPHRASE, headers, ...(body && { body }) };
  return account.send('POST', '/vault/update', sent);
}
function remove({ token, reference }: Stored, headers = {}, query = {}): Promise<Answer> {
  return account.send('DELETE', '/vault', { query: { user: 'u', token, reference, ...query }, headers });
}

describe('the ETag', () => {
  test('is that of the data: equal on store and reading, another after each change', async () => {
    const item = await stored('a');
    expect(item.etag).toMatch(/^"[\da-f]{16}"$/);
    expect(etagOf(await read(item))).toBe(item.etag);
    const updated = await update(item, { holder: 'Grace' });
    expect(etagOf(updated)).not.toBe(item.etag);
    expect(etagOf(await read(item))).toBe(etagOf(updated));
    const again = await store('a');
    expect([item.etag, etagOf(updated)]).not.toContain(etagOf(again));
    const { url, secret } = await createCapture(account, 'u', { token: item.token, reference: 'a' });
    expect((await capture(vault, { url, secret }, { body: { cvv: '123' } })).outcome).toBe('200');
    expect(etagOf(await read(item))).not.toBe(etagOf(again));
  });

  test('stays with metadata and lifetime', async () => {
    const item = await stored('b');
    const bare = await update(item, undefined, {}, { metadata: '{"order":"7"}', ttl: '1h' });
    expect([bare.outcome, etagOf(bare)]).toEqual(['200', item.etag]);
    expect(etagOf(await read(item))).toBe(item.etag);
    expect(etagOf(await update(item, undefined, {}, { ttl: '2h' }))).toBe(item.etag);
  });

  test('of a repeat by idempotency key is that of the first reply', async () => {
    const headers = { 'idempotency-key': 'once' };
    const [first, second] = [await store('c', CARD, headers), await store('c', CARD, headers)];
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect([second.text, etagOf(second)]).toEqual([first.text, etagOf(first)]);
  });
});

describe('the SDK', () => {
  test('returns the version of the data, and takes it', async () => {
    const { vault: items } = account.sdkWith({ passphrase: PASSPHRASE });
    const stored = await items.store({ key: 'u', reference: 'sdk', data: CARD });
    const item = { key: 'u', reference: 'sdk', token: stored.token };
    const { data, version } = await items.decryptVersioned(item);
    expect([data, version]).toEqual([CARD, stored.version]);
    const updated = await items.update({ ...item, version, data: { holder: 'Grace' } });
    expect(updated.version).not.toBe(version);
    for (const late of [
      () => items.update({ ...item, version, data: { holder: 'Eve' } }),
      () => items.delete({ ...item, version }),
    ]) {
      const error: unknown = await late().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(VaultApiError);
      expect(error).toMatchObject({ status: 412, code: 'version_mismatch' });
    }
    expect(await items.decrypt(item)).toEqual({ ...CARD, holder: 'Grace' });
    await items.delete({ ...item, version: updated.version });
  });
});

describe('If-Match', () => {
  test('lets a change through while the item is as it was seen', async () => {
    const item = await stored('d');
    for (const tag of [item.etag, `W/${item.etag}`, '*']) {
      const before = etagOf(await read(item));
      const headers = { 'if-match': tag === '*' ? tag : tag.replace(item.etag, before) };
      expect((await update(item, { note: tag }, headers)).outcome).toBe('200');
    }
    const refused = await update(item, { holder: 'Eve' }, { 'if-match': item.etag });
    expect(refused.outcome).toBe('412 version_mismatch');
    expect((await read(item)).text).not.toContain('Eve');
    for (const tag of ['"x"', '""', 'x', `${item.etag}, ${item.etag}`]) {
      expect((await update(item, { a: 1 }, { 'if-match': tag })).outcome).toBe('412 version_mismatch');
    }
  });

  test('of simultaneous changes lets one through', async () => {
    const item = await stored('e');
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) => update(item, { note: n }, { 'if-match': item.etag })),
    );
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual([
      '200',
      ...Array.from({ length: 15 }, () => '412 version_mismatch'),
    ]);
  });

  test('of simultaneous changes on two servers lets one through, whichever they are', async () => {
    const second = await vault.secondServer();
    const sides = [account, account.via(second.handle)];
    for (let round = 0; round < 8; round++) {
      const item = await stored(`two ${round}`);
      const headers = { 'if-match': item.etag };
      const query = { user: 'u', token: item.token, reference: item.reference };
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) => {
          const side = sides[n % 2] ?? account;
          return n < 6
            ? side.send('POST', '/vault/update', {
                query,
                passphrase: PASSPHRASE,
                headers,
                body: { note: n },
              })
            : side.send('DELETE', '/vault', { query, headers });
        }),
      );
      const won = answers.filter(({ outcome }) => outcome === '200');
      expect(won).toHaveLength(1);
      const lost = new Set(answers.filter((answer) => answer !== won[0]).map(({ outcome }) => outcome));
      expect(
        [...lost].filter((outcome) => !/^(412 version_mismatch|404 token_not_found)$/.test(outcome)),
      ).toEqual([]);
    }
    await second.close();
  });

  test('of a repeat by idempotency key gets the first reply, and is a part of the request', async () => {
    const item = await stored('again');
    const headers = { 'if-match': item.etag, 'idempotency-key': 'conditional' };
    const answers = await Promise.all(Array.from({ length: 4 }, () => update(item, { a: 1 }, headers)));
    const done = answers.filter(({ outcome }) => outcome === '200');
    expect(new Set(done.map((answer) => `${answer.text} ${etagOf(answer)}`)).size).toBe(1);
    const late = await update(item, { a: 1 }, headers);
    expect([late.outcome, late.headers.get('idempotency-replayed')]).toEqual(['200', 'true']);
    expect(etagOf(late)).toBe(etagOf(await read(item)));
    await update(item, { a: 2 });
    expect((await update(item, { a: 1 }, headers)).text).toBe(late.text);
    const other = await update(item, { a: 1 }, { ...headers, 'if-match': late.headers.get('etag') ?? '' });
    expect(other.outcome).toBe('409 idempotency_conflict');
    const refused = { 'if-match': item.etag, 'idempotency-key': 'refused' };
    expect((await update(item, { a: 3 }, refused)).outcome).toBe('412 version_mismatch');
    expect((await update(item, { a: 3 }, refused)).outcome).toBe('412 version_mismatch');
  });

  test('of a repeat whose first reply was lost with its server is the write that was done', async () => {
    const item = await stored('lost');
    const headers = { 'if-match': item.etag, 'idempotency-key': 'lost' };
    const first = await update(item, { a: 1 }, headers);
    for (const record of await vault.raw.keys('*')) {
      if ((await vault.raw.type(record)) === 'hash' && (await vault.raw.hget(record, 'a')) === account.aid) {
        await vault.raw.hdel(record, 'r');
        await vault.raw.hset(record, 'u', 0);
      }
    }
    const again = await update(item, { a: 1 }, headers);
    expect([again.outcome, again.text]).toEqual([first.outcome, first.text]);
    const other = await update(item, { a: 1 }, { ...headers, 'idempotency-key': 'not lost' });
    expect(other.outcome).toBe('412 version_mismatch');
  });

  test('sees what batches store, captures add and changes of metadata leave', async () => {
    const item = await stored('batch');
    const batch = { user: 'u', items: [{ data: { ...CARD, holder: 'Grace' }, reference: 'batch' }] };
    expect((await account.send('POST', '/vault/batch', { body: batch, passphrase: PASSPHRASE })).status).toBe(
      200,
    );
    const late = { 'if-match': item.etag };
    expect((await update(item, { a: 1 }, late)).outcome).toBe('412 version_mismatch');
    expect((await update(item, undefined, late, { ttl: '1h' })).outcome).toBe('412 version_mismatch');
    const now = { 'if-match': etagOf(await read(item)) };
    expect((await update(item, undefined, now, { ttl: '1h' })).outcome).toBe('200');
    expect((await update(item, { a: 1 }, now)).outcome).toBe('200');
    expect((await read(item)).json).toEqual({ ...CARD, holder: 'Grace', a: 1 });
  });

  test('of a deletion', async () => {
    const item = await stored('f');
    await update(item, { holder: 'Grace' });
    expect((await remove(item, { 'if-match': item.etag })).outcome).toBe('412 version_mismatch');
    const now = etagOf(await read(item));
    expect((await remove(item, { 'if-match': now })).outcome).toBe('200');
    expect((await remove(item, { 'if-match': now })).outcome).toBe('404 token_not_found');
    const all = await account.send('DELETE', '/vault', {
      query: { user: 'u', reference: 'f', all: true },
      headers: { 'if-match': now },
    });
    expect([all.outcome, all.field]).toEqual(['400 invalid_request', 'header.If-Match']);
  });
});
