/** What an export holds, who gets it, and what it leaves behind; `aborted.test.ts` has those that break off. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { LogEntry } from '../../sdk/index.ts';
import { createReader, type Reader, readExport } from '../helpers/age.ts';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { type AccountClient, type Answer, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const ITEMS = 700;
const CODE = '737';

let vault: TestVault;
let account: AccountClient;
let ada: Reader;
let bob: Reader;
let tokens: string[];

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  [ada, bob] = await Promise.all([createReader(), createReader()]);
  await Promise.all(['u', 'empty', '.a:b', 'texts', 'big', 'small'].map((user) => account.key(user)));
  const numbers = Array.from({ length: ITEMS }, (_, n) => n);
  tokens = await Promise.all(
    numbers.map((n) => account.store('u', dataOf(n), { reference: n % 2 ? `odd-${n}` : undefined })),
  );
});
afterAll(async () => {
  ada.close();
  bob.close();
  await vault.close();
});

function dataOf(n: number) {
  return { number: `41111111${n}`, cvv: CODE, text: 'x'.repeat(300) };
}

type Body = Readonly<Record<string, unknown>>;

/** Asks for an export and reads all of the reply. */
async function exported(body: Body = {}, client = account) {
  const response = await vault.handle(
    new Request('http://localhost/v1/vault/export', {
      method: 'POST',
      headers: {
        authorization: basicAuth(client.name, client.password),
        'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
      },
      body: JSON.stringify({ user: 'u', recipients: [ada.recipient], ...body }),
    }),
  );
  expect(response.status).toBe(200);
  return { headers: response.headers, file: await response.bytes() };
}
/** What an export holds once it is opened; fails unless it is whole. */
async function opened(body: Body = {}, client = account) {
  const { code, text } = await ada.open((await exported(body, client)).file);
  expect(code).toBe(0);
  const found = readExport(text);
  expect(found.isWhole).toBe(true);
  return found;
}
/** Asks for an export that is not to be had. */
function refused(body: Body, client = account, passphrase = PASSPHRASE): Promise<Answer> {
  return client.send('POST', '/vault/export', {
    body: { user: 'u', recipients: [ada.recipient], ...body },
    passphrase,
  });
}

