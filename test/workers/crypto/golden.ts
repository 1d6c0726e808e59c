/** The golden records, the place that they are of, and what opens them. */

import { unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { ServiceSealer } from '../../../workers/crypto/record/service-record.ts';
import golden from '../../vectors/golden-records.json';
import { FLOOR, hex } from './fixture.ts';

export { golden };
export const { inputs } = golden;
export const ctx = { env: inputs.env, aid: inputs.aid, kid: inputs.kid };
export const ids = { ...ctx, token: inputs.token };

export function sealerFor(env: string): ServiceSealer {
  const keys = new Map([[inputs.ringId, hex(inputs.masterKey)]]);
  return new ServiceSealer(env, inputs.ringId, keys);
}
export const sealer = sealerFor(inputs.env);

/** The key of a record from after the passphrase change. */
export async function changedKey(record: string) {
  return (await unlockVaultKey(ctx, hex(record), utf8(inputs.newPassphrase), FLOOR)).key;
}
