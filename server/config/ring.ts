import { Secret } from '../core/secret.ts';
import { readPrivateFile } from './files.ts';
import { type Parse, rejectValue } from './reader.ts';

/** The size of a master key: AES-256. */
export const KEY_BYTES = 32;
/** The id of a single key that was configured without an id. */
const DEFAULT_ID = 'default';

/** The master keys by id, 32 bytes each; `writeId` is the id of the one that encrypts new records. */
export interface MasterKeyRing {
  readonly writeId: string;
  readonly keys: ReadonlyMap<string, Uint8Array>;
}

/** One key in canonical base64. */
const parseKey: Parse<Uint8Array> = (text) => {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== KEY_BYTES || bytes.toString('base64') !== text) {
    return rejectValue('must contain keys of exactly 32 bytes in base64 (openssl rand -base64 32)');
  }
  if (bytes.every((byte) => byte === bytes[0])) {
    return rejectValue('must contain random keys, not one repeated byte');
  }
  return Uint8Array.from(bytes);
};

/** One `id:key` pair. */
const parseEntry: Parse<readonly [string, Uint8Array]> = (text) => {
  const [, id, key = ''] = /^([A-Za-z0-9_-]{1,32}):(.*)$/s.exec(text) ?? [];
  return id === undefined
    ? rejectValue('must contain id:key pairs, with ids of 1 to 32 characters from A-Z a-z 0-9 _ -')
    : [id, parseKey(key)];
};

/** Parses a ring: one key in base64 (with the id `default`), or comma-separated `id:key` pairs, of which the first encrypts. */
export const parseMasterKeys: Parse<Secret<MasterKeyRing>> = (text) => {
  if (!/[:,]/.test(text)) {
    return new Secret({ writeId: DEFAULT_ID, keys: new Map([[DEFAULT_ID, parseKey(text)]]) });
  }
  const entries = text.split(',').map((part) => parseEntry(part.trim()));
  const keys = new Map(entries);
  if (keys.size < entries.length) {
    return rejectValue('must not contain the same id twice');
  }
  return new Secret({ writeId: entries[0]?.[0] ?? DEFAULT_ID, keys });
};

/** Reads a ring from a file that other users cannot read. */
export const parseMasterKeyFile: Parse<Secret<MasterKeyRing>> = (text) =>
  parseMasterKeys(readPrivateFile(text).trim());

/** Reads a ring from UTF-8 bytes, with white space around it. */
export function parseMasterKeyBytes(bytes: Uint8Array): Secret<MasterKeyRing> {
  return parseMasterKeys(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8').trim());
}

/** The bytes that `parseMasterKeyBytes` reads as this ring. Wipe them after use. */
export function printMasterKeys({ keys }: MasterKeyRing): Uint8Array {
  const entries = [...keys].map(([id, key]) => `${id}:${Buffer.from(key).toString('base64')}`);
  return new TextEncoder().encode(entries.join(','));
}
