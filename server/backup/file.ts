import { createHash, randomBytes } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { version } from '../../package.json';
import { BackupSeal } from '../../workers/crypto/record/backup-seal.ts';
import { CommandError, type Output } from '../cli/command.ts';
import { unreadable } from '../cli/file.ts';
import type { Config } from '../config/config.ts';
import type { MasterKeyRing } from '../config/ring.ts';
import { type BackupRecord, decodeRecords, encodeRecord, recordOf } from './record.ts';

/** The size after which a frame is written. */
const FRAME_BYTES = 256 * 1_024;
/** The largest frame that is read: records are never larger. */
const FRAME_BYTES_MAX = 64 * 1_024 * 1_024;
/** The first line is searched within these bytes. */
const HEADER_BYTES_MAX = 4_096;
/** The length before each frame, big-endian. */
const LENGTH_BYTES = 4;

const Header = Type.Object({
  /** Identifies the file type. */
  format: Type.Literal('cardvault-backup'),
  /** The version of this format; other versions are rejected. */
  version: Type.Literal(1),
  /** `staging` or `production`; a file is only restored in the same environment. */
  environment: Type.String(),
  /** The version of Cardvault that wrote the file. */
  server: Type.String(),
  /** The start of the copy, RFC 3339. */
  made_at: Type.String(),
  /** The id of the master key that encrypts the file. */
  key_id: Type.String(),
  /** 32 random bytes in base64; also the id of the file. */
  salt: Type.String(),
  /** Verifies the master key and the environment before anything is decrypted. */
  check: Type.String(),
  /** The first 16 bytes of SHA-256 over the sealed root key: distinguishes the copies of two vaults. */
  installation: Type.String(),
});

/**
 * The first line of a backup, in plain JSON: all that a file shows without the master key. It is authenticated by the
 * frames.
 */
type BackupHeader = Static<typeof Header>;

/** The counts that a backup contains at its end. */
export interface BackupCounts {
  readonly accounts: number;
  readonly keys: number;
  readonly items: number;
  readonly records: number;
}

/**
 * Writes the header and returns the writer of the records. They are collected into frames of about 256 KB; at most
 * one is in memory. Frames are numbered and the last one is marked, so reordering and truncation are detected.
 */
export async function createBackupWriter(
  output: Output,
  { env }: Config,
  ring: MasterKeyRing,
  root: Uint8Array,
  madeAt: number,
) {
  const salt = randomBytes(32);
  const masterKey = ring.keys.get(ring.writeId);
  if (masterKey === undefined) {
    throw new RangeError('a ring holds the key that it writes with');
  }
  const seal = new BackupSeal(masterKey, env, salt);
  const header: BackupHeader = {
    format: 'cardvault-backup',
    version: 1,
    environment: env,
    server: version,
    made_at: new Date(madeAt).toISOString(),
    key_id: ring.writeId,
    salt: salt.toString('base64'),
    check: seal.check.toBase64(),
    installation: createHash('sha256').update(root).digest().subarray(0, 16).toString('base64'),
  };
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  // Every frame authenticates the header, so the header cannot be changed.
  seal.bind(line);
  await output.write(line);
  let [bytes, frames, records, size] = [line.length, 0, 0, 0];
  let waiting: Buffer[] = [];
  // Frames are written one after another, in order.
  let writing: Promise<void> = Promise.resolve();
  const add = (encoded: Buffer): void => {
    waiting.push(encoded);
    size += encoded.length;
  };
  const flush = (isLast: boolean): Promise<void> => {
    const sealed = seal.seal({ number: frames, isLast }, Buffer.concat(waiting));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(sealed.length);
    frames += 1;
    bytes += LENGTH_BYTES + sealed.length;
    [waiting, size] = [[], 0];
    writing = writing.then(() => output.write(Buffer.concat([length, sealed])));
    return writing;
  };
  return {
    /** Resolves when the next record can be added: when the current frame has been written, if it is full. */
    async add(record: BackupRecord): Promise<void> {
      records += 1;
      add(encodeRecord(record));
      await (size >= FRAME_BYTES ? flush(false) : undefined);
    },
    /** Writes the counts and the last frame; resolves with the size of the file in bytes. */
    async finish(counts: { readonly accounts: number; readonly keys: number; readonly items: number }) {
      add(encodeRecord(recordOf('end', '', [JSON.stringify({ ...counts, records })])));
      await flush(true);
      return { bytes, records };
    },
  };
}

