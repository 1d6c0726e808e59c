/**
 * Shares of a recovery secret, one line of text for each custodian.
 *
 * `vss1.environment.account.key id.recovery id.threshold.number.share.checksum`: the share (32 bytes and its place on the
 * polynomial) and the checksum (8 bytes of a hash of all before it) are base64url. The names let people find a share that
 * is wrong, old or mistyped; the vault proves shares by the commitment alone.
 */
import { combine, split } from 'shamir-secret-sharing';
import { aad } from '../primitives/aad.ts';
import { equalBytes, fromBase64, textOf, utf8, wipe } from '../primitives/bytes.ts';
import { randomBytes } from '../primitives/random.ts';
import { KEY_BYTES, sha256 } from '../primitives/symmetric.ts';
import type { KeyContext } from '../record/service-record.ts';

/** Bytes of a share: those of the secret, and its place. */
const SHARE_BYTES = KEY_BYTES + 1;
const CHECKSUM_BYTES = 8;
/** The library requires two, also if a caller has sent one. */
const COMBINED_MIN = 2;
const BASE64URL = { alphabet: 'base64url', omitPadding: true } as const;

/** The common members of the shares of one recovery. */
export interface ShareSet {
  readonly id: Uint8Array;
  readonly threshold: number;
}

/** The beginning of a share. */
function prefixOf({ env, aid, kid }: KeyContext, { id, threshold }: ShareSet): string {
  return `vss1.${env}.${aid}.${kid}.${id.toBase64(BASE64URL)}.${threshold}.`;
}

function checksumOf(body: string): Uint8Array {
  return sha256(aad('cardvault share', [body])).subarray(0, CHECKSUM_BYTES);
}

/** The texts of `count` shares of a secret, in the order of their numbers. The caller wipes them. */
export async function splitSecret(
  ctx: KeyContext,
  set: ShareSet,
  secret: Uint8Array,
  count: number,
): Promise<Uint8Array[]> {
  const shares = await split(secret, count, set.threshold);
  const texts = shares.map((share, i) => {
    const body = `${prefixOf(ctx, set)}${i + 1}.${share.toBase64(BASE64URL)}`;
    return utf8(`${body}.${checksumOf(body).toBase64(BASE64URL)}\n`);
  });
  wipe(...shares);
  return texts;
}

function decoded(text: string, length: number): Uint8Array | undefined {
  const bytes = fromBase64(text, { alphabet: 'base64url' });
  return bytes?.length === length && bytes.toBase64(BASE64URL) === text ? bytes : undefined;
}

/** The share in a text of this set; undefined for any other text. White space around it is ignored. */
function readShare(text: Uint8Array, prefix: string): Uint8Array | undefined {
  try {
    const line = textOf(text).trim();
    const at = line.lastIndexOf('.');
    const [number = '', share = '', ...rest] = line.slice(prefix.length, at).split('.');
    const checksum = decoded(line.slice(at + 1), CHECKSUM_BYTES);
    const isOwn =
      line.startsWith(prefix) &&
      /^(?:[1-9]|1[0-6])$/.test(number) &&
      rest.length === 0 &&
      checksum !== undefined &&
      equalBytes(checksum, checksumOf(line.slice(0, at)));
    const bytes = decoded(share, SHARE_BYTES);
    return isOwn ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Combines shares to their secret. `isWhole`: all of them are of this set, different, and enough. Otherwise it is a secret of
 * stand-ins, so that a rejection takes the same work whichever and however many shares are wrong.
 */
export async function combineShares(
  ctx: KeyContext,
  set: ShareSet,
  texts: readonly Uint8Array[],
): Promise<{ readonly secret: Uint8Array; readonly isWhole: boolean }> {
  const prefix = prefixOf(ctx, set);
  const found = texts.map((text) => readShare(text, prefix));
  const shares = found.filter((share) => share !== undefined);
  const places = new Set(shares.map((share) => share[KEY_BYTES]));
  const isWhole = places.size === texts.length && places.size >= set.threshold && !places.has(0);
  const standIns = Array.from({ length: Math.max(texts.length, COMBINED_MIN) }, (_, i) => {
    const share = randomBytes(SHARE_BYTES);
    share[KEY_BYTES] = i + 1;
    return share;
  });
  try {
    return { secret: await combine(isWhole ? shares : standIns), isWhole };
  } finally {
    wipe(...shares, ...standIns);
  }
}
