/** What the tests of endpoints share: one open key of two generations, and endpoints of both kinds made of it. */

import {
  type EndpointWrapId,
  type OpenedPolicy,
  openCaptureWrap,
  openPolicy,
  openRetrieveWrap,
  type SealedEndpoint,
  type SecretKind,
  sealEndpoint,
} from '../../../workers/crypto/endpoint/record.ts';
import {
  generationOf,
  newGeneration,
  publicHalfOf,
  type UnlockedKey,
} from '../../../workers/crypto/key/unlocked.ts';
import { throwawayKey } from '../../../workers/crypto/key/vault-key.ts';
import { utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { CONTEXT, sealerOf, toHex } from './fixture.ts';

export const KINDS: readonly SecretKind[] = ['capture', 'retrieve', 'inbound'];
export const JSON_BYTES = utf8('{"expiresAt":null,"rules":["a"]}');
export const sealer = sealerOf();
export const firstKey = throwawayKey(CONTEXT.kid);
/** The same vault key one passphrase change later. */
export const key: UnlockedKey = {
  ...firstKey,
  generations: [...firstKey.generations, newGeneration(2)],
};
export const IDS: EndpointWrapId = { ...CONTEXT, id: 'endpoint-1', gen: 2 };

/** A new endpoint of `key`. */
export function make(kind: SecretKind, json = JSON_BYTES, ids: EndpointWrapId = IDS): SealedEndpoint {
  return sealEndpoint(sealer, { ...ids, kind }, json, key);
}

export function policyOf(made: SealedEndpoint, ids: EndpointWrapId = IDS): OpenedPolicy {
  return openPolicy(sealer, ids, made.policyRecord);
}

/** What an endpoint gives, as text, whichever kind it is. */
export function openAs(
  kind: SecretKind,
  policy: OpenedPolicy,
  wrapRecord: Uint8Array,
  secret: string,
  ids: EndpointWrapId = IDS,
): string[] {
  if (kind !== 'retrieve') {
    const opened = openCaptureWrap(sealer, ids, policy, wrapRecord, utf8(secret), kind);
    return [String(opened.gen), toHex(opened.publicHalf), toHex(opened.tokenKey)];
  }
  const opened = openRetrieveWrap(sealer, ids, policy, wrapRecord, utf8(secret));
  return [
    opened.kid,
    toHex(opened.tokenKey),
    ...opened.generations.flatMap(({ gen, publicKey, privateKey }) => [
      `${gen}`,
      toHex(publicKey),
      toHex(privateKey),
    ]),
  ];
}

const SEALING = ['2', toHex(publicHalfOf(generationOf(key))), toHex(key.tokenKey)];
/** What `openAs` gives for an endpoint of `key`. */
export const EXPECTED: Readonly<Record<SecretKind, string[]>> = {
  capture: SEALING,
  inbound: SEALING,
  retrieve: [
    CONTEXT.kid,
    '',
    ...key.generations.flatMap((pair) => [`${pair.gen}`, toHex(pair.publicKey), toHex(pair.privateKey)]),
  ],
};

/** Seals as somebody with the service master key can: anything, at the place of one of the two records. */
export function sealOuter(kind: 'endpoint' | 'endpoint wrap', bytes: Uint8Array): Uint8Array {
  return sealer.seal('record', IDS.aid, kind, [IDS.id], bytes);
}
/** What such a record holds. */
export function openOuter(kind: 'endpoint' | 'endpoint wrap', record: Uint8Array): Uint8Array {
  return new Uint8Array(sealer.open('record', IDS.aid, kind, [IDS.id], record));
}