function reject(message: string): never {
  throw new CommandError(message, 1);
}

function rejectUnreadable(error: unknown): never {
  throw unreadable(error);
}

const NO_BACKUP = 'FILE is no backup of this version of Cardvault.';
const CHANGED = 'FILE was changed or is damaged; nothing of it can be trusted.';
const CUT = 'FILE ends too early: it was cut off.';

function parseHeader(line: string): BackupHeader {
  try {
    const header: unknown = JSON.parse(line);
    return Value.Check(Header, header) ? header : reject(NO_BACKUP);
  } catch {
    return reject(NO_BACKUP);
  }
}

/** A backup whose header fits the settings. */
export interface OpenBackup {
  readonly header: BackupHeader;
  /** The size of the file. */
  readonly bytes: number;
  /**
   * All records in order; a frame is authenticated before any of its records is returned. `end` is the last one, and
   * is only returned by a complete file. `seen` receives the number of bytes read so far.
   */
  readonly records: (seen: (bytes: number) => void) => AsyncGenerator<BackupRecord>;
}

/** Reads bytes of the file; rejects if it ends before. */
async function readAt(path: string, at: number, length: number): Promise<Buffer> {
  const part = Bun.file(path).slice(at, at + length);
  const bytes = await part.bytes().catch(rejectUnreadable);
  return bytes.length === length ? Buffer.from(bytes.buffer) : reject(CUT);
}

/** Decrypts a frame. Rejects with the reason: a changed or a truncated file. */
function openFrame(seal: BackupSeal, number: number, isLast: boolean, sealed: Uint8Array): Uint8Array {
  try {
    return seal.open({ number, isLast }, sealed);
  } catch {
    // A frame in the middle of a complete file that is now the last one: the rest is missing.
    if (isLast) {
      openFrame(seal, number, false, sealed);
      return reject(CUT);
    }
    return reject(CHANGED);
  }
}

/** Returns the seal of a file, under the key of the ring that fits. */
function sealFor(
  { environment, check, salt }: BackupHeader,
  ring: MasterKeyRing,
  env: Config['env'],
): BackupSeal {
  if (environment !== env) {
    const other = environment === 'production' ? 'production' : 'staging';
    reject(`FILE was made in another environment (${other}); VAULT_ENV is ${env}.`);
  }
  const known = Buffer.from(check, 'base64');
  // Any key of the ring may fit: the file may be older than the last rotation.
  const seals = [...ring.keys.values()].map((key) => new BackupSeal(key, env, Buffer.from(salt, 'base64')));
  return (
    seals.find((seal) => seal.matches(known)) ??
    reject('The master key does not fit FILE. Use the key that the vault had when the backup was made.')
  );
}

/**
 * Opens a backup and authenticates its header. Rejects, with a message of one line, a file that is no backup, or that
 * was made with another master key or in another environment. Frames are checked when they are read.
 */
export async function openBackup(path: string, ring: MasterKeyRing, env: Config['env']): Promise<OpenBackup> {
  const stat = await Bun.file(path).stat().catch(rejectUnreadable);
  const size = stat.isFile() ? stat.size : reject('FILE is no file.');
  const start = await readAt(path, 0, Math.min(size, HEADER_BYTES_MAX));
  const line = start.subarray(0, start.indexOf('\n') + 1);
  const header = parseHeader(line.toString('utf8'));
  const seal = sealFor(header, ring, env);
  seal.bind(line);
  return {
    header,
    bytes: size,
    async *records(seen) {
      let at = line.length;
      for (let number = 0; at < size || number === 0; number += 1) {
        const length = (await readAt(path, at, LENGTH_BYTES)).readUInt32BE(0);
        if (length > FRAME_BYTES_MAX) {
          reject(CHANGED);
        }
        const sealed = await readAt(path, at + LENGTH_BYTES, length);
        at += LENGTH_BYTES + length;
        yield* decodeRecords(openFrame(seal, number, at >= size, sealed));
        seen(at);
      }
    },
  };
}
