import 'reflect-metadata';
import { expect, test } from 'bun:test';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { Pkcs10CertificateRequest } from '@peculiar/x509';
import { type CreatedCsr, createCsr } from '../../../workers/crypto/certificate/csr.ts';
import { toHex } from './fixture.ts';

const KEY_TYPES = ['ec-p256', 'rsa-2048'] as const;

const openssl = Bun.which('openssl');

/** What the library reads in a request, and the word of openssl about it where the program is there. */
async function readRequest({ csrPem }: CreatedCsr) {
  if (openssl !== null) {
    const told = Bun.spawnSync([openssl, 'req', '-verify', '-noout'], { stdin: Buffer.from(csrPem) });
    expect(`${told.exitCode} ${told.stdout}${told.stderr}`).toMatch(/^0 .*verify OK/s);
  }
  const request = new Pkcs10CertificateRequest(csrPem);
  expect(await request.verify()).toBe(true);
  return { subject: request.subjectName.toJSON(), spki: new Uint8Array(request.publicKey.rawData), request };
}

const FULL = {
  cn: 'Größe 東京 😀',
  o: 'Acme, Inc. + "Söhne" = <1>; #\\',
  ou: 'Платежи',
  l: 'M'.repeat(128),
  st: '😀'.repeat(128),
  c: 'de',
};

test.each(KEY_TYPES)(
  'a request for %s is signed with its key and holds the subject as given',
  async (keyType) => {
    const created = await createCsr({ ...FULL, keyType });
    const { subject, spki, request } = await readRequest(created);
    expect(subject).toEqual([
      { C: ['DE'] },
      { ST: [FULL.st] },
      { L: [FULL.l] },
      { O: [FULL.o] },
      { OU: [FULL.ou] },
      { CN: [FULL.cn] },
    ]);
    expect(created.subject).toEqual({ ...FULL, c: 'DE' });
    expect(toHex(spki)).toBe(toHex(created.publicKey));
    expect(request.attributes).toEqual([]);
    expect(request.signatureAlgorithm.hash.name).toBe('SHA-256');
  },
);

test.each([
  ['ec-p256', 'ec', { namedCurve: 'prime256v1' }],
  ['rsa-2048', 'rsa', { modulusLength: 2048, publicExponent: 65_537n }],
] as const)('%s: the private key is PKCS #8 of the public one', async (keyType, type, details) => {
  const { privateKey, publicKey } = await createCsr({ cn: 'x', keyType });
  const key = createPrivateKey({ key: Buffer.from(privateKey), format: 'der', type: 'pkcs8' });
  expect(key.asymmetricKeyType).toBe(type);
  expect(key.asymmetricKeyDetails).toMatchObject(details);
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  expect(toHex(spki)).toBe(toHex(publicKey));
});

test('only what was given is in the subject', async () => {
  const { subject } = await readRequest(await createCsr({ cn: 'only', keyType: 'ec-p256' }));
  expect(subject).toEqual([{ CN: ['only'] }]);
});

test('a name of every length, over both borders of its length in bytes, is read the same', async () => {
  for (let length = 1; length <= 128; length++) {
    for (const o of ['o', 'o'.repeat(64)]) {
      const given = { cn: 'é'.repeat(64), o, l: 'l'.repeat(length) };
      const { csrPem } = await createCsr({ ...given, keyType: 'ec-p256' });
      const request = new Pkcs10CertificateRequest(csrPem);
      expect(request.subjectName.toJSON()).toEqual([{ L: [given.l] }, { O: [o] }, { CN: [given.cn] }]);
      expect(await request.verify()).toBe(true);
    }
  }
});

test('a country stands as PrintableString, all else as UTF8String', async () => {
  const { csrPem } = await createCsr({ cn: 'ab', c: 'CH', keyType: 'ec-p256' });
  const hex = toHex(Buffer.from(csrPem.split('\n').slice(1, -2).join(''), 'base64'));
  expect(hex).toContain(`06035504061302${toHex(Buffer.from('CH'))}`);
  expect(hex).toContain(`06035504030c02${toHex(Buffer.from('ab'))}`);
});

test('a subject that cannot be is refused, with its place and nothing of it', async () => {
  const refused = await createCsr({ cn: 'x', o: 'canary\n', keyType: 'rsa-2048' }).catch((error) => error);
  expect(refused).toMatchObject({ name: 'VaultError', code: 'invalid_request', field: 'body.o' });
  expect(String(refused)).not.toContain('canary');
});
