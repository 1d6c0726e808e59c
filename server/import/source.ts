import { stat } from 'node:fs/promises';
import { openAgeFile } from '../../workers/crypto/record/age-file.ts';
import { CommandError } from '../cli/command.ts';
import { readTextFile, unreadable } from '../cli/file.ts';
import { streamOf } from '../core/byte-stream.ts';
import { LineReader, type Mapped, type NumberOptions } from './columns.ts';
import { csvRows } from './csv.ts';
import { type FileEnd, jsonRows } from './rows.ts';

/** The name of standard input. */
export const STANDARD_INPUT = '-';

/** Options of the file to import. */
export interface SourceOptions extends NumberOptions {
  readonly path: string;
  readonly format: 'csv' | 'ndjson' | 'age';
  readonly delimiter: string;
  readonly map: readonly Mapped[] | undefined;
  /** A file of age identities. */
  readonly identity: string | undefined;
}

async function* opened(bytes: AsyncGenerator<Uint8Array>, identity: string): AsyncGenerator<Uint8Array> {
  // As `age-keygen` writes them.
  const lines = (await readTextFile(identity)).split('\n').map((line) => line.trim());
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'));
  let isOpen = false;
  try {
    const stream = await openAgeFile(await streamOf(bytes), identities);
    isOpen = true;
    yield* stream;
  } catch (error) {
    if (error instanceof CommandError) {
      throw error;
    }
    throw new CommandError(
      isOpen
        ? 'FILE is damaged, or ends too early. What could be read of it was imported.'
        : 'FILE cannot be opened: it must be an age file that is not armored, and --identity one of its recipients’.',
      1,
    );
  }
}

/** Opens the file to import. Throws if it cannot be read. */
export async function openSource({ path, format, identity, ...options }: SourceOptions) {
  const isInput = path === STANDARD_INPUT;
  const size = isInput ? undefined : await sizeOf(path);
  let read = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const piece of isInput ? Bun.stdin.stream() : Bun.file(path).stream()) {
      read += piece.length;
      yield piece;
    }
  }
  const end: FileEnd = { isWhole: false };
  const bytes = format === 'age' ? opened(counted(), identity ?? '') : counted();
  const lines = format === 'csv' ? undefined : new LineReader(options.map, options);
  return {
    end,
    rows: lines ? jsonRows(bytes, end, (line) => lines.itemOf(line)) : csvRows(bytes, options),
    /** The paths of the map that no line had, after the last row. */
    missingPaths: () => lines?.missingPaths() ?? [],
    /** The part of the file that has been read, 0 to 1; undefined for standard input. */
    share: () => (size === undefined ? undefined : read / Math.max(1, size)),
  };
}

async function sizeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch((error: unknown) => {
    throw unreadable(error);
  });
  if (found.isDirectory()) {
    throw new CommandError('FILE is a folder.', 1);
  }
  // A pipe has no size.
  return found.isFile() ? found.size : undefined;
}
