import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:https';
import { join } from 'node:path';
import {
  type ClientCredential,
  clientCredential,
  readCertificate,
} from '../../../workers/crypto/certificate/certificate.ts';
import { type CreatedCsr, createCsr } from '../../../workers/crypto/certificate/csr.ts';
import { wipe } from '../../../workers/crypto/primitives/bytes.ts';
import { type Authority, newAuthority } from './authority.ts';

function vector(name: string) {
  return readFileSync(join(import.meta.dir, '../../vectors', name));
}

let root: Authority;
let server: Server;

beforeAll(async () => {
  root = await newAuthority();
  const options = {
    key: vector('tls-key.pem'),
    cert: vector('tls-cert.pem'),
    ca: root.pem,
    requestCert: true,
    rejectUnauthorized: true,
  };
  server = createServer(options, (_, response) => void response.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(() => {
  server.close();
});

/** The status of the reply, or `refused` where there was none. */
async function visit(
  credential: ClientCredential,
  version: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3',
): Promise<number | 'refused'> {
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new TypeError('the server does not listen');
  }
  return await new Promise((resolve) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: address.port,
        servername: 'localhost',
        agent: false,
        ca: vector('tls-cert.pem'),
        minVersion: version,
        maxVersion: version,
        // A keep-alive connection would outlive the test.
        headers: { connection: 'close', host: 'localhost' },
        cert: credential.certPem,
        key: Buffer.from(credential.keyPem),
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    call.on('error', () => resolve('refused'));
    call.end();
  });
}

function credentialOf(pem: string, { privateKey }: Pick<CreatedCsr, 'privateKey'>): ClientCredential {
  const { certPem, chain } = readCertificate(pem);
  return clientCredential({ certPem, chain, privateKeyDer: privateKey });
}

for (const keyType of ['ec-p256', 'rsa-2048'] as const) {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`the server knows a client with a key of ${keyType} over ${version}`, async () => {
      const created = await createCsr({ cn: 'client', keyType });
      expect(await visit(credentialOf(await root.issue(created.csrPem), created), version)).toBe(200);
    });
  }
}

test('the chain is sent: a server that knows the root alone needs the one between', async () => {
  const created = await createCsr({ cn: 'client', keyType: 'ec-p256' });
  const middle = await root.below('Test Middle');
  const leaf = await middle.issue(created.csrPem);
  expect(await visit(credentialOf(leaf + middle.pem, created))).toBe(200);
  expect(await visit(credentialOf(leaf + middle.pem + root.pem, created))).toBe(200);
  expect(await visit(credentialOf(leaf, created))).toBe('refused');
});

test('a certificate with another key opens nothing', async () => {
  const created = await createCsr({ cn: 'client', keyType: 'ec-p256' });
  const other = await createCsr({ cn: 'client', keyType: 'ec-p256' });
  const mixed = credentialOf(await root.issue(created.csrPem), other);
  expect(await visit(mixed).catch(() => 'refused')).toBe('refused');
});

test('the private key of a credential can be wiped, and leaves the given one alone', async () => {
  const created = await createCsr({ cn: 'client', keyType: 'ec-p256' });
  const kept = created.privateKey.slice();
  const credential = credentialOf(await root.issue(created.csrPem), created);
  expect(new TextDecoder().decode(credential.keyPem)).toStartWith('-----BEGIN PRIVATE KEY-----\n');
  wipe(credential.keyPem);
  expect(credential.keyPem.every((byte) => byte === 0)).toBe(true);
  expect(created.privateKey).toEqual(kept);
});
