/**
 * Checkpoints of security logs: how far a chain had come and the link of its newest entry, signed with Ed25519
 * (RFC 8032). A copy kept elsewhere shows a chain that was cut back or written anew, even by somebody with the
 * database; and anyone with the public key can verify one.
 *
 * What is signed is UTF-8 text of six lines, each ended by a line feed: `cardvault audit checkpoint 1`, environment,
 * account id (empty for the operator's own chain), sequence, link in hex, time in RFC 3339.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { concat, IntegrityError, utf8 } from '../primitives/bytes.ts';

/** What a checkpoint says, by its wire names. */
export interface CheckpointFacts {
  /** Internal id of the account; empty for the operator's own chain. */
  readonly account: string;
  readonly sequence: number;
  /** Link of the entry with that number, in hex. */
  readonly head: string;
  /** RFC 3339 in UTC. */
  readonly time: string;
}

/** A signed checkpoint. */
export interface Checkpoint extends CheckpointFacts {
  /** Ed25519, base64. */
  readonly signature: string;
}

/** PKCS #8 of an Ed25519 key before its 32 bytes of seed (RFC 8410). */
const PKCS8_HEAD = Uint8Array.fromHex('302e020100300506032b657004220420');
/** What may stand in a line: ids, hex and times, and nothing that could end it. */
const FIELD = /^[A-Za-z0-9_.:-]*$/;

/** The text that is signed. Rejects, with `IntegrityError`, what would not fit its lines. */
function textOf(env: string, { account, sequence, head, time }: CheckpointFacts): Uint8Array {
  // Without a line feed in any field, no two checkpoints have one text.
  if (![account, head, time].every((field) => FIELD.test(field)) || !Number.isSafeInteger(sequence)) {
    throw new IntegrityError('checkpoint');
  }
  return utf8(`cardvault audit checkpoint 1\n${env}\n${account}\n${sequence}\n${head}\n${time}\n`);
}

/** The signing key of a seed; the root gives one seed for each installation. */
function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(concat([PKCS8_HEAD, seed])), format: 'der', type: 'pkcs8' });
}

/** Signs with the key that the 32 bytes of `seed` make. */
export function signCheckpoint(seed: Uint8Array, env: string, facts: CheckpointFacts): Checkpoint {
  return {
    ...facts,
    signature: sign(null, textOf(env, facts), privateKeyOf(seed)).toString('base64'),
  };
}

/** Whether this vault signed the checkpoint, exactly so. */
export function isOwnCheckpoint(seed: Uint8Array, env: string, checkpoint: Checkpoint): boolean {
  try {
    const signature = Buffer.from(checkpoint.signature, 'base64');
    return verify(null, textOf(env, checkpoint), createPublicKey(privateKeyOf(seed)), signature);
  } catch {
    return false;
  }
}

/** The public key as PEM (SPKI, RFC 8410). */
export function checkpointKey(seed: Uint8Array): string {
  return createPublicKey(privateKeyOf(seed)).export({ format: 'pem', type: 'spki' }).toString();
}
