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
const FIELD = /^[A-Za-z0-9_.: -]*$/;

/** The text that is signed. Rejects, with `IntegrityError`, what would not fit its lines. */
function textOf(lines: readonly string[]): Uint8Array {
  // Without a line feed in any field, no two checkpoints have one text.
  if (!lines.every((line) => FIELD.test(line))) {
    throw new IntegrityError('checkpoint');
  }
  return utf8(lines.map((line) => `${line}\n`).join(''));
}

function linesOf(env: string, { account, sequence, head, time }: CheckpointFacts): readonly string[] {
  if (!Number.isSafeInteger(sequence)) {
    throw new IntegrityError('checkpoint');
  }
  return ['cardvault audit checkpoint 1', env, account, String(sequence), head, time];
}

/** The signing key of a seed; the root gives one seed for each installation. */
function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(concat([PKCS8_HEAD, seed])), format: 'der', type: 'pkcs8' });
}

/** The signature, base64, of lines, by the key that the 32 bytes of `seed` make. Rejects lines that do not fit. */
export function signText(seed: Uint8Array, lines: readonly string[]): string {
  return sign(null, textOf(lines), privateKeyOf(seed)).toString('base64');
}

/** Whether `signText` made the signature for the lines that `linesOf` gives; not when that throws. */
export function isSigned(seed: Uint8Array, lines: () => readonly string[], signature: string): boolean {
  try {
    const key = createPublicKey(privateKeyOf(seed));
    return verify(null, textOf(lines()), key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

/** Signs with the key that the 32 bytes of `seed` make. */
export function signCheckpoint(seed: Uint8Array, env: string, facts: CheckpointFacts): Checkpoint {
  return { ...facts, signature: signText(seed, linesOf(env, facts)) };
}

/** Whether this vault signed the checkpoint, exactly so. */
export function isOwnCheckpoint(seed: Uint8Array, env: string, checkpoint: Checkpoint): boolean {
  return isSigned(seed, () => linesOf(env, checkpoint), checkpoint.signature);
}

/** The public key as PEM (SPKI, RFC 8410). */
export function checkpointKey(seed: Uint8Array): string {
  return createPublicKey(privateKeyOf(seed)).export({ format: 'pem', type: 'spki' }).toString();
}
