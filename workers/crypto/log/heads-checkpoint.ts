/**
 * Checkpoints of the heads of an account's item logs, signed as those of security logs are, by the same key. What is
 * signed is UTF-8 text of seven lines, each ended by a line feed: `cardvault log heads 1`, environment, account id,
 * epoch, number of logs, link in hex, time in RFC 3339.
 */
import { isSigned, signText } from './audit-checkpoint.ts';

/** A signed statement of the heads of an account's logs, by its wire names. */
export interface HeadsCheckpoint {
  /** Internal id of the account. */
  readonly account: string;
  /** Number of changes of its recorded heads. */
  readonly epoch: number;
  readonly logs: number;
  /** Names these heads and all before them, in hex. */
  readonly link: string;
  /** RFC 3339 in UTC. */
  readonly time: string;
  /** Ed25519, base64. */
  readonly signature: string;
}

function linesOf(env: string, checkpoint: Omit<HeadsCheckpoint, 'signature'>): readonly string[] {
  const { account, epoch, logs, link, time } = checkpoint;
  return ['cardvault log heads 1', env, account, String(epoch), String(logs), link, time];
}

/** Signs with the key that the 32 bytes of `seed` make. */
export function signHeadsCheckpoint(
  seed: Uint8Array,
  env: string,
  facts: Omit<HeadsCheckpoint, 'signature'>,
): HeadsCheckpoint {
  return { ...facts, signature: signText(seed, linesOf(env, facts)) };
}

/** Whether this vault signed the checkpoint, exactly so. */
export function isOwnHeadsCheckpoint(seed: Uint8Array, env: string, checkpoint: HeadsCheckpoint): boolean {
  return isSigned(seed, () => linesOf(env, checkpoint), checkpoint.signature);
}
