import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
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

/** The first line of a backup, in plain JSON: all that a file says to somebody without the master key. */
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

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const frameOf = (sealed: Uint8Array): Buffer => {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(sealed.length);
  return Buffer.concat([length, sealed]);
};

/** Begins a file with its header. Records are gathered into frames of about 256 KB, and never more than one is held. */
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
  let bytes = line.length;
  let frames = 0;
  let records = 0;
  let waiting: Buffer[] = [];
  let size = 0;
  let writing: Promise<void> = Promise.resolve();

  const flush = (isLast: boolean): Promise<void> => {
    const frame = frameOf(seal.seal({ number: frames, isLast }, Buffer.concat(waiting)));
    frames += 1;
    bytes += frame.length;
    waiting = [];
    size = 0;
    writing = writing.then(() => output.write(frame));
    return writing;
  };

  return {
    async add(record) {
      const encoded = encodeRecord(record);
      records += 1;
      waiting.push(encoded);
      size += encoded.length;
      if (size >= FRAME_BYTES) {
        await flush(false);
      }
    },
    async finish(counts) {
      const all: BackupCounts = { ...counts, records };
      waiting.push(encodeRecord(recordOf('end', '', [JSON.stringify(all)])));
      await flush(true);
      return { bytes, records };
    },
  };
}

const refuse = (text: string): never => {
  throw new CommandError(text, 1);
};

const NO_BACKUP = 'FILE is no backup of this version of Cardvault.';
const CHANGED = 'FILE was changed or is damaged; nothing of it can be trusted.';
const CUT = 'FILE ends too early: it was cut off.';

const parseHeader = (line: string): BackupHeader => {
  try {
    const header: unknown = JSON.parse(line);
    return Value.Check(Header, header) ? header : refuse(NO_BACKUP);
  } catch {
    return refuse(NO_BACKUP);
  }
};

/** A backup whose header was checked against the settings at hand. */
export interface OpenBackup {
  readonly header: BackupHeader;
  readonly bytes: number;
  /**
   * All records in order, each frame authenticated before anything of it is given. `end` comes last, and only when
   * the file is whole. `seen` is told how many bytes have been read.
   */
  readonly records: (seen: (bytes: number) => void) => AsyncGenerator<BackupRecord>;
  readonly close: () => Promise<void>;
}

const readExactly = async (file: FileHandle, at: number, length: number): Promise<Buffer> => {
  const out = Buffer.alloc(length);
  let have = 0;
  while (have < length) {
    const { bytesRead } = await file.read(out, have, length - have, at + have);
    if (bytesRead === 0) {
      return refuse(CUT);
    }
    have += bytesRead;
  }
  return out;
};

const openFrame = (seal: BackupSeal, number: number, isLast: boolean, sealed: Uint8Array): Uint8Array => {
  try {
    return seal.open({ number, isLast }, sealed);
  } catch {
    // A frame that opens as one in the middle, and yet is the last one there, has lost what came behind it.
    if (isLast) {
      openFrame(seal, number, false, sealed);
      return refuse(CUT);
    }
    return refuse(CHANGED);
  }
};

const sealFor = (header: BackupHeader, ring: MasterKeyRing, env: Config['env']): BackupSeal => {
  if (header.environment !== env) {
    refuse(
      `FILE was made in another environment (${header.environment === 'production' ? 'production' : 'staging'}); VAULT_ENV is ${env}.`,
    );
  }
  const check = Buffer.from(header.check, 'base64');
  const seals = [...ring.keys.values()].map((key) =>
    createBackupSeal(key, env, Buffer.from(header.salt, 'base64')),
  );
  return (
    seals.find((seal) => check.length === seal.check.length && isCheckOf(seal, check)) ??
    refuse('The master key does not fit FILE. Use the key that the vault had when the backup was made.')
  );
};

/** Opens a backup. Refuses, in one line, what is none, or was made with another master key or environment. */
export async function openBackup(path: string, ring: MasterKeyRing, env: Config['env']): Promise<OpenBackup> {
  const file = await open(path, 'r').catch(() => refuse('FILE cannot be read.'));
  try {
    const stat = await file.stat();
    const size = stat.isFile() ? stat.size : refuse('FILE is no file.');
    const beginning = await readExactly(file, 0, Math.min(size, HEADER_BYTES_MAX));
    const lineBytes = beginning.indexOf('\n') + 1;
    const line = beginning.subarray(0, lineBytes);
    const header = parseHeader(line.toString('utf8'));
    const seal = sealFor(header, ring, env);
    seal.bind(line);
    return {
      header,
      bytes: size,
      close: () => file.close(),
      async *records(seen) {
        let at = lineBytes;
        for (let number = 0; at < size || number === 0; number += 1) {
          const length = (await readExactly(file, at, LENGTH_BYTES)).readUInt32BE(0);
          if (length > FRAME_BYTES_MAX) {
            refuse(CHANGED);
          }
          const sealed = await readExactly(file, at + LENGTH_BYTES, length);
          at += LENGTH_BYTES + length;
          yield* decodeRecords(openFrame(seal, number, at >= size, sealed));
          seen(at);
        }
      },
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}
