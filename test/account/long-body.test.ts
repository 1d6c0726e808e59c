import { afterAll, expect, spyOn, test } from 'bun:test';
import { Secret } from '../../server/core/secret.ts';
import { entriesOf, lineOf } from '../helpers/audit.ts';
import { basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const encoder = new TextEncoder();
const vault = await openTestVault({ workers: 2, alone: true });
afterAll(() => vault.close());

test('a long body of an unknown caller costs one verification, before it is received', async () => {
  const { name, password, ...client } = await vault.account({ password: 'a chosen password' });
  const verifying = spyOn(vault.opened.crypto, 'verifyPassword');
  const body = JSON.stringify({ number: '4111111111111111', more: 'x'.repeat(80_000) });
  const headers = {
    Authorization: basicAuth(name, password),
    'Content-Length': String(body.length),
    'X-Vault-Passphrase': encodeURIComponent(PASSPHRASE),
  };
  const request = new Request('http://localhost/v1/vault?user=none', { method: 'POST', body, headers });
  expect((await vault.handle(request)).status).toBe(404);
  expect(verifying).toHaveBeenCalledTimes(1);
  const lines = (await entriesOf({ name, password, ...client })).map(lineOf);
  expect(lines.filter((line) => line.startsWith('sign_in success'))).toHaveLength(1);
});

test('a password that is replaced while a long body arrives is wrong', async () => {
  const { name, password } = await vault.account();
  const pipe = new TransformStream<Uint8Array, Uint8Array>();
  const writer = pipe.writable.getWriter();
  const headers = { Authorization: basicAuth(name, password), 'Content-Length': '80000' };
  const request = new Request('http://localhost/v1/vault?user=none', {
    method: 'POST',
    body: pipe.readable,
    headers,
  });
  const sent = Promise.resolve(vault.handle(request));
  await writer.write(encoder.encode('{'));
  await Bun.sleep(100);
  await vault.opened.services.accounts.setPassword(name, new Secret(encoder.encode('another one')));
  await writer.write(encoder.encode(`${' '.repeat(79_998)}}`));
  await writer.close();
  expect((await sent).status).toBe(401);
});
