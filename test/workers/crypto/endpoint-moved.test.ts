/** Endpoints out of place: records moved or mixed with others, and each kind taken for the other. */
import { describe, expect, test } from 'bun:test';
import {
  checkEndpointSecret,
  EndpointSecretError,
  openCaptureWrap,
  openPolicy,
  openRetrieveWrap,
  sealEndpoint,
} from '../../../workers/crypto/endpoint/record.ts';
import { unlockedKey } from '../../../workers/crypto/key/unlocked.ts';
import { concat, IntegrityError, utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import {
  IDS,
  JSON_BYTES,
  KINDS,
  make,
  openAs,
  openOuter,
  policyOf,
  sealer,
  sealOuter,
} from './endpoint-fixture.ts';
import { filled, sealerOf, x25519Generation } from './fixture.ts';

describe.each(KINDS.map((kind) => [kind]))('a %s endpoint moved', (kind) => {
  const made = make(kind);
  const policy = policyOf(made);

  test.each([{ aid: 'account-2' }, { id: 'endpoint-2' }])('to %p: its records do not open', (other) => {
    const ids = { ...IDS, ...other };
    expect(() => openPolicy(sealer, ids, made.policyRecord)).toThrow(IntegrityError);
    expect(() => openAs(kind, policy, made.wrapRecord, made.secret, ids)).toThrow(EndpointSecretError);
  });

  test.each([{ env: 'production' }, { aid: 'account-2' }, { id: 'endpoint-2' }])(
    'to %p with the service master key: its secret is wrong there',
    (other) => {
      const ids = { ...IDS, ...other };
      const there = sealerOf(ids.env);
      const move = (name: string, bytes: Uint8Array) => there.seal('record', ids.aid, name, [ids.id], bytes);
      const moved = openPolicy(there, ids, move('endpoint', openOuter('endpoint', made.policyRecord)));
      const record = move('endpoint wrap', openOuter('endpoint wrap', made.wrapRecord));
      const open = kind === 'capture' ? openCaptureWrap : openRetrieveWrap;
      expect(() => open(there, ids, moved, record, utf8(made.secret))).toThrow(EndpointSecretError);
    },
  );

  test.each([{ kid: 'key-2' }, { gen: 1 }, { gen: 3 }, { gen: 0 }, { gen: -1 }, { gen: Number.NaN }])(
    'to %p',
    (other) => {
      const ids = { ...IDS, ...other };
      expect(() => openAs(kind, policy, made.wrapRecord, made.secret, ids)).toThrow(IntegrityError);
    },
  );

  test("with another endpoint's policy, wrap or both", () => {
    const ids = { ...IDS, id: 'endpoint-2' };
    const other = make(kind, JSON_BYTES, ids);
    const theirs = policyOf(other, ids);
    expect(() => openAs(kind, theirs, made.wrapRecord, made.secret)).toThrow(EndpointSecretError);
    expect(() => openAs(kind, policy, other.wrapRecord, made.secret)).toThrow(IntegrityError);
    expect(() => openAs(kind, theirs, other.wrapRecord, other.secret)).toThrow(EndpointSecretError);
    const resealed = sealOuter(
      'endpoint wrap',
      new Uint8Array(sealer.open('record', ids.aid, 'endpoint wrap', [ids.id], other.wrapRecord)),
    );
    expect(() => openAs(kind, policy, resealed, made.secret)).toThrow(IntegrityError);
  });

  test('into the place of the other record', () => {
    expect(() => openPolicy(sealer, IDS, made.wrapRecord)).toThrow(IntegrityError);
    expect(() => openAs(kind, policy, made.policyRecord, made.secret)).toThrow(IntegrityError);
    const wrap = openOuter('endpoint wrap', made.wrapRecord);
    expect(() => openPolicy(sealer, IDS, sealOuter('endpoint', Uint8Array.of(2, ...wrap)))).toThrow(
      IntegrityError,
    );
  });

  test('an older policy with a newer wrap of the same id, also with its salt and commitment', () => {
    const newer = make(kind, utf8('{"expiresAt":1,"rules":["a"]}'));
    expect(() => openAs(kind, policy, newer.wrapRecord, newer.secret)).toThrow(EndpointSecretError);
    expect(() => openAs(kind, policy, newer.wrapRecord, made.secret)).toThrow(IntegrityError);
    const fresh = openOuter('endpoint', newer.policyRecord).subarray(0, 49);
    const spliced = openPolicy(sealer, IDS, sealOuter('endpoint', concat([fresh, JSON_BYTES])));
    expect(checkEndpointSecret({ ...IDS, kind }, spliced, utf8(newer.secret))).toBe(true);
    expect(() => openAs(kind, spliced, newer.wrapRecord, newer.secret)).toThrow(IntegrityError);
  });
});

describe('kinds', () => {
  test.each([
    ['capture', 'retrieve', 'vcs1_', 'vrs1_'],
    ['retrieve', 'capture', 'vrs1_', 'vcs1_'],
  ] as const)('a %s endpoint is no %s endpoint', (kind, other, prefix, otherPrefix) => {
    const made = make(kind);
    const policy = policyOf(made);
    const foreign = make(other);
    const renamed = made.secret.replace(prefix, otherPrefix);
    for (const secret of [made.secret, renamed, foreign.secret]) {
      expect(() => openAs(other, policy, made.wrapRecord, secret)).toThrow(EndpointSecretError);
      expect(checkEndpointSecret({ ...IDS, kind: other }, policy, utf8(secret))).toBe(false);
    }
    expect(() => openAs(other, policyOf(foreign), made.wrapRecord, made.secret)).toThrow(EndpointSecretError);
    expect(() => openAs(other, policyOf(foreign), made.wrapRecord, foreign.secret)).toThrow(IntegrityError);
  });

  test('are told apart where the lengths of their wraps are the same', () => {
    const ids = { ...IDS, gen: 1 };
    const old = unlockedKey(IDS.kid, filled(32, 4), [x25519Generation(1)]);
    const first = sealEndpoint(sealer, { ...ids, kind: 'capture' }, JSON_BYTES, old);
    const second = sealEndpoint(sealer, { ...ids, kind: 'retrieve' }, JSON_BYTES, old);
    expect(first.wrapRecord.length).toBe(second.wrapRecord.length);
    const [a, b] = [policyOf(first), policyOf(second)];
    expect(() => openAs('capture', a, second.wrapRecord, first.secret, ids)).toThrow(IntegrityError);
    expect(() => openAs('retrieve', b, first.wrapRecord, second.secret, ids)).toThrow(IntegrityError);
  });
});