describe('an export', () => {
  test('has a line for each item as it is listed, with its data as it was stored, and a last one about them', async () => {
    const { items, count } = await opened();
    expect(count).toBe(ITEMS);
    const listed = (await account.sdk.vault.list({ user: 'u', limit: -1 })).data['u'] ?? [];
    expect(items.map(({ data: _, ...item }) => item)).toEqual(listed.map((item) => ({ ...item })));
    const byToken = new Map(items.map(({ token, data }) => [token, data]));
    expect(tokens.map((token) => byToken.get(token))).toEqual(tokens.map((_, n) => dataOf(n)));
  });

  test('of nothing has the last line alone', async () => {
    const nothing = { count: 0, lines: [], isWhole: true };
    expect(await opened({ user: 'empty' })).toMatchObject(nothing);
    expect(await opened({ stored_before: '2020-01-01T00:00:00Z' })).toMatchObject(nothing);
  });

  test('takes the filters of listings', async () => {
    const prefix = await opened({ reference_prefix: 'odd-1' });
    expect(prefix.items.every(({ reference }) => String(reference).startsWith('odd-1'))).toBe(true);
    expect(prefix.count).toBe(1 + 5 + 50);
    const { items } = await opened();
    const [first, last] = [items[0]?.['stored_at'], items.at(-1)?.['stored_at']].map(String);
    expect((await opened({ stored_after: first })).count).toBe(ITEMS);
    expect((await opened({ stored_before: first })).count).toBeLessThan(ITEMS);
    expect(
      (await opened({ stored_after: last, stored_before: '2100-01-01T00:00:00+01:00' })).count,
    ).toBeGreaterThan(0);
  });

  test('opens for each recipient, and for nobody else', async () => {
    const { file } = await exported({ user: 'empty', recipients: [ada.recipient, bob.recipient] });
    expect([(await ada.open(file)).code, (await bob.open(file)).code]).toEqual([0, 0]);
    expect((await bob.open((await exported({ user: 'empty' })).file)).code).not.toBe(0);
  });

  test('is another file each time, in which nothing can be read', async () => {
    const [one, two] = [(await exported()).file, (await exported()).file];
    expect(one.length).toBe(two.length);
    expect(Buffer.compare(one.subarray(-1_000), two.subarray(-1_000))).not.toBe(0);
    expect(Buffer.from(one).includes('41111111')).toBe(false);
  });

  test('is saved under the name of the key', async () => {
    const { headers } = await exported();
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toBe('attachment; filename="u.age"');
    expect(headers.get('cache-control')).toBe('no-store');
    const { headers: strange } = await exported({ user: '.a:b' });
    expect(strange.get('content-disposition')).toBe('attachment; filename="_a_b.age"');
  });

  test('keeps every digit and character, and has no line break within an item', async () => {
    const texts = [
      '{\n  "number": "4111111111111111",\r\n  "amount": 1.10,\n"big":12345678901234567890, "huge": 1e400 }\n',
      '{"number":"5555555555554444","a":"line\\nbreak \\u2028 \u2028 \u00e9 \ud83d\ude00"\r}',
      '{"number":"4012888888881881","__proto__":{"a":[1,\n2]}}',
    ];
    for (const text of texts) {
      await account.store('texts', text);
    }
    const { lines } = await opened({ user: 'texts' });
    const kept = lines.map((line) => /"data":(.*)}$/s.exec(line)?.[1]);
    // Items of one millisecond are in no order.
    expect(kept.sort()).toEqual([
      '{"number":"4012888888881881","__proto__":{"a":[1,2]}}',
      '{"number":"4111111111111111","amount":1.10,"big":12345678901234567890,"huge":1e400}',
      '{"number":"5555555555554444","a":"line\\nbreak \u2028 \u2028 é 😀"}',
    ]);
  });

  test('holds large items, more than a page of them', async () => {
    const texts = Array.from({ length: 24 }, (_, n) => String.fromCharCode(97 + n).repeat(250_000 - 997 * n));
    for (const [n, text] of texts.entries()) {
      await account.store('big', { number: `9${n}`, text });
    }
    const { items, count } = await opened({ user: 'big' });
    expect(count).toBe(texts.length);
    // Items of one millisecond are in no order.
    expect(items.map(({ data }) => Object(data).text).sort()).toEqual(texts);
  });

  test('shows what was stored, whatever the account prefers to see', async () => {
    const client = await vault.account();
    await client.key('u');
    await client.store('u', dataOf(1));
    for (const [key, value] of [
      ['mask_fields', ['text']],
      ['return_card_metadata', true],
      ['default_limit', 1],
    ]) {
      expect((await client.send('POST', '/preferences', { body: { key, value } })).outcome).toBe('200');
    }
    await client.store('u', dataOf(2));
    expect((await opened({}, client)).items.map(({ data }) => data)).toEqual([dataOf(1), dataOf(2)]);
  });
});

describe('what it leaves behind', () => {
  test('is an entry and a decryption for each item that was shown, and one entry of the security log', async () => {
    const client = await vault.account();
    await client.key('u');
    const stored = await Promise.all(
      Array.from({ length: 70 }, (_, n) =>
        client.store('u', { number: `${n}` }, { reference: n < 20 ? 'r' : undefined }),
      ),
    );
    await opened({}, client);
    await opened({ reference_prefix: 'r' }, client);
    expect((await vault.usage(client))['decrypt']).toBe(70 + 20);
    const logs = await Promise.all(
      stored.map((token, n) =>
        client.sdk.vault.log({ user: 'u', token, reference: n < 20 ? 'r' : undefined }),
      ),
    );
    const actions = logs.map(({ data }) => data.map(({ action, source }) => `${action} ${source}`));
    expect(actions.map((entries) => entries.length)).toEqual(stored.map((_, n) => (n < 20 ? 3 : 2)));
    expect(new Set(actions.flatMap((entries) => entries.slice(0, -1)))).toEqual(new Set(['decrypt vault']));
    expect((await entriesOf(client, { action: 'vault.export' })).map(lineOf)).toEqual([
      'vault.export success key/u',
      'vault.export success key/u',
    ]);
  });
});

