import { describe, expect, test } from 'bun:test';
import {
  checkEndpointSecret,
  deriveEndpointKey,
  EndpointSecretError,
  endpointSecretText,
  openPolicy,
  openRetrieveWrap,
  type SecretKind,
  sealEndpoint,
} from '../../../workers/crypto/endpoint/record.ts';
import { generationOf, publicHalfOf } from '../../../workers/crypto/key/unlocked.ts';
import { aad } from '../../../workers/crypto/primitives/aad.ts';
import { concat, IntegrityError, textOf, u32, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { randomBytes } from '../../../workers/crypto/primitives/random.ts';
import { NONCE_BYTES, sealInto, TAG_BYTES } from '../../../workers/crypto/primitives/symmetric.ts';
import {
  EXPECTED,
  IDS,
  JSON_BYTES,
  KINDS,
  key,
  make,
  openAs,
  openOuter,
  policyOf,
  sealer,
  sealOuter,
} from './endpoint-fixture.ts';
import { damaged, filled, flipped, toHex } from './fixture.ts';

/** A wrap put together by the documented format, to be sealed by somebody with the service master key. */
function innerWrap(parts: {
  readonly header: Uint8Array;
  readonly gen: number;
  readonly wrapKey: Uint8Array;
  readonly policyHash: Uint8Array;
  readonly secrets: Uint8Array;
}): Uint8Array {
  const head = concat([parts.header, u32(parts.gen)]);
  const nonce = randomBytes(NONCE_BYTES);
  const body = new Uint8Array(parts.secrets.length + TAG_BYTES);
  const bound = aad('cardvault endpoint', [head, IDS.env, IDS.aid, IDS.kid, IDS.id, parts.policyHash]);
  sealInto(body, 0, parts.wrapKey, nonce, parts.secrets, bound);
  return concat([head, nonce, body]);
}

const SALT = filled(16, 3);
const SECRET = filled(32, 9);
const HEADERS: Readonly<Record<SecretKind, Uint8Array>> = {
  capture: Uint8Array.of(1, 0x14, 2, 0),
  inbound: Uint8Array.of(1, 0x1c, 2, 0),
  retrieve: Uint8Array.of(1, 0x15, 2, 0),
};
const PLAIN: Readonly<Record<SecretKind, Uint8Array>> = {
  capture: concat([publicHalfOf(generationOf(key)), key.tokenKey]),
  inbound: concat([publicHalfOf(generationOf(key)), key.tokenKey]),
  retrieve: concat(key.generations.flatMap((pair) => [Uint8Array.of(2), pair.publicKey, pair.privateKey])),
};

describe.each(KINDS.map((kind) => [kind]))('a %s endpoint', (kind) => {
  const made = make(kind);
  const policy = policyOf(made);
  const place = { ...IDS, kind };

  test('opens with its secret', () => {
    expect(made.gen).toBe(2);
    expect(textOf(policy.json)).toBe(textOf(JSON_BYTES));
    expect(openAs(kind, policy, made.wrapRecord, made.secret)).toEqual(EXPECTED[kind]);
    expect(checkEndpointSecret(place, policy, utf8(made.secret))).toBe(true);
  });

  test('has the documented bytes', () => {
    const plain = openOuter('endpoint', made.policyRecord);
    expect([plain[0], toHex(plain.subarray(1, 17)), toHex(plain.subarray(17, 49))]).toEqual([
      1,
      toHex(policy.salt),
      toHex(policy.commitment),
    ]);
    expect(toHex(plain.subarray(49))).toBe(toHex(JSON_BYTES));
    expect(toHex(policy.hash)).toBe(new Bun.CryptoHasher('sha256').update(plain).digest('hex'));
    const wrap = openOuter('endpoint wrap', made.wrapRecord);
    expect(toHex(wrap.subarray(0, 8))).toBe(`${toHex(HEADERS[kind])}00000002`);
    expect(wrap.length).toBe(8 + 12 + PLAIN[kind].length + 16);
  });

  test('that was put together by the documentation opens', () => {
    const { key: wrapKey, commitment } = deriveEndpointKey(place, SALT, SECRET);
    const plain = concat([Uint8Array.of(1), SALT, commitment, JSON_BYTES]);
    const written = openPolicy(sealer, IDS, sealOuter('endpoint', plain));
    const secret = endpointSecretText(kind, SECRET);
    const header = HEADERS[kind];
    const parts = { header, gen: 2, wrapKey, policyHash: written.hash, secrets: PLAIN[kind] };
    const open = (changed: Partial<typeof parts>) =>
      openAs(kind, written, sealOuter('endpoint wrap', innerWrap({ ...parts, ...changed })), secret);
    expect(open({})).toEqual(EXPECTED[kind]);
    const other = HEADERS[kind === 'capture' ? 'retrieve' : 'capture'];
    for (const changed of [
      { header: other },
      { header: header.with(0, 2) },
      { header: header.with(2, 1) },
      { header: header.with(3, 1) },
      { gen: 1 },
      { gen: 3 },
      { policyHash: filled(32, 1) },
      { secrets: PLAIN[kind].subarray(0, -1) },
      { secrets: concat([PLAIN[kind], filled(64, 1)]) },
      { wrapKey: commitment },
    ]) {
      expect(() => open(changed)).toThrow(IntegrityError);
    }
  });

  test('two with one policy share nothing', () => {
    const again = make(kind);
    expect(again.secret).not.toBe(made.secret);
    const other = policyOf(again);
    expect(toHex(other.salt)).not.toBe(toHex(policy.salt));
    expect(() => openAs(kind, policy, made.wrapRecord, again.secret)).toThrow(EndpointSecretError);
    expect(() => openAs(kind, other, made.wrapRecord, again.secret)).toThrow(IntegrityError);
  });

  test.each([
    '',
    'vcs1_',
    'no secret at all',
    make('capture').secret,
    make('retrieve').secret,
    `${made.secret}=`,
    made.secret.toLowerCase(),
    endpointSecretText(kind, new Uint8Array(32)),
  ])('does not open with %p', (secret) => {
    expect(() => openAs(kind, policy, made.wrapRecord, secret)).toThrow(EndpointSecretError);
    expect(checkEndpointSecret(place, policy, utf8(secret))).toBe(false);
  });

  test('a wrong secret is told before the wrap is looked at, a right one only after', () => {
    for (const record of [flipped(made.wrapRecord, 60), new Uint8Array(0), make(kind).wrapRecord]) {
      expect(() => openAs(kind, policy, record, make(kind).secret)).toThrow(EndpointSecretError);
      expect(() => openAs(kind, policy, record, made.secret)).toThrow(IntegrityError);
    }
  });

  test('every damaged form of the wrap is refused under the right service seal', () => {
    const wrap = openOuter('endpoint wrap', made.wrapRecord);
    expect(openAs(kind, policy, sealOuter('endpoint wrap', wrap), made.secret)).toEqual(EXPECTED[kind]);
    for (const bad of damaged(wrap)) {
      expect(() => openAs(kind, policy, sealOuter('endpoint wrap', bad), made.secret)).toThrow(
        IntegrityError,
      );
    }
  });

  test('every policy edited under the right service seal is refused', () => {
    const plain = openOuter('endpoint', made.policyRecord);
    const open = (bytes: Uint8Array) =>
      openAs(kind, openPolicy(sealer, IDS, sealOuter('endpoint', bytes)), made.wrapRecord, made.secret);
    expect(open(plain)).toEqual(EXPECTED[kind]);
    let wrongSecrets = 0;
    for (const bad of damaged(plain)) {
      const refusal = refusalOf(() => open(bad));
      expect(refusal).toBeDefined();
      wrongSecrets += refusal === 'EndpointSecretError' ? 1 : 0;
    }
    expect(wrongSecrets).toBe(16 + 32);
    const edited = utf8('{"expiresAt":9e15,"rules":["b"]}');
    expect(() => open(concat([plain.subarray(0, 49), edited]))).toThrow(IntegrityError);
  });

  test('random bytes in place of its records are refused', () => {
    for (let i = 0; i < 2_000; i++) {
      const bytes = randomBytes(i % 300);
      bytes.set(HEADERS[kind].subarray(0, i % 2 === 0 ? Math.min(4, bytes.length) : 0));
      expect(() => openPolicy(sealer, IDS, bytes)).toThrow(IntegrityError);
      const sealed = sealOuter('endpoint wrap', bytes);
      expect(() => openAs(kind, policy, sealed, made.secret)).toThrow(IntegrityError);
    }
  });
});

function refusalOf(open: () => unknown): string | undefined {
  try {
    open();
  } catch (error) {
    if (error instanceof IntegrityError || error instanceof EndpointSecretError) {
      return error.name;
    }
    throw error;
  }
  return undefined;
}

describe('making one', () => {
  test.each(KINDS.map((kind) => [kind]))('%s: refused for another vault key', (kind) => {
    const place = { ...IDS, kid: 'key-2', kind };
    expect(() => sealEndpoint(sealer, place, JSON_BYTES, key)).toThrow(RangeError);
  });

  test.each(KINDS.map((kind) => [kind]))('%s: refused with what a retrieval endpoint opened', (kind) => {
    const made = make('retrieve');
    const opened = openRetrieveWrap(sealer, IDS, policyOf(made), made.wrapRecord, utf8(made.secret));
    expect(() => sealEndpoint(sealer, { ...IDS, kind }, JSON_BYTES, opened)).toThrow(RangeError);
  });

  test('an empty policy is one too', () => {
    const made = make('capture', new Uint8Array(0));
    expect(openAs('capture', policyOf(made), made.wrapRecord, made.secret)).toEqual(EXPECTED.capture);
    const short = openOuter('endpoint', made.policyRecord).subarray(0, 48);
    expect(() => openPolicy(sealer, IDS, sealOuter('endpoint', short))).toThrow(IntegrityError);
  });
});

test('wiping what a retrieval opened leaves zeros, and the record opens again', () => {
  const made = make('retrieve');
  const opened = openRetrieveWrap(sealer, IDS, policyOf(made), made.wrapRecord, utf8(made.secret));
  opened[Symbol.dispose]();
  expect(opened.tokenKey.length).toBe(0);
  expect(opened.generations.map(({ privateKey }) => toHex(privateKey))).toEqual([
    '00'.repeat(32),
    '00'.repeat(32),
  ]);
  expect(openAs('retrieve', policyOf(made), made.wrapRecord, made.secret)).toEqual(EXPECTED.retrieve);
});
