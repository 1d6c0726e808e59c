import type { Session } from '../boot/open.ts';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/reader.ts';
import { VaultError } from '../core/errors.ts';
import { type CommandCall, CommandError, type Output, type Result } from './command.ts';
import { type OpenOutput, openFileOutput } from './output.ts';
import { type Line, readLine } from './parse.ts';
import { resultText } from './print.ts';
import { NO_PROGRESS, type ProgressScreen, startProgress } from './progress.ts';
import { recordedCommand } from './recorded.ts';

/** The process around the command line: its output, settings and signals. */
export interface Terminal extends ProgressScreen {
  /** Standard output. */
  readonly out: (text: string | Uint8Array) => void;
  /** Reads the settings; called for a valid command line only. */
  readonly config: () => Config;
  /** Opens the vault that the settings describe. */
  readonly open: (config: Config) => Promise<Session>;
  /** Aborted when the command is stopped. */
  readonly signal: AbortSignal;
}

/** An error as one line. The message of an unexpected error is omitted, because it may contain data. */
function describeFailure(error: unknown): { readonly text: string; readonly exitCode: number } {
  if (error instanceof CommandError) {
    return { text: error.message, exitCode: error.exitCode };
  }
  if (error instanceof ConfigError || error instanceof VaultError) {
    return { text: error.message, exitCode: 1 };
  }
  const text =
    error instanceof Error && error.name === 'StartError'
      ? error.message
      : 'The command failed unexpectedly.';
  return { text, exitCode: 1 };
}

/** Standard output as a destination; there is nothing to commit. */
function standardOutput({ out }: Terminal): Output {
  return { write: async (piece) => out(piece), commit: async () => undefined };
}

/** What a command receives. Files that it opens are added to `opened`. */
function createCall(line: Line, terminal: Terminal, opened: OpenOutput[]): CommandCall {
  return {
    argument: line.argument,
    options: line.options,
    json: line.json,
    signal: terminal.signal,
    progress: (label, unit, total) =>
      line.json || line.quiet ? NO_PROGRESS : startProgress(terminal, label, unit, total),
    async output(path) {
      if (path === undefined) {
        return standardOutput(terminal);
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

/** Opens what the command needs, runs it, and closes that again. */
async function perform(
  { command }: Line,
  call: CommandCall,
  terminal: Terminal,
): Promise<Result | undefined> {
  if (command.opens === 'nothing') {
    return stoppable(command.run(call), terminal.signal);
  }
  const config = terminal.config();
  if (command.opens === 'config') {
    return stoppable(command.run(call, config), terminal.signal);
  }
  // Closed in every case, so that the vault is not left open.
  const session = await terminal.open(config);
  try {
    const work = () => stoppable(command.run(call, session), terminal.signal);
    return await recordedCommand(command, call, session, work);
  } finally {
    await session.close();
  }
}

/**
 * Runs one command line; never rejects. Resolves with the exit code: 0 for success, 1 for a failed command, 2 for an
 * invalid command line. Results are written to standard output, errors and progress to standard error.
 */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const opened: OpenOutput[] = [];
  try {
    const line = readLine(args);
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