describe('it is refused', () => {
  const other = 'age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm';
  /** The checksum is right, but the point is of low order: nothing is secret that is encrypted to it. */
  const weak = 'age1qyqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqj7vrya';

  test.each([
    ['without a recipient', { recipients: [] }, '400 invalid_request', 'body.recipients'],
    ['with 21', { recipients: Array(21).fill(other) }, '400 invalid_request', 'body.recipients'],
    ['with a text', { recipients: other }, '400 invalid_request', 'body.recipients'],
    ['without the list', { recipients: undefined }, '400 invalid_request', 'body.recipients'],
    [
      'with a mistyped one',
      { recipients: [other, other.replace('cy0', 'cy2')] },
      '400 invalid_request',
      'body.recipients[1]',
    ],
    ['with a weak one', { recipients: [other, weak, other] }, '400 invalid_request', 'body.recipients[1]'],
    [
      'with one in capitals',
      { recipients: [other.toUpperCase()] },
      '400 invalid_request',
      'body.recipients[0]',
    ],
    ['with an identity', { recipients: ['AGE-SECRET-KEY-1'] }, '400 invalid_request', 'body.recipients[0]'],
    [
      'with another kind',
      { recipients: [`age1pq1${'q'.repeat(55)}`] },
      '400 invalid_request',
      'body.recipients[0]',
    ],
    ['with a key of SSH', { recipients: ['ssh-ed25519 AAAA'] }, '400 invalid_request', 'body.recipients[0]'],
    ['with a time that is none', { stored_after: 'yesterday' }, '400 invalid_request', 'body.stored_after'],
    [
      'with another such time',
      { stored_before: '2026-02-30T00:00:00Z' },
      '400 invalid_request',
      'body.stored_before',
    ],
    ['with a member that it does not know', { limit: 5 }, '400 unknown_parameter', 'body.limit'],
    ['for a key that there is not', { user: 'nobody' }, '404 key_not_found', 'body.user'],
    ['for no name of a key', { user: 'a/b' }, '400 invalid_request', 'body.user'],
  ] as const)('%s', async (_, body, outcome, field) => {
    const before = (await vault.usage(account))['decrypt'];
    const answer = await refused(body);
    expect([answer.outcome, answer.field]).toEqual([outcome, field]);
    expect(answer.text).not.toMatch(/age1[a-z0-9]|yesterday|a\/b/);
    expect((await vault.usage(account))['decrypt']).toBe(before);
  });

  test('without the passphrase, and with a wrong one', async () => {
    const none = await account.send('POST', '/vault/export', {
      body: { user: 'u', recipients: [ada.recipient] },
    });
    expect([none.outcome, none.field]).toEqual(['400 invalid_request', 'query.passphrase']);
    expect((await refused({ user: 'empty' }, account, 'not the passphrase of it')).outcome).toBe(
      '403 passphrase_wrong',
    );
    const entries = await entriesOf(account, { action: 'vault.export', limit: 1 });
    expect(entries.map(lineOf)).toEqual(['vault.export passphrase_wrong key/empty']);
  });

  test('to an account that sees numbers masked, whatever else it asks', async () => {
    const masked = await vault.account({ unmasked: false });
    await masked.key('u');
    const token = await masked.store('u', dataOf(1));
    for (const passphrase of [PASSPHRASE, 'not the passphrase of it']) {
      expect((await refused({}, masked, passphrase)).outcome).toBe('403 not_allowed');
    }
    expect((await masked.sdk.vault.log({ user: 'u', token })).data).toHaveLength(1);
    expect((await entriesOf(masked, { action: 'vault.export', limit: 1 })).map(lineOf)).toEqual([
      'vault.export not_allowed key/u',
    ]);
  });
});

describe('a credential', () => {
  test.each([
    ['without the scope', ['vault:read', 'vault:list'], { unmasked: true }],
    ['that sees numbers masked', ['vault:export', 'vault:read'], {}],
    ['for another key', ['vault:export'], { unmasked: true, keys: ['empty'] }],
  ] as const)('%s is refused', async (_, scopes, wanted) => {
    const client = await credentialClient(vault.handle, account, scopes, wanted);
    const answer = await refused({}, client);
    expect([answer.outcome, answer.field]).toEqual(['403 not_allowed', 'scope']);
  });

  test('with the scope, for this key and unmasked, exports and is named in the logs', async () => {
    const token = await account.store('small', dataOf(7));
    const rights = { unmasked: true, keys: ['small'] };
    const client = await credentialClient(vault.handle, account, ['vault:export'], rights);
    const stream = await client.sdk.vault.export({ user: 'small', recipients: [ada.recipient] });
    const file = await new Response(stream).bytes();
    expect(readExport((await ada.open(file)).text).items.map(({ data }) => data)).toEqual([dataOf(7)]);
    const [entry] = (await account.sdk.vault.log({ user: 'small', token })).data as [LogEntry];
    expect(entry).toMatchObject({ action: 'decrypt', actor: expect.stringContaining('/cred_') });
    const [event] = await entriesOf(account, { action: 'vault.export', limit: 1 });
    expect(event).toMatchObject({ actor: expect.stringContaining('credential/cred_'), object: 'key/small' });
  });
});
