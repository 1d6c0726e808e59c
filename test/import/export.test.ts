/** `vault import` of exports: of this vault, of another one, and of ones that were cut or changed. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createReader, type Reader } from '../helpers/age.ts';
import { type AccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { runCommand } from '../helpers/command.ts';
import type { TestVault } from '../helpers/vault.ts';
import { errorsOf, openImports } from './files.ts';

let ada: Reader;
let identity: string;
let imports: Awaited<ReturnType<typeof openImports>>;
let vault: TestVault;
let account: AccountClient;
/** By how much the clock of the vault is ahead. */
let passedMs = 0;
const fileOf: typeof imports.fileOf = (...given) => imports.fileOf(...given);
const into: typeof imports.into = (...given) => imports.into(...given);
const itemsOf: typeof imports.itemsOf = (...given) => imports.itemsOf(...given);

beforeAll(async () => {
  imports = await openImports(() => Date.now() + passedMs);
  ({ vault, account } = imports);
});
afterAll(() => imports.close());

describe('an export', () => {
  const exported = async (user: string): Promise<string> => {
    const path = imports.place('age');
    const line = ['--account', account.name, '--key', user, '--passphrase-file', imports.passphraseFile];
    await runCommand(['export', ...line, '--recipient', ada.recipient, '--out', path], { vault });
    return path;
  };
  const source = `k-exported`;

  beforeAll(async () => {
    ada = await createReader();
    identity = ada.identity;
    await account.key(source);
    const data = '{"number":"4111111111111111","amount":1.10,"big":12345678901234567890,"a":"\\u2028 é"}';
    await account.store(source, data, { reference: 'r', metadata: '{"plan":"gold"}' });
    await account.store(source, { number: '5555555555554444' }, { algorithm: 'uuid' });
    await account.store(source, { number: '4012888888881881' }, { algorithm: 'luhn' });
    await account.store(source, { number: '4222222222222' }, { algorithm: 'partial_8_start' });
  });
  afterAll(() => ada.close());

  test('of one vault becomes items of another, digit by digit, and keeps its tokens', async () => {
    const path = await exported(source);
    const { user, line } = await into(path, '--identity', identity, '--tokens', 'keep');
    const { code, out } = await runCommand(line, { vault });
    expect([code, out]).toEqual([0, 'Imported 4 items.\n']);
    const texts = async (name: string) => {
      const { text } = await ada.open(readFileSync(await exported(name)));
      return text
        .split('\n')
        .slice(0, -2)
        .map((item) => item.replace(/"stored_at":"[^"]*",/, ''))
        .sort();
    };
    expect(await texts(user)).toEqual(await texts(source));
  });

  test('keeps lifetimes, also into and out of keys with summaries', async () => {
    const key = { passphrase: PASSPHRASE, summary: true };
    await account.sdk.keys.create({ ...key, user: 'k-lasting' });
    const ttl = { ttl: 'P30D', reference: 'lasting' };
    await account.store('k-lasting', { number: '4111111111111111', expiry: '12/29' }, ttl);
    await account.store('k-lasting', { number: '5555555555554444' }, { reference: 'more' });
    const path = await exported('k-lasting');
    const { user, line } = await into(path, '--identity', identity);
    const summarized = line.map((word) => (word === user ? 'k-summarized' : word));
    await account.sdk.keys.create({ ...key, user: 'k-summarized' });
    for (const given of [line, summarized]) {
      expect((await runCommand(given, { vault })).out).toBe('Imported 2 items.\n');
      await rm(`${path}.import`);
    }
    const list = async (name: string) => (await account.sdk.vault.list({ user: name })).data[name] ?? [];
    const factsOf = async (name: string) =>
      (await list(name))
        .map(({ reference = '', expires_at, card }) => ({ reference, expires_at, card }))
        .sort((a, b) => a.reference.localeCompare(b.reference));
    const facts = await factsOf('k-lasting');
    expect(facts[0]).toMatchObject({ expires_at: expect.any(String), card: { last_four: '1111' } });
    expect(await factsOf('k-summarized')).toEqual(facts);
    expect(await factsOf(user)).toEqual(
      facts.map(({ card: _, ...others }) => ({ ...others, card: undefined })),
    );
  });

  test('whose lifetime is over, or is none, has its lines refused', async () => {
    const line = (expires: string) => `{"expires_at":"${expires}","data":{"number":"1"}}`;
    const path = fileOf(
      ['2020-01-01T00:00:00Z', 'soon', '9999-01-01T00:00:00Z'].map(line).join('\n'),
      'ndjson',
    );
    expect((await runCommand((await into(path)).line, { vault })).out).toStartWith(
      'Imported 0 items.\n3 rows',
    );
    expect(errorsOf(path).map(({ code, field }) => [code, field])).toEqual(
      Array(3).fill(['invalid_request', 'expires_at']),
    );
  });

  test('gets tokens of the new key where nothing else is asked for', async () => {
    const path = await exported(source);
    const { user, line } = await into(path, '--identity', identity);
    expect((await runCommand(line, { vault })).code).toBe(0);
    const tokens = new Set((await itemsOf(source)).map(({ token }) => token));
    expect((await itemsOf(user)).filter(({ token }) => tokens.has(token))).toEqual([]);
  });

  test('whose tokens are taken, or are no tokens, has its lines refused; nothing is replaced', async () => {
    const lines = [
      '{"token":"2f1e0c3a-0000-4000-8000-000000000001","data":{"number":"1"}}',
      '{"token":"2f1e0c3a-0000-4000-8000-000000000001","data":{"number":"2"}}',
      '{"token":"4111111111111111","data":{"number":"4111111111111111"}}',
      '{"token":7,"data":{"number":"3"}}',
      '{"data":{"number":"4"}}',
      'no json',
      '{"data":{"number":"5"},"other":1}',
    ];
    const path = fileOf(lines.join('\n'), 'ndjson');
    const { user, line } = await into(path, '--tokens', 'keep');
    const { code, out } = await runCommand(line, { vault });
    expect([code, out]).toEqual([
      1,
      `Imported 2 items.\n5 rows refused: see ${path}.errors.\nFILE has no last line with a count: it may have been cut.\n`,
    ]);
    expect(errorsOf(path).map(({ line: at, code: why, field }) => [at, why, field])).toEqual([
      [2, 'token_exists', 'token'],
      [3, 'invalid_request', 'token'],
      [4, 'invalid_request', 'token'],
      [6, 'invalid_json', undefined],
      [7, 'unknown_parameter', 'other'],
    ]);
    const data = (await itemsOf(user)).map((item) => item.data);
    expect(data).toContainEqual({ number: '1' });
    expect(data).not.toContainEqual({ number: '2' });
  });

  test('does not get the token of an item that has expired', async () => {
    const token = '2f1e0c3a-0000-4000-8000-000000000002';
    const path = fileOf('', 'ndjson');
    const { user, line } = await into(path, '--tokens', 'keep');
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    writeFileSync(path, JSON.stringify({ token, reference: 'a', expires_at, data: { number: '1' } }));
    expect((await runCommand(line, { vault })).code).toBe(0);
    passedMs = 3_601_000;
    const next = fileOf(JSON.stringify({ token, reference: 'b', data: { number: '2' } }), 'ndjson');
    await runCommand(
      line.map((word) => (word === path ? next : word)),
      { vault },
    );
    expect(errorsOf(next)).toMatchObject([{ code: 'token_exists', field: 'token' }]);
    expect(await itemsOf(user)).toEqual([]);
    passedMs = 0;
  });

  test('that was cut or changed is told, after what it has was imported', async () => {
    const { text } = await ada.open(readFileSync(await exported(source)));
    const changed = fileOf(text.replace('1.10', '1.11'), 'ndjson');
    const { user, line } = await into(changed);
    const { code, err } = await runCommand(line, { vault });
    expect([code, err]).toEqual([
      1,
      'FILE is not what was exported: its last line says 4 lines with another checksum. What it has was imported.\n',
    ]);
    expect(await itemsOf(user)).toHaveLength(4);
    const whole = readFileSync(await exported(source));
    const cut = await into(fileOf(whole.subarray(0, -1), 'age'), '--identity', identity);
    expect((await runCommand(cut.line, { vault })).err).toStartWith('FILE is damaged, or ends too early.');
  });

  test('is not opened by another identity, nor is what is no age file', async () => {
    const other = await createReader();
    for (const path of [await exported(source), fileOf('plain text', 'age')]) {
      const { line } = await into(path, '--identity', other.identity);
      expect((await runCommand(line, { vault })).err).toStartWith(
        'FILE cannot be opened: it must be an age file',
      );
    }
    other.close();
  });
});
