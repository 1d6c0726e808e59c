import { beforeAll, describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import {
  CertificateError,
  matchesKey,
  readCertificate,
} from '../../../workers/crypto/certificate/certificate.ts';
import { type CreatedCsr, createCsr } from '../../../workers/crypto/certificate/csr.ts';
import { readPem, toPem } from '../../../workers/crypto/primitives/pem.ts';
import { toFailure } from '../../../workers/jobs/failure.ts';
import { type Authority, newAuthority } from './authority.ts';

/** The code of the refusal; undefined when the text was read. Any other error is let through. */
function refusalOf(pem: string): string | undefined {
  try {
    readCertificate(pem);
    return undefined;
  } catch (error) {
    if (!(error instanceof CertificateError)) {
      throw error;
    }
    return error.code;
  }
}

let root: Authority;
let middle: Authority;
let created: CreatedCsr;
let leaf: string;

beforeAll(async () => {
  root = await newAuthority();
  middle = await root.below('Test Middle');
  created = await createCsr({ cn: 'Größe 東京', o: 'Acme', c: 'de', keyType: 'ec-p256' });
  leaf = await middle.issue(created.csrPem);
});

/** The leaf with its DER changed, in PEM as good as before. */
function changed(change: (der: Uint8Array) => Uint8Array): string {
  const der = readPem(leaf)?.[0]?.der ?? new Uint8Array();
  return toPem('CERTIFICATE', change(der.slice()));
}

test.each(['ec-p256', 'rsa-2048'] as const)(
  'a certificate for a request of %s matches it',
  async (keyType) => {
    const mine = await createCsr({ cn: 'mine', keyType });
    const other = await createCsr({ cn: 'mine', keyType });
    const certificate = readCertificate(await root.issue(mine.csrPem));
    expect(matchesKey(certificate, mine.publicKey)).toBe(true);
    expect(matchesKey(certificate, other.publicKey)).toBe(false);
    expect(matchesKey(certificate, created.publicKey)).toBe(false);
  },
);

test('what is read: subject, expiry with fractional seconds, and PEM written anew', async () => {
  const pem = await root.issue(created.csrPem, { notAfter: new Date('2049-02-28T23:59:59.700Z') });
  const certificate = readCertificate(`\r\n${pem.replaceAll('\n', '\r\n')}\r\n`);
  expect(certificate).toMatchObject({
    certPem: pem,
    chain: [],
    expiry: '2049-02-28T23:59:59.000Z',
    subject: 'C=DE, O=Acme, CN=Größe 東京',
  });
});

test.each(['1990-01-01T00:00:00.000Z', '2050-01-01T00:00:00.000Z', '9999-12-31T23:59:59.000Z'])(
  'a certificate that ends at %s is read',
  async (expiry) => {
    const pem = await root.issue(created.csrPem, { notAfter: new Date(expiry) });
    const certificate = readCertificate(pem);
    expect(certificate.expiry).toBe(expiry);
    expect(matchesKey(certificate, created.publicKey)).toBe(true);
  },
);

describe('those that issued it', () => {
  test('are kept in their order, with or without the root', () => {
    expect(readCertificate(leaf).chain).toEqual([]);
    expect(readCertificate(leaf + middle.pem)).toMatchObject({ certPem: leaf, chain: [middle.pem] });
    expect(readCertificate(leaf + middle.pem + root.pem).chain).toEqual([middle.pem, root.pem]);
  });

  test('must each have issued the one before', async () => {
    const stranger = await newAuthority();
    const namesake = await stranger.below('Test Middle');
    const renamed = await root.renamed('Another Root');
    const noAuthority = await root.below('No Authority', false);
    const second = await middle.issue(created.csrPem);
    const wrong = {
      'several leafs': leaf + second,
      'the leaf twice': leaf + leaf,
      'a leaf after its chain': leaf + middle.pem + second,
      'the root alone': leaf + root.pem,
      'the wrong order': leaf + root.pem + middle.pem,
      'the leaf last': middle.pem + leaf,
      'the root twice': leaf + middle.pem + root.pem + root.pem,
      'one of the same name and another key': leaf + namesake.pem,
      'a root of the same name and another key': leaf + middle.pem + stranger.pem,
      'a root of the same key and another name': leaf + middle.pem + renamed.pem,
      'one that may not issue': (await noAuthority.issue(created.csrPem)) + noAuthority.pem,
      'nothing of it': leaf + stranger.pem,
    };
    for (const [what, pem] of Object.entries(wrong)) {
      expect(`${what}: ${refusalOf(pem)}`).toBe(`${what}: certificate_invalid`);
    }
  });

  test('are at most seven', async () => {
    const chain = [root];
    while (chain.length < 8) {
      chain.unshift(await (chain[0] ?? root).below(`Level ${chain.length}`));
    }
    const pems = chain.map(({ pem }) => pem);
    const pem = await (chain[0] ?? root).issue(created.csrPem);
    expect(readCertificate(pem + pems.slice(0, 7).join('')).chain).toEqual(pems.slice(0, 7));
    expect(refusalOf(pem + pems.join(''))).toBe('certificate_invalid');
  });
});

describe('refused as malformed', () => {
  const forms: Record<string, () => string> = {
    'a word': () => 'certificate',
    'half of it': () => leaf.slice(0, leaf.length / 2),
    'a request': () => created.csrPem,
    'a public key called certificate': () => toPem('CERTIFICATE', created.publicKey),
    'a request called certificate': () => created.csrPem.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE'),
    'a certificate by an old label': () => leaf.replaceAll('CERTIFICATE', 'X509 CERTIFICATE'),
    'a certificate and a request': () => leaf + created.csrPem,
    'text before it': () => `subject=CN=x\n${leaf}`,
    'a byte too many': () => changed((der) => Uint8Array.of(...der, 0)),
    'a byte too few': () => changed((der) => der.subarray(0, -1)),
    'a length too great': () => changed((der) => der.fill(0xff, 2, 3)),
    'a text that is too long': () => leaf + '\n'.repeat(65_537 - leaf.length),
  };

  test.each(Object.keys(forms))('%s', (name) => {
    expect(refusalOf(forms[name]?.() ?? leaf)).toBe('certificate_invalid');
  });

  test('the longest text that may be is read', () => {
    expect(refusalOf(leaf + '\n'.repeat(65_536 - leaf.length))).toBeUndefined();
  });

  test('random bytes, in PEM and without', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 900 }), (bytes) => {
        expect(refusalOf(toPem('CERTIFICATE', bytes))).toBe('certificate_invalid');
        expect(refusalOf(Buffer.from(bytes).toString('latin1'))).toBe('certificate_invalid');
      }),
      { numRuns: 200 },
    );
  });

  test('a certificate with one bit changed never matches another key, and breaks nothing', () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
      format: 'der',
      type: 'spki',
    });
    const length = readPem(leaf)?.[0]?.der.length ?? 0;
    for (let bit = 0; bit < length * 8; bit++) {
      const pem = changed((der) =>
        der.fill((der[bit >> 3] ?? 0) ^ (1 << (bit & 7)), bit >> 3, (bit >> 3) + 1),
      );
      if (refusalOf(pem) === undefined) {
        const certificate = readCertificate(pem);
        expect(certificate.expiry).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect(matchesKey(certificate, other)).toBe(false);
      }
    }
  });
});

