/**
 * Checkpoints of security logs, signed with Ed25519 (RFC 8032): the sequence and the link of the newest entry of a chain. A
 * copy kept elsewhere reveals a chain that was truncated or rewritten, even by an attacker with the database; anyone with
 * the public key can verify one. Signed is UTF-8 text of six lines, each ended by a line feed: `cardvault audit checkpoint
 * 1`, environment, account id (empty for the operator's chain), sequence, link in hex, time in RFC 3339.
 *
 * Checkpoints of the heads of an account's item logs, by the same key, have seven lines: `cardvault log heads 1`,
 * environment, account id, epoch, number of logs, link in hex, time in RFC 3339.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { concat, IntegrityError, utf8 } from '../primitives/bytes.ts';

/** A signed checkpoint, by its wire names. */
export interface Checkpoint {
  /** Internal id of the account; empty for the operator's chain. */
  readonly account: string;
  readonly sequence: number;
  /** Link of the entry with that number, in hex. */
  readonly head: string;
  /** RFC 3339 in UTC. */
  readonly time: string;
  /** Ed25519, base64. */
  readonly signature: string;
}

/** PKCS #8 of an Ed25519 key before its 32 bytes of seed (RFC 8410). */
const PKCS8_HEAD = Uint8Array.fromHex('302e020100300506032b657004220420');
/** The characters of ids, hex and times: nothing that could end a line. */
const FIELD = /^[A-Za-z0-9_.: -]*$/;

/** The signed text. Rejects other characters with `IntegrityError`. */
function textOf(lines: readonly string[]): Uint8Array {
  // Without a line feed in any field, no two checkpoints have one text.
  if (!lines.every((line) => FIELD.test(line))) {
    throw new IntegrityError('checkpoint');
  }
  return utf8(lines.map((line) => `${line}\n`).join(''));
}

function linesOf(
  env: string,
  { account, sequence, head, time }: Omit<Checkpoint, 'signature'>,
): readonly string[] {
  if (!Number.isSafeInteger(sequence)) {
    throw new IntegrityError('checkpoint');
  }
  return ['cardvault audit checkpoint 1', env, account, String(sequence), head, time];
}

function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(concat([PKCS8_HEAD, seed])), format: 'der', type: 'pkcs8' });
}

/** The signature, base64, of lines, by the key of a seed of 32 bytes. Rejects other characters with `IntegrityError`. */
function signText(seed: Uint8Array, lines: readonly string[]): string {
  return sign(null, textOf(lines), privateKeyOf(seed)).toString('base64');
}

/** Verifies a signature for the lines that a function returns; false if it throws. */
function isSigned(seed: Uint8Array, lines: () => readonly string[], signature: string): boolean {
  try {
    const key = createPublicKey(privateKeyOf(seed));
    return verify(null, textOf(lines()), key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

/** Signs a checkpoint with the key of a seed of 32 bytes. */
export function signCheckpoint(
  seed: Uint8Array,
  env: string,
  facts: Omit<Checkpoint, 'signature'>,
): Checkpoint {
  return { ...facts, signature: signText(seed, linesOf(env, facts)) };
}

/** Verifies that this vault signed the checkpoint, exactly so. */
export function isOwnCheckpoint(seed: Uint8Array, env: string, checkpoint: Checkpoint): boolean {
  return isSigned(seed, () => linesOf(env, checkpoint), checkpoint.signature);
}

/** The public key as PEM (SPKI, RFC 8410). */
export function checkpointKey(seed: Uint8Array): string {
  return createPublicKey(privateKeyOf(seed)).export({ format: 'pem', type: 'spki' }).toString();
}

/** A signed statement of the heads of an account's logs, by its wire names. */
export interface HeadsCheckpoint {
  readonly account: string;
  /** Number of changes of its recorded heads. */
  readonly epoch: number;
  readonly logs: number;
  /** Identifies these heads and all before them, in hex. */
  readonly link: string;
  /** RFC 3339 in UTC. */
  readonly time: string;
  /** Ed25519, base64. */
  readonly signature: string;
}

function headsLinesOf(env: string, checkpoint: Omit<HeadsCheckpoint, 'signature'>): readonly string[] {
  const { account, epoch, logs, link, time } = checkpoint;
  return ['cardvault log heads 1', env, account, String(epoch), String(logs), link, time];
}

/** Signs a checkpoint of heads with the key of a seed of 32 bytes. */
export function signHeadsCheckpoint(
  seed: Uint8Array,
  env: string,
  facts: Omit<HeadsCheckpoint, 'signature'>,
): HeadsCheckpoint {
  return { ...facts, signature: signText(seed, headsLinesOf(env, facts)) };
}

/** Verifies that this vault signed the checkpoint, exactly so. */
export function isOwnHeadsCheckpoint(seed: Uint8Array, env: string, checkpoint: HeadsCheckpoint): boolean {
  return isSigned(seed, () => headsLinesOf(env, checkpoint), checkpoint.signature);
}
