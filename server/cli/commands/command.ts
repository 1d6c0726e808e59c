import type { Session } from '../../boot/open.ts';
import type { Config } from '../../config/config.ts';
import type { AuditAction } from '../../http/schema/audit.ts';

/** A command that cannot be carried out; the message is one line for the operator. */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;

  /** Exit code 2 is for a command line that was wrong, 1 for a right one that failed. */
  constructor(message: string, exitCode: 1 | 2) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/**
 * An option that a command takes, by what its value is: `flag` is there or not; `switch` is `--name`, `--name=true`
 * or `--name=false`; `text` and `number` (whole, within its bounds) take one value; `list` may be repeated.
 * `value` is how the help writes the value.
 */
export type Option =
  | { readonly kind: 'flag' | 'switch'; readonly help: string }
  | { readonly kind: 'text' | 'list'; readonly value: string; readonly help: string }
  | {
      readonly kind: 'number';
      readonly value: string;
      readonly help: string;
      readonly minimum: number;
      readonly maximum: number;
    };

/** The options of a command by name. `help`, `json` and `quiet` are every command's and stand in no set. */
export type OptionSet = Readonly<Record<string, Option>>;

interface ValueOf {
  readonly flag: true;
  readonly switch: boolean;
  readonly text: string;
  readonly number: number;
  readonly list: readonly string[];
}

/** The values of the options that were given; those that were not are missing. */
export type Values<Options extends OptionSet> = {
  readonly [Name in keyof Options]?: ValueOf[Options[Name]['kind']];
};

/** Tells how far a long work has come; silent where nobody wants to see it. */
export interface Progress {
  /** How much is done, in the unit that the work was started with, and of how much, if that has changed. */
  readonly at: (done: number, total?: number) => void;
  readonly end: () => void;
}

/**
 * Where a long result goes piece by piece, for instance one JSON object a line: standard output, or a new file that
 * others cannot read. The file has its name only once it is whole and on disk.
 */
export interface Output {
  readonly write: (piece: string | Uint8Array) => Promise<void>;
  /** Says that all was written. A file without it is removed when the command ends. */
  readonly commit: () => Promise<void>;
}

/** One call of a command: what stood on the command line, and the ways out besides the result. */
export interface Call<Options extends OptionSet = OptionSet> {
  /** The command's argument; empty where it takes none. */
  readonly argument: string;
  readonly options: Values<Options>;
  readonly json: boolean;
  /** Begins to show a work. `unit` is a plural, such as `items`; without a total no share is shown. */
  readonly progress: (label: string, unit: string, total?: number) => Progress;
  /** Opens standard output, or a file that must not be there yet; throws a CommandError where it cannot. */
  readonly output: (path?: string) => Promise<Output>;
  /** Aborted when somebody stops the command; it then ends with exit code 1. */
  readonly signal: AbortSignal;
}

/** Rows under column names. Cells of digits stand to the right. `empty` is said when there is no row. */
export interface Table {
  readonly heading?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly empty?: string;
}

/** What a command found or did: `data` is printed with `--json`, `shown` otherwise, part below part. */
export interface Result {
  readonly data: unknown;
  readonly shown: string | Table | readonly (string | Table)[];
  /** Ends with exit code 1 all the same: the command did its work, and what it found is bad. */
  readonly failed?: boolean;
}

/** What a command gives: nothing when all that it has to say went through `output`. */
type Outcome = Promise<Result | undefined>;

/** What a command leaves in the operator's security log, and in that of the account that it is about. */
export interface CommandAudit {
  readonly action: AuditAction;
  /** Whether the argument is the name of an account. */
  readonly account?: boolean;
}

interface CommandBase<Options extends OptionSet> {
  readonly words: readonly string[];
  /** The name of its one argument, such as `FILE`, if it takes one. */
  readonly argument?: string;
  readonly options: Options;
  /** One line for the help. */
  readonly summary: string;
  /** What it leaves in security logs, done or refused; left out where it changes and shows nothing that matters. */
  readonly audit?: CommandAudit;
  /** Looks at the command line before anything is opened, and throws a CommandError where something is wrong. */
  check?(call: Pick<Call<Options>, 'argument' | 'options'>): void;
}

interface VaultCommand<Options extends OptionSet> extends CommandBase<Options> {
  readonly opens: 'vault';
  run(call: Call<Options>, session: Session): Outcome;
}

interface ConfigCommand<Options extends OptionSet> extends CommandBase<Options> {
  readonly opens: 'config';
  run(call: Call<Options>, config: Config): Outcome;
}

interface PlainCommand<Options extends OptionSet> extends CommandBase<Options> {
  readonly opens: 'nothing';
  run(call: Call<Options>): Outcome;
}

/**
 * One command: how it is called, what its help says, and what it does. `opens` says what there must be before it
 * runs: a vault that its master key fits, settings alone, or nothing.
 */
export type Command<Options extends OptionSet = OptionSet> =
  | VaultCommand<Options>
  | ConfigCommand<Options>
  | PlainCommand<Options>;

/** Checks a command against its own options, and gives it as one of many. */
export const defineCommand = <const Options extends OptionSet>(command: Command<Options>): Command =>
  command as unknown as Command;
