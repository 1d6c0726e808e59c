import type { Accounts } from '../account/accounts.ts';
import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/reader.ts';
import type { RandomId } from '../core/clock.ts';
import { StartError, VaultError } from '../core/errors.ts';
import { describeRefusal, refusalOf } from '../core/write-refusal.ts';
import { REVISION_GONE } from '../domain/account.ts';
import {
  type Command,
  type CommandBase,
  type CommandCall,
  CommandError,
  type Result,
  type Table,
} from './command.ts';
import { operatorAgent } from './operator.ts';
import { type OpenOutput, openFileOutput } from './output.ts';
import { type Line, readLine } from './parse.ts';
import { NO_PROGRESS, type ProgressScreen, startProgress } from './progress.ts';

/** An open vault, with the services that record the outcome of a command. */
interface OpenNeeds {
  readonly accounts: Accounts;
  readonly audit: Audit;
  readonly randomId: RandomId;
  readonly close: () => Promise<void>;
}

/** The process around the command line: its output, settings and signals. */
export interface Terminal<Needs extends OpenNeeds> extends ProgressScreen {
  readonly out: (text: string | Uint8Array) => void;
  /** Reads the settings; called for a valid command line only. */
  readonly config: () => Config;
  /** Opens the vault that the settings describe, with all that commands need of it. */
  readonly open: (config: Config) => Promise<Needs>;
  readonly signal: AbortSignal;
}

/** An error as one line. The message of an unexpected error is omitted, because it may contain data. */
function describeFailure(error: unknown): { readonly text: string; readonly exitCode: number } {
  if (error instanceof CommandError) {
    return { text: error.message, exitCode: error.exitCode };
  }
  const refusal = refusalOf(error);
  if (refusal !== undefined) {
    return { text: describeRefusal(refusal), exitCode: 1 };
  }
  const isKnown = error instanceof ConfigError || error instanceof VaultError || error instanceof StartError;
  return { text: isKnown ? error.message : 'The command failed unexpectedly.', exitCode: 1 };
}

function createCall(
  line: Line<CommandBase>,
  terminal: Terminal<OpenNeeds>,
  opened: OpenOutput[],
): CommandCall {
  return {
    argument: line.argument,
    options: line.options,
    json: line.json,
    signal: terminal.signal,
    progress: (label, unit, total) =>
      line.json || line.quiet ? NO_PROGRESS : startProgress(terminal, label, unit, total),
    async output(path) {
      if (path === undefined) {
        return { write: async (piece) => terminal.out(piece), commit: async () => undefined };
      }
      const output = await openFileOutput(path);
      opened.push(output);
      return output;
    },
  };
}

/** Settles like `work`, but rejects as soon as the command is stopped. `work` is not awaited then. */
async function stoppable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(new CommandError('Stopped.', 1));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) {
    stop();
  }
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Records a command in the logs of operator and account (PCI DSS 10.2.1.2). Rejects if it cannot, even after a change. */
async function runRecorded(
  { audit }: CommandBase,
  { argument, options }: CommandCall,
  needs: OpenNeeds,
  run: () => Promise<Result | undefined>,
): Promise<Result | undefined> {
  if (audit === undefined) {
    return run();
  }
  const { accounts } = needs;
  const name = audit.account === 'option' ? options['account'] : argument;
  const isOfAccount = audit.account !== undefined && typeof name === 'string';
  const identify = async () => (isOfAccount ? accounts.read(name) : undefined);
  // A deletion removes the account, a creation adds it: the id is known either before or after.
  const before = await identify();
  const record = async (outcome: string, entry?: Result['entry']): Promise<void> => {
    const now = await identify();
    const aid = before?.aid ?? now?.aid;
    const revision = now?.aid === aid ? now?.revision : REVISION_GONE;
    const event = {
      ...{ action: audit.action, outcome, actor: 'operator', ip: 'local' },
      userAgent: operatorAgent(),
      requestId: needs.randomId(),
      object: entry?.object ?? audit.object?.(options) ?? (isOfAccount ? `account/${name}` : undefined),
    };
    // The change of a record is in the log of its owner.
    await needs.audit.record({ ...event, aid: '', change: isOfAccount ? undefined : entry?.change });
    if (aid !== undefined) {
      const known = revision ? ({ kind: 'account', revision } as const) : undefined;
      await needs.audit.record({ ...event, aid, change: entry?.change ?? known });
    }
  };
  // The outcome is recorded before the result is printed.
  let result: Result | undefined;
  try {
    result = await run();
  } catch (error) {
    await record('failed');
    throw error;
  }
  await record('success', result?.entry);
  return result;
}