describe('a private key in the text', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  test.each([
    ['PKCS #8', ec.export({ format: 'pem', type: 'pkcs8' })],
    ['PKCS #1', privateKey.export({ format: 'pem', type: 'pkcs1' })],
    ['OpenSSH', '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n'],
    ['one that is cut', '-----BEGIN PRIVATE KEY-----\nMIGHAgEA'],
    ['one in small letters', 'begin private key'],
  ])('is refused by name: %s', (_, key) => {
    for (const pem of [`${key}`, `${key}${leaf}`, `${leaf}${key}`]) {
      expect(refusalOf(pem)).toBe('certificate_private_key');
    }
  });

  test('is refused as malformed where it calls itself a certificate', () => {
    expect(refusalOf(toPem('CERTIFICATE', created.privateKey))).toBe('certificate_invalid');
  });
});

test.each([
  ['P-384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ['RSA of 3,072 bits', () => generateKeyPairSync('rsa', { modulusLength: 3072 })],
  ['Ed25519', () => generateKeyPairSync('ed25519')],
])('a certificate with a key of a type that no request has is a mismatch: %s', async (_, generate) => {
  const spki = generate().publicKey.export({ format: 'der', type: 'spki' });
  expect(refusalOf(await root.issueFor(spki))).toBe('certificate_mismatch');
});

test.each([
  ['certificate_invalid', 'canary'],
  ['certificate_private_key', '-----BEGIN PRIVATE KEY-----canary'],
])('a refusal says nothing of what was sent, and leaves the thread as %s with the place', (code, pem) => {
  const refused = (() => {
    try {
      return readCertificate(pem);
    } catch (error) {
      return error;
    }
  })();
  expect(toFailure(refused)).toMatchObject({ code, field: 'body', cause: undefined });
  expect(refused).toMatchObject({ name: 'CertificateError', message: 'The certificate was rejected.' });
  expect(JSON.stringify(refused)).not.toContain('canary');
});
