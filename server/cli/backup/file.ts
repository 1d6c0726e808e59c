import { createHash, randomBytes } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { type BackupSeal, createBackupSeal, isCheckOf } from '../../../workers/crypto/record/backup-seal.ts';
import type { Config, MasterKeyRing } from '../../config/config.ts';
import { CommandError, type Output } from '../commands/command.ts';
import { type BackupRecord, decodeRecords, encodeRecord, recordOf } from './record.ts';

const FRAME_BYTES = 256 * 1_024;
const FRAME_BYTES_MAX = 64 * 1_024 * 1_024;
const HEADER_BYTES_MAX = 4_096;
const LENGTH_BYTES = 4;

const Header = Type.Object({
  format: Type.Literal('cardvault-backup'),
  version: Type.Literal(1),
  environment: Type.String(),
  server: Type.String(),
  made_at: Type.String(),
  /** Which master key of the ring the file is sealed under. */
  key_id: Type.String(),
  /** 32 random bytes; they are also the file's id. */
  salt: Type.String(),
  check: Type.String(),
  /** SHA-256 of the installation's sealed root, of which the first 16 bytes: tells copies of two vaults apart. */
  installation: Type.String(),
});

/** The first line of a backup, in plain JSON: all that a file says without the master key. */
export type BackupHeader = Static<typeof Header>;

/** What is counted in a backup. */
export interface BackupCounts {
  readonly accounts: number;
  readonly keys: number;
  readonly items: number;
  readonly records: number;
}

/** Takes records one after the other. */
export interface BackupWriter {
  readonly add: (record: BackupRecord) => Promise<void>;
  /** Writes the counts and the last frame; gives the bytes of the file. */
  readonly finish: (counts: Omit<BackupCounts, 'records'>) => Promise<{ bytes: number; records: number }>;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function frameOf(sealed: Uint8Array): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(sealed.length);
  return Buffer.concat([length, sealed]);
}

/** Starts a file with its header. Records are gathered into frames of about 256 KB, and never more than one is held. */
export async function createBackupWriter(
  output: Output,
  facts: { env: Config['env']; server: string; madeAt: number; ring: MasterKeyRing; root: Uint8Array },
): Promise<BackupWriter> {
  const salt = randomBytes(32);
  const { env, ring } = facts;
  const masterKey = ring.keys.get(ring.writeId);
  if (masterKey === undefined) {
    throw new RangeError('a ring holds the key that it writes with');
  }
  const seal = createBackupSeal(masterKey, env, salt);
  const header: BackupHeader = {
    format: 'cardvault-backup',
    version: 1,
    environment: env,
    server: facts.server,
    made_at: new Date(facts.madeAt).toISOString(),
    key_id: ring.writeId,
    salt: base64(salt),
    check: base64(seal.check),
    installation: base64(createHash('sha256').update(facts.root).digest().subarray(0, 16)),
  };
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  seal.bind(line);
  await output.write(line);
  let [bytes, frames, records, size] = [line.length, 0, 0, 0];
  let waiting: Buffer[] = [];
  let writing: Promise<void> = Promise.resolve();
  const add = (encoded: Buffer): void => {
    waiting.push(encoded);
    size += encoded.length;
  };
  const flush = (isLast: boolean): Promise<void> => {
    const frame = frameOf(seal.seal({ number: frames, isLast }, Buffer.concat(waiting)));
    frames += 1;
    bytes += frame.length;
    [waiting, size] = [[], 0];
    writing = writing.then(() => output.write(frame));
    return writing;
  };
  return {
    async add(record) {
      records += 1;
      add(encodeRecord(record));
      await (size >= FRAME_BYTES ? flush(false) : undefined);
    },
    async finish(counts) {
      add(encodeRecord(recordOf('end', '', [JSON.stringify({ ...counts, records })])));
      await flush(true);
      return { bytes, records };
    },
  };
}

function reject(message: string): never {
  throw new CommandError(message, 1);
}

const NO_BACKUP = 'FILE is no backup of this version of Cardvault.';
const CHANGED = 'FILE was changed or is damaged; nothing of it can be trusted.';
const CUT = 'FILE ends too early: it was cut off.';
const UNREADABLE = 'FILE cannot be read.';

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
  readonly bytes: number;
  /**
   * All records in order, each frame authenticated before anything of it is given. `end` comes last, and only when
   * the file is whole. `seen` is called with the number of bytes that have been read.
   */
  readonly records: (seen: (bytes: number) => void) => AsyncGenerator<BackupRecord>;
}

async function readAt(path: string, at: number, length: number): Promise<Buffer> {
  const part = Bun.file(path).slice(at, at + length);
  const bytes = await part.bytes().catch(() => reject(UNREADABLE));
  return bytes.length === length ? Buffer.from(bytes.buffer) : reject(CUT);
}

function openFrame(seal: BackupSeal, number: number, isLast: boolean, sealed: Uint8Array): Uint8Array {
  try {
    return seal.open({ number, isLast }, sealed);
  } catch {
    // A frame that opens as one in the middle, and yet is the last one there, has lost what came behind it.
    if (isLast) {
      openFrame(seal, number, false, sealed);
      return reject(CUT);
    }
    return reject(CHANGED);
  }
}

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
  const seals = [...ring.keys.values()].map((key) => createBackupSeal(key, env, Buffer.from(salt, 'base64')));
  return (
    seals.find((seal) => known.length === seal.check.length && isCheckOf(seal, known)) ??
    reject('The master key does not fit FILE. Use the key that the vault had when the backup was made.')
  );
}

/** Opens a backup. Rejects, in one line, what is none, or was made with another master key or environment. */
export async function openBackup(path: string, ring: MasterKeyRing, env: Config['env']): Promise<OpenBackup> {
  const stat = await Bun.file(path)
    .stat()
    .catch(() => reject(UNREADABLE));
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
        const sealed = await readAt(
          path,
          at + LENGTH_BYTES,
          length > FRAME_BYTES_MAX ? reject(CHANGED) : length,
        );
        at += LENGTH_BYTES + length;
        yield* decodeRecords(openFrame(seal, number, at >= size, sealed));
        seen(at);
      }
    },
  };
}
