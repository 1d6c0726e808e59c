import { afterAll, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBinaryFile } from '../../server/cli/file.ts';
import { isPdf, PDF_BYTES_MAX } from '../../server/compliance/compliance.ts';
import { canariesIn, dumpRedis } from '../helpers/canaries.ts';
import { type AccountClient, basicAuth } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

function pdf(text: string): Uint8Array {
  return Buffer.from(`%PDF-1.7\n\u0000\u0080${text}\n%%EOF\n`, 'latin1');
}

let client: AccountClient;

const vault = await openTestVault();
beforeEach(async () => {
  await vault.raw.del('{pci}');
  client = await vault.account();
});
afterAll(() => vault.close());

function pay() {
  return vault.opened.services.accounts.set(client.name, { paying: true });
}

test('who takes it and does not read it holds a piece of it, and no copy of the whole', async () => {
  await pay();
  const document = pdf('x'.repeat(5_000_000));
  await vault.opened.services.compliance.load(document);
  const authorization = basicAuth(client.name, client.password);
  const request = new Request('http://localhost/v1/certificate', { headers: { authorization } });
  const reader = (await vault.handle(request)).body?.getReader();
  const first = await reader?.read();
  expect(first?.value?.length).toBe(65_536);
  await reader?.cancel();
});

test('who does not pay may not read it, loaded or not; who pays hears when there is none', async () => {
  expect((await client.send('GET', '/certificate')).outcome).toBe('403 not_allowed');
  await vault.opened.services.compliance.load(pdf('one'));
  expect((await client.send('GET', '/certificate')).outcome).toBe('403 not_allowed');
  await vault.raw.del('{pci}');
  await pay();
  expect((await client.send('GET', '/certificate')).outcome).toBe('404 certificate_not_found');
  const headers = { authorization: 'Basic eDp5' };
  expect((await client.send('GET', '/certificate', { headers })).outcome).toBe('401 unauthenticated');
});

test('who pays gets the very bytes, to be saved and not to be kept, and pays nothing for it', async () => {
  await pay();
  const document = pdf(`${'x'.repeat(2_000_000)}`);
  expect(await vault.opened.services.compliance.load(document)).toBe(true);
  const { headers } = await client.send('GET', '/certificate');
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'application/pdf',
    'content-disposition': 'attachment; filename="pci-dss-certificate.pdf"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect(Buffer.from(await client.sdk.admin.certificate()).equals(document)).toBe(true);
  expect(await vault.usage(client)).toEqual({ api_requests: 2 });
});

test('a new one takes the place of the old one, on every server at once', async () => {
  await pay();
  const second = await vault.secondServer();
  try {
    for (const text of ['first', 'second', 'third']) {
      await vault.opened.services.compliance.load(pdf(text));
      for (const server of [vault, second]) {
        const bytes = await client.via(server.handle).sdk.admin.certificate();
        expect(Buffer.from(bytes).toString('latin1')).toContain(text);
      }
    }
  } finally {
    await second.close();
  }
});

test('it is sealed, and one that was tampered with is not given out', async () => {
  await pay();
  await vault.opened.services.compliance.load(pdf('a confidential-canary within'));
  expect(canariesIn({ text: 'confidential-canary' }, await dumpRedis(vault.raw))).toEqual([]);
  const record = (await vault.raw.hgetBuffer('{pci}', 'r')) ?? Buffer.alloc(0);
  record[record.length - 1] = (record.at(-1) ?? 0) ^ 1;
  await vault.raw.hset('{pci}', 'r', record, 'v', 'another');
  expect((await client.send('GET', '/certificate')).outcome).toBe('500 integrity_failed');
});

test('what is no PDF is not loaded, and what was loaded stays', async () => {
  await pay();
  await vault.opened.services.compliance.load(pdf('kept'));
  for (const text of ['', '<p>%PDF-1.7 %%EOF', '%PDF-1.7\nobj', ' %PDF-1.7\n%%EOF']) {
    expect(isPdf(Buffer.from(text))).toBe(false);
    expect(await vault.opened.services.compliance.load(Buffer.from(text))).toBe(false);
  }
  expect(Buffer.from(await client.sdk.admin.certificate()).toString('latin1')).toContain('kept');
});

test('one of 10 MB is taken, and not a byte more', async () => {
  await pay();
  const document = Buffer.alloc(PDF_BYTES_MAX, 'x');
  document.write('%PDF-2.0\n', 0);
  document.write('%%EOF', document.length - 5);
  expect(await vault.opened.services.compliance.load(document)).toBe(true);
  expect((await client.sdk.admin.certificate()).length).toBe(PDF_BYTES_MAX);
  expect(await vault.opened.services.compliance.load(Buffer.concat([document, Buffer.from('\n')]))).toBe(
    false,
  );
  const file = join(mkdtempSync(join(tmpdir(), 'cv-pdf-')), 'a.pdf');
  writeFileSync(file, 'too long');
  await expect(readBinaryFile(file, 7)).rejects.toThrow('larger than 7 bytes');
  await expect(readBinaryFile(`${file}.none`, 7)).rejects.toThrow('cannot be read');
});
