import type { SecurityEvent } from '../audit/audit.ts';
import type { AuditAction } from '../audit/schema.ts';
import type { Config } from '../config/config.ts';

/** A failed command; the message is one line for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  /** Exit code 2 is for an invalid command line, 1 for a valid one that failed. */
  constructor(
    message: string,
    readonly exitCode: 1 | 2,
  ) {
    super(message);
  }
}

/**
 * An option of a command. `flag` is present or absent; `switch` is `--name`, `--name=true` or `--name=false`; `text` and
 * `number` (a whole number within its bounds) have one value; `list` can be repeated. `value` is the placeholder in the help,
 * `other` a second name that the help leaves out.
 */
export type Option =
  | { readonly kind: 'flag' | 'switch'; readonly help: string }
  | { readonly kind: 'text' | 'list'; readonly value: string; readonly help: string; readonly other?: string }
  | {
      readonly kind: 'number';
      readonly value: string;
      readonly help: string;
      readonly minimum: number;
      readonly maximum: number;
    };

/** Options by name, without `help`, `json` and `quiet`, which every command has. */
export type OptionSet = Readonly<Record<string, Option>>;

interface ValueOf {
  readonly flag: true;
  readonly switch: boolean;
  readonly text: string;
  readonly number: number;
  readonly list: readonly string[];
}

/** The values of the given options; others are absent. */
export type Values<Options extends OptionSet> = {
  readonly [Name in keyof Options]?: ValueOf[Options[Name]['kind']];
};

export interface Progress {
  /** Sets the number of processed units, and the total if it has changed. */
  readonly at: (done: number, total?: number) => void;
  readonly end: () => void;
}

/** The destination of a long result: standard output, or a new private file that gets its name when complete and synced. */
export interface Output {
  /** Resolves when the piece was written to the file or terminal. */
  readonly write: (piece: string | Uint8Array) => Promise<void>;
  /** Completes the output. A file that is not committed is removed when the command ends. */
  readonly commit: () => Promise<void>;
}

export interface CommandValues<Options extends OptionSet> {
  readonly argument: string;
  readonly options: Values<Options>;
}

/** One call of a command: the values of its command line, and its output besides the result. */
export interface CommandCall<Options extends OptionSet = OptionSet> extends CommandValues<Options> {
  /** True if the result is printed as JSON. */
  readonly json: boolean;
  /** Starts to show progress. `unit` is a plural, such as `items`; without a total no percentage is shown. */
  readonly progress: (label: string, unit: string, total?: number) => Progress;
  /** Opens standard output, or a new file; throws a CommandError if the file exists or cannot be created. */
  readonly output: (path?: string) => Promise<Output>;
  /** Aborted when the command is stopped; it then ends with exit code 1. */
  readonly signal: AbortSignal;
}

/** A table. Columns of numbers are aligned to the right; `empty` is shown instead if there are no rows. */
export interface Table {
  readonly heading?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly empty?: string;
}

/** The result of a command: `data` is printed with `--json`, otherwise the parts of `shown`, one below the other. */
export interface Result {
  /** Any JSON value; members have wire names. */
  readonly data: unknown;
  readonly shown: string | Table | readonly (string | Table)[];
  /** The object of the entry in the security logs, and the change that it reports. */
  readonly entry?: { readonly object: string; readonly change: SecurityEvent['change'] };
  /** The command succeeded but found a problem: exit code 1. */
  readonly failed?: boolean;
}

/** A result; undefined if it was completely written to `output`. */
type Outcome = Promise<Result | undefined>;

/** The entry in the security log of the operator, and of the account that the command is about. */
export interface CommandAudit {
  readonly action: AuditAction;
  /** The place of the account's name: the argument, or the option `account`. */
  readonly account?: true | 'option';
  /** The object of the action, if the command line names another one than the account. */
  readonly object?: (options: Values<OptionSet>) => string;
}

/** The parts of a command that its help and its command line need. */
export interface CommandBase<Options extends OptionSet = OptionSet> {
  /** The words that call it, such as `account create`. */
  readonly words: readonly string[];
  /** The name of its argument, such as `FILE`, if it has one. */
  readonly argument?: string;
  readonly options: Options;
  readonly summary: string;
  /** Its entry in security logs, for success and failure; absent for a command that changes and shows nothing sensitive. */
  readonly audit?: CommandAudit;
  /** Checks the command line before anything is opened; throws a CommandError. */
  check?(values: CommandValues<Options>): void;
}

/** A command on an open vault, with the services that it needs. */
interface VaultCommand<Needs, Options extends OptionSet> extends CommandBase<Options> {
  readonly opens: 'vault';
  run(call: CommandCall<Options>, needs: Needs): Outcome;
}

interface ConfigCommand<Options extends OptionSet> extends CommandBase<Options> {
  readonly opens: 'config';
  run(call: CommandCall<Options>, config: Config): Outcome;
}

interface PlainCommand<Options extends OptionSet> extends CommandBase<Options> {
  readonly opens: 'nothing';
  run(call: CommandCall<Options>): Outcome;
}

/** A command; `Needs` are the services and facts of an open vault that it uses. */
export type Command<Needs, Options extends OptionSet = OptionSet> =
  | VaultCommand<Needs, Options>
  | ConfigCommand<Options>
  | PlainCommand<Options>;

/** Checks the types of a command against its own options. */
export function defineCommand<const Options extends OptionSet, Needs>(
  command: VaultCommand<Needs, Options>,
): VaultCommand<Needs, OptionSet>;
export function defineCommand<const Options extends OptionSet>(
  command: ConfigCommand<Options> | PlainCommand<Options>,
): Command<unknown>;
export function defineCommand(command: unknown): unknown {
  // Each command only receives its own options, see `readLine`.
  return command;
}