/** Runs a command, with the vault open if it needs that. */
async function perform<Needs extends OpenNeeds>(
  { command }: Line<Command<Needs>>,
  call: CommandCall,
  terminal: Terminal<Needs>,
): Promise<Result | undefined> {
  if (command.opens === 'nothing') {
    return stoppable(command.run(call), terminal.signal);
  }
  const config = terminal.config();
  if (command.opens === 'config') {
    return stoppable(command.run(call, config), terminal.signal);
  }
  const needs = await terminal.open(config);
  try {
    const work = () => stoppable(command.run(call, needs), terminal.signal);
    return await runRecorded(command, call, needs, work);
  } finally {
    await needs.close();
  }
}

/**
 * Runs one command line; never rejects. Resolves with the exit code: 0 for success, 1 for a failed command, 2 for an
 * invalid command line. Results are written to standard output, errors and progress to standard error.
 */
export async function runCommandLine<Needs extends OpenNeeds>(
  args: readonly string[],
  commands: readonly Command<Needs>[],
  terminal: Terminal<Needs>,
): Promise<number> {
  const opened: OpenOutput[] = [];
  try {
    const line = readLine(args, commands);
    if (line.kind === 'help') {
      terminal.out(`${line.text}\n`);
      return 0;
    }
    const result = await perform(line, createCall(line, terminal, opened), terminal);
    if (result === undefined) {
      return 0;
    }
    terminal.out(`${line.json ? JSON.stringify(result.data, null, 2) : resultText(result)}\n`);
    return result.failed === true ? 1 : 0;
  } catch (error) {
    const { text, exitCode } = describeFailure(error);
    terminal.err(`${text}\n`);
    return exitCode;
  } finally {
    await Promise.all(opened.map((output) => output.discard()));
  }
}

const GAP = '  ';
/** A cell with a number and an optional unit; columns of these are aligned to the right. */
const AMOUNT = /^-?[\d.,]+(?: ?(?:%|[kMGT]?i?B|[mµ]?s))?$/;

/** Replaces control characters, so that stored data cannot control the terminal. */
function plain(cell: string): string {
  return cell.replaceAll(/\p{Cc}/gu, '?');
}

function textOfTable({ heading, columns, rows, empty }: Table): string {
  if (rows.length === 0 && empty !== undefined) {
    return empty;
  }
  const cells = rows.map((row) => row.map(plain));
  const layout = columns.map((name, at) => {
    const column = cells.map((row) => row[at] ?? '');
    return {
      width: Math.max(...[name, ...column].map((cell) => Bun.stringWidth(cell))),
      toRight: column.length > 0 && column.every((cell) => cell === '' || AMOUNT.test(cell)),
    };
  });
  const line = (row: readonly string[]): string =>
    layout
      .map(({ width, toRight }, at) => {
        const cell = row[at] ?? '';
        const space = ' '.repeat(width - Bun.stringWidth(cell));
        return toRight ? `${space}${cell}` : `${cell}${space}`;
      })
      .join(GAP)
      .trimEnd();
  return [...(heading === undefined ? [] : [heading, '']), line(columns), ...cells.map(line)].join('\n');
}

/** A result as text and tables, with an empty line between two parts. */
function resultText({ shown }: Result): string {
  const parts = Array.isArray(shown) ? shown : [shown];
  return parts.map((part) => (typeof part === 'string' ? part : textOfTable(part))).join('\n\n');
}
