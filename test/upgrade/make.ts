/**
 * Makes the data folder of this version, once for each version: `bun test/upgrade/make.ts`. It stays in the tree, and every later
 * version must open it.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { version } from '../../package.json';
import type { AccountClient } from '../helpers/clients.ts';
import { createCapture, createRetrieve, useEndpoint } from '../helpers/endpoints.ts';
import { CAPTURED, type Facts, LUHN, openFolder, REFERENCE, RULE, STORED } from './vault.ts';

const FILES = ['master-key', 'redis/appendonlydir'];

async function sendGood(
  client: AccountClient,
  ...[method, path, sending]: Parameters<AccountClient['send']>
): Promise<Record<string, string>> {
  const answer = await client.send(method, path, sending);
  if (answer.status !== 200) {
    throw new Error(`${path} answered ${answer.text}`);
  }
  return answer.as<Record<string, string>>();
}

async function fill(data: string): Promise<Facts> {
  const { client, handle, stop } = await openFolder(data);
  await client.key('u');
  const token = await client.store('u', STORED, { reference: REFERENCE });
  const luhn = await client.store('u', LUHN, { algorithm: 'luhn' });
  await client.open('u', token, { reference: REFERENCE });
  await sendGood(client, 'POST', '/rule', { query: { id: 'short' }, body: RULE });
  const capture = await createCapture(client, 'u', { unique_id: 'in', ttl: '0', rules: 'short' });
  const retrieve = await createRetrieve(client, 'u', { unique_id: 'out', ttl: '0' });
  const { url, secret } = capture;
  const sent = await useEndpoint(handle, 'POST', url, { secret, body: CAPTURED });
  await sendGood(client, 'POST', '/retrieve/iframe', { query: { form_id: 'form' }, body: { locale: 'es' } });
  await sendGood(client, 'POST', '/preferences', { body: { key: 'colour', value: 'red' } });
  const { id = '' } = await sendGood(client, 'POST', '/proxy/csr', { body: { cn: 'shop.example' } });
  if ((await stop()) !== 0) {
    throw new Error('the server did not stop');
  }
  return {
    ...{ token, luhn, csr: id, captured: sent.as<{ token: string }>().token },
    ...{ capture: { url, secret }, retrieve: { url: retrieve.url, secret: retrieve.secret } },
  };
}

const made = mkdtempSync(join(tmpdir(), 'cv-upgrade-'));
try {
  const facts = await fill(made);
  const kept = join(import.meta.dir, version);
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(join(kept, 'data'), { recursive: true });
  for (const path of FILES) {
    cpSync(join(made, path), join(kept, 'data', path), { recursive: true });
  }
  writeFileSync(join(kept, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`);
  console.log(`made ${kept}`);
} finally {
  rmSync(made, { recursive: true });
}
