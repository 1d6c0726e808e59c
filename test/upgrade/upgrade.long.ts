/** This version opens the data folders of all before it, and its own: reads, lists, verifies and changes what is in them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PASSPHRASE } from '../helpers/clients.ts';
import { useEndpoint } from '../helpers/endpoints.ts';
import { runVaultCommand } from '../helpers/server-process.ts';
import { CAPTURED, type Facts, LUHN, openFolder, REFERENCE, RULE, STORED } from './vault.ts';

setDefaultTimeout(120_000);

const VERSIONS = readdirSync(import.meta.dir, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test('there is a folder of the first version at least', () => {
  expect(VERSIONS).toContain('0.1.0');
});

describe.each(VERSIONS)('data of version %s', (version) => {
  const facts: Facts = JSON.parse(readFileSync(join(import.meta.dir, version, 'facts.json'), 'utf8'));
  let folder: string;
  let vault: Awaited<ReturnType<typeof openFolder>>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cv-upgraded-'));
    cpSync(join(import.meta.dir, version, 'data'), folder, { recursive: true });
    // A checkout does not keep who may read a file.
    chmodSync(join(folder, 'master-key'), 0o600);
    vault = await openFolder(folder);
  });
  afterAll(async () => {
    await vault.stop();
    rmSync(folder, { recursive: true });
  });

  test('is whole', async () => {
    const settings = { VAULT_DATA_DIR: folder, VAULT_AUDIT_RETENTION: '0' };
    const { code, out } = await runVaultCommand(['verify'], settings, folder);
    expect([code, out]).toEqual([0, expect.stringContaining('No faults found.')]);
    const logs = await runVaultCommand(['audit', 'verify'], settings, folder);
    expect([logs.code, logs.out]).toEqual([0, expect.stringContaining('valid')]);
  });

  test('opens, with every digit, and lists', async () => {
    const { client } = vault;
    expect(JSON.parse(await client.open('u', facts.token, { reference: REFERENCE }))).toEqual(STORED);
    expect(JSON.parse(await client.open('u', facts.luhn))).toEqual(LUHN);
    const { data } = await client.sdk.vault.list({ user: 'u' });
    expect(data['u']?.map(({ token }) => token).sort()).toEqual(
      [facts.token, facts.luhn, facts.captured].sort(),
    );
    const log = await client.send('GET', '/vault/metadata', {
      query: { user: 'u', token: facts.token, reference: REFERENCE },
    });
    expect(log.as<{ action: string }[]>().at(-1)).toMatchObject({ action: 'encrypt', outcome: 'ok' });
  });

  test('has endpoints that go on, with their rules', async () => {
    const { url, secret } = facts.capture;
    const sent = await useEndpoint(vault.handle, 'POST', url, { secret, body: CAPTURED });
    expect(sent.as<{ token: string }>().token).toBe(facts.captured);
    const read = await useEndpoint(vault.handle, 'GET', facts.retrieve.url, {
      secret: facts.retrieve.secret,
      query: { token: facts.captured, reference: 'in' },
    });
    expect(read.json).toEqual({ ...CAPTURED, card_number: expect.stringMatching(/0005$/), short: '31' });
  });

  test('has rules, forms, preferences and requests for certificates', async () => {
    const { client } = vault;
    expect((await client.send('GET', '/rule', { query: { id: 'short' } })).json).toMatchObject({
      operations: RULE,
    });
    const form = await client.send('GET', '/retrieve/iframe', { query: { form_id: 'form' } });
    expect(form.json).toMatchObject({ id: 'form', locale: 'es' });
    const preferences = (await client.send('GET', '/preferences')).json;
    expect(preferences).toContainEqual({ key: 'colour', value: 'red', is_default: false });
    const csr = await client.send('GET', '/proxy/csr', { query: { id: facts.csr } });
    expect(csr.text).toContain('-----BEGIN CERTIFICATE REQUEST-----');
  });

  test('takes what is new, and a change of its passphrase', async () => {
    const { client } = vault;
    const token = await client.store('u', { number: '42' });
    const next = 'the next passphrase of this key';
    await client.sdk.keys.changePassphrase({ user: 'u', passphrase: PASSPHRASE, new_passphrase: next });
    const opened = await client.send('GET', '/vault', { query: { user: 'u', token }, passphrase: next });
    expect(opened.text).toBe('{"number":"42"}');
    const old = await client.send('GET', '/vault', {
      query: { user: 'u', token: facts.luhn },
      passphrase: next,
    });
    expect(old.json).toEqual(LUHN);
  });
});
