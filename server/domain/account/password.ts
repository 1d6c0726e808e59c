/** Which passwords are generated ones, and how their hashes are told from others. */

/** What the record of an account holds of a password. */
export interface PasswordHash {
  /** A PHC string, or for a generated password what begins with `FAST_HASH_PREFIX`. */
  readonly phc: string;
  /**
   * Of a chosen password: whether it has the form of a generated one, and is stretched all the same. Stretched passwords
   * of records without it may have either form.
   */
  readonly stretched?: boolean | undefined;
}

/** The password before the newest one, which can be used until a time, ms since 1970. */
export interface FormerPassword extends PasswordHash {
  readonly untilMs: number;
}

/** Characters of a generated password, six random bits each. */
export const GENERATED_CHARACTERS = 43;

/** What the hash of a generated password begins with; that of any other is a PHC string of Argon2id. */
export const FAST_HASH_PREFIX = '$hmac-sha256$v=1$';

/** Whether a password has the form of a generated one: 43 characters of base64url. A chosen one may have it too. */
export function hasGeneratedForm(password: Uint8Array): boolean {
  return password.length === GENERATED_CHARACTERS && password.every(isBase64Url);
}

function isBase64Url(code: number): boolean {
  const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  return isLetter || (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x5f;
}

/** Whether a hash is that of a generated password. */
export function isFastHash(hash: string): boolean {
  return hash.startsWith(FAST_HASH_PREFIX);
}
