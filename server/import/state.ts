/**
 * The files of an import: `FILE.import`, by which an interrupted one continues, and `FILE.errors`, with a line of JSON for
 * each rejected row. Neither contains anything of a row but its line and the names of its parts.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readFile, rename, rm } from 'node:fs/promises';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { CommandError } from '../cli/command.ts';
import { errorCode } from '../config/folder.ts';
import type { BatchError } from '../vault/batch/schema.ts';

const COUNT = Type.Integer({ minimum: 0 });
const State = Type.Object({
  version: Type.Literal(1),
  /** The seed of all items: stored ones are not stored again. */
  id: Type.String(),
  /** SHA-256 of the options of the command line, in hex. */
  asked: Type.String(),
  /** Rows that have their result; those after them may have been stored too. */
  rows: COUNT,
  /** SHA-256 of the places and lengths of these rows, in hex: an import cannot continue with another file. */
  layout: Type.String(),
  /** Stored items, and the number of them that replaced one. */
  items: COUNT,
  replaced: COUNT,
  refused: COUNT,
  /** Rows without a number that were skipped. */
  skipped: Type.Optional(COUNT),
  /** Bytes of `FILE.errors` that belong to these rows. */
  error_bytes: COUNT,
  /** End of a complete import. It is shown: a forged file must not control the terminal. */
  ended_at: Type.Optional(Type.String({ pattern: '^[0-9TZ:.-]+$' })),
});
/** The progress of an import. */
type State = Static<typeof State>;

/** The error of a row, and the line of the file where the row begins. */
export type RejectedRow = BatchError & { readonly line: number };

const MODE = 0o600;
/** Follows no link: in a folder that is writable by others it could lead to any file. */
const ERRORS_FLAGS = constants.O_APPEND | constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW;

/** The files of one import. */
export class Journal {
  /** Errors that are not written yet. */
  private lines = '';
  private begun: Promise<void> | undefined;

  constructor(
    private readonly path: string,
    readonly state: State,
  ) {}

  /** Writes the state of a new import, before the first rows are stored: one that never began leaves no file. */
  begin(): Promise<void> {
    this.begun ??= write(`${this.path}.import`, this.state);
    return this.begun;
  }

  /** Adds the rejected rows of the last batch; in memory until `save`. */
  reject(rows: readonly RejectedRow[]): void {
    this.lines += rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  }

  /** Writes the errors, then the state. Both survive the end of the process and of the machine. No-op before `begin`. */
  async save(): Promise<void> {
    if (this.begun === undefined) {
      return;
    }
    if (this.lines !== '') {
      await this.saveErrors();
    }
    await write(`${this.path}.import`, this.state);
  }

  private async saveErrors(): Promise<void> {
    try {
      await using file = await open(`${this.path}.errors`, ERRORS_FLAGS, MODE);
      // Errors of rows that are imported again are written again.
      await file.truncate(this.state.error_bytes);
      await file.appendFile(this.lines);
      await file.sync();
    } catch (error) {
      throw new CommandError(`${this.path}.errors cannot be written (${errorCode(error)}).`, 1);
    }
    this.state.error_bytes += Buffer.byteLength(this.lines);
    this.lines = '';
  }
}

async function readState(path: string): Promise<State | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') {
      return undefined;
    }
    throw new CommandError(`${path} cannot be read.`, 1);
  });
  if (text === undefined) {
    return undefined;
  }
  try {
    return Value.Decode(State, JSON.parse(text));
  } catch {
    throw new CommandError(`${path} is not the state of an import.`, 1);
  }
}

/** Opens the files of an import, `PATH.import` and `PATH.errors`. Throws for those of another import, and of a complete one. */
export async function openJournal(path: string, asked: string): Promise<Journal> {
  const found = await readState(`${path}.import`);
  if (found === undefined) {
    // Even a dangling link is an existing file.
    if (await lstat(`${path}.errors`).catch(() => undefined)) {
      throw new CommandError(`${path}.errors is there already: move it away first.`, 1);
    }
    const nothing = { rows: 0, layout: '', items: 0, replaced: 0, refused: 0, error_bytes: 0 };
    return new Journal(path, { version: 1, id: randomBytes(16).toString('base64url'), asked, ...nothing });
  }
  if (found.ended_at !== undefined) {
    throw new CommandError(
      `FILE was imported at ${found.ended_at}. To import it once more, remove ${path}.import and ${path}.errors.`,
      1,
    );
  }
  if (found.asked !== asked) {
    throw new CommandError(
      `${path}.import is of an import with other options: give the same ones to go on, or remove it to begin anew.`,
      1,
    );
  }
  return new Journal(path, found);
}

async function write(path: string, state: State): Promise<void> {
  const part = `${path}.part`;
  try {
    // The file of a killed import, or a foreign link, is replaced and never written through.
    await rm(part, { force: true });
    const file = await open(part, 'wx', MODE);
    try {
      await file.writeFile(`${JSON.stringify(state)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } catch (error) {
    throw new CommandError(`${path} cannot be written (${errorCode(error)}).`, 1);
  }
}
