/**
 * The files beside an import: `FILE.import`, by which it goes on after it was stopped, and `FILE.errors`, with a line of
 * JSON for each row that was refused. Neither has anything of a row but its line and the names of its parts.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readFile, rename, rm } from 'node:fs/promises';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { CommandError } from '../cli/command.ts';
import { errorCode } from '../config/folder.ts';
import type { Refusal } from './rows.ts';

const COUNT = Type.Integer({ minimum: 0 });
const State = Type.Object({
  version: Type.Literal(1),
  /** The seed of everything that is stored: what was stored is not stored again. */
  id: Type.String(),
  /** SHA-256 of what the command line asks for, in hex. */
  asked: Type.String(),
  /** Rows that have their result; those after them may have been stored too. */
  rows: COUNT,
  /** SHA-256 of the places and lengths of these rows, in hex: another file is not this one's rest. */
  layout: Type.String(),
  /** Items that were stored, and how many of them were there already. */
  items: COUNT,
  replaced: COUNT,
  refused: COUNT,
  /** Bytes of `FILE.errors` that belong to these rows. */
  error_bytes: COUNT,
  /** When the import was complete. It is shown: a file of somebody else's must not control the terminal. */
  ended_at: Type.Optional(Type.String({ pattern: '^[0-9TZ:.-]+$' })),
});
/** How far an import is. */
export type State = Static<typeof State>;

/** The files of one import. */
export interface Journal {
  readonly state: State;
  /** Writes the state of a new import, before the first rows are stored: one that never began leaves no file. */
  readonly begin: () => Promise<void>;
  /** Adds the refused rows of what was just imported; in memory until `save`. */
  readonly refuse: (rows: readonly { readonly line: number; readonly refusal: Refusal }[]) => void;
  /** Writes the errors, and then the state: both survive the end of the process and of the machine. Nothing before it began. */
  readonly save: () => Promise<void>;
}

const MODE = 0o600;
/** No link is followed: in a folder that others may write to it could lead to any file. */
const ERRORS_FLAGS = constants.O_APPEND | constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW;

/** Whether there is something of this name, even if it is a link to nothing. */
function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
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

/** The state that a command goes on with. */
async function stateFor(path: string, asked: string): Promise<State> {
  const found = await readState(`${path}.import`);
  if (found === undefined) {
    if (await exists(`${path}.errors`)) {
      throw new CommandError(`${path}.errors is there already: move it away first.`, 1);
    }
    const nothing = { rows: 0, layout: '', items: 0, replaced: 0, refused: 0, error_bytes: 0 };
    return { version: 1, id: randomBytes(16).toString('base64url'), asked, ...nothing };
  }
  if (found.ended_at !== undefined) {
    throw new CommandError(
      `FILE was imported at ${found.ended_at}. To import it once more, remove ${path}.import.`,
      1,
    );
  }
  if (found.asked !== asked) {
    throw new CommandError(
      `${path}.import is of an import with other options: give the same ones to go on, or remove it to begin anew.`,
      1,
    );
  }
  return found;
}

async function write(path: string, state: State): Promise<void> {
  const part = `${path}.part`;
  try {
    // What a killed import has left, or a link of somebody else's, is replaced and never written through.
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

/** Opens the files beside `path`. Throws for those of another import, and of one that is complete. */
export async function openJournal(path: string, asked: string): Promise<Journal> {
  const state = await stateFor(path, asked);
  let lines = '';
  let begun: Promise<void> | undefined;
  const saveErrors = async (): Promise<void> => {
    const file = await open(`${path}.errors`, ERRORS_FLAGS, MODE);
    try {
      // Those of rows that are imported once more are written once more.
      await file.truncate(state.error_bytes);
      await file.appendFile(lines);
      await file.sync();
    } finally {
      await file.close();
    }
    state.error_bytes += Buffer.byteLength(lines);
    lines = '';
  };
  return {
    state,
    begin() {
      begun ??= write(`${path}.import`, state);
      return begun;
    },
    refuse(rows) {
      for (const { line, refusal } of rows) {
        lines += `${JSON.stringify({ line, ...refusal })}\n`;
      }
    },
    async save() {
      if (begun === undefined) {
        return;
      }
      if (lines !== '') {
        await saveErrors().catch((error: unknown) => {
          throw new CommandError(`${path}.errors cannot be written (${errorCode(error)}).`, 1);
        });
      }
      await write(`${path}.import`, state);
    },
  };
}
