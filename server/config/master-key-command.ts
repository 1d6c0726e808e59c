import type { Secret } from '../core/secret.ts';
import { errorCode } from './folder.ts';
import { BadValue, ConfigError, type Environment } from './reader.ts';
import { type MasterKeyRing, parseMasterKeyBytes } from './ring.ts';
import { SERVER_SETTING_NAMES } from './settings.ts';

const MS_MAX = 10_000;
/** The size limit of its output: a ring of hundreds of keys. */
const BYTES_MAX = 65_536;
const NEXT = "Its output is never shown: run it in a shell as the server's user to see why";

export interface MasterKeyCommand {
  readonly line: string;
  readonly environment: Environment;
}

/** Creates the command of a line. It gets the environment without the settings of the server, some of which are secrets. */
export function masterKeyCommandOf(line: Secret<string>, environment: Environment): Secret<MasterKeyCommand> {
  const settings: ReadonlySet<string> = new Set(SERVER_SETTING_NAMES);
  const others = Object.fromEntries(Object.entries(environment).filter(([name]) => !settings.has(name)));
  return line.map((text) => ({ line: text, environment: others }));
}

function fail(cause: string): never {
  throw new ConfigError('VAULT_MASTER_KEY_COMMAND', `${cause}. ${NEXT}`);
}

/** Starts the command as the leader of a process group, so that all its processes can be ended. */
function start({ line, environment }: MasterKeyCommand) {
  try {
    return Bun.spawn(['/bin/sh', '-c', line], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
      env: environment,
    });
  } catch (error) {
    return fail(`could not start /bin/sh (${errorCode(error)})`);
  }
}

interface Reader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>;
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** Ends a running command at a signal that ends this process. Returns a function that removes the handlers. */
function endWithThisProcess(kill: () => void): () => void {
  // SIGHUP ends this process only without a handler: a supervisor restarts its processes.
  const hangUp = process.listenerCount('SIGHUP') === 0 ? (['SIGHUP'] as const) : [];
  const signals = ['SIGINT', 'SIGTERM', ...hangUp] as const;
  const onSignal = (signal: NodeJS.Signals): void => {
    kill();
    forget();
    // Without another handler the signal ends this process, as it would have done before.
    if (process.listenerCount(signal) === 0) {
      process.kill(process.pid, signal);
    }
  };
  const forget = (): void => {
    for (const signal of signals) {
      process.off(signal, onSignal);
    }
  };
  for (const signal of signals) {
    process.on(signal, onSignal);
  }
  return forget;
}

/** Reads to the end, into `output`; the length, or undefined when there is more. Pieces are wiped. */
async function fill(output: Uint8Array, reader: Reader): Promise<number | undefined> {
  let length = 0;
  for (let next = await reader.read(); next.value !== undefined; next = await reader.read()) {
    const piece = next.value;
    const fits = length + piece.length <= output.length;
    if (fits) {
      output.set(piece, length);
      length += piece.length;
    }
    piece.fill(0);
    if (!fits) {
      return undefined;
    }
  }
  return length;
}

function parse(output: Uint8Array): Secret<MasterKeyRing> {
  try {
    return parseMasterKeyBytes(output);
  } catch (error) {
    return fail(
      `printed no ring: its output ${error instanceof BadValue ? error.message : 'cannot be read'}`,
    );
  }
}

/** The failure of a command that has ended; undefined if it has succeeded. */
function causeOf(child: ReturnType<typeof start>): string | undefined {
  if (child.signalCode !== null) {
    return `was ended by ${child.signalCode}`;
  }
  return child.exitCode === 0 ? undefined : `ended with exit code ${child.exitCode}`;
}

/** Runs the command to its end; returns the number of bytes that it has printed, into `output`. */
async function execute(command: MasterKeyCommand, output: Uint8Array): Promise<number> {
  let killedFor: string | undefined;
  let end = (): void => undefined;
  const kill = (why: string): void => {
    killedFor ??= why;
    end();
  };
  // Before the start: otherwise the command could outlive a signal in between.
  const forget = endWithThisProcess(() => kill('was killed because this process was asked to end'));
  const timer = setTimeout(() => kill('did not end within 10 seconds and was killed'), MS_MAX);
  try {
    const child = start(command);
    const reader = child.stdout.getReader();
    end = () => {
      killGroup(child.pid);
      // A process that has left the group may still hold the pipe.
      void reader.cancel().catch(() => undefined);
    };
    const length = await fill(output, reader);
    if (length === undefined) {
      kill('printed more than 64 KB and was killed');
    }
    await child.exited;
    const cause = killedFor ?? causeOf(child) ?? (length === 0 ? 'printed nothing' : undefined);
    return cause === undefined && length !== undefined ? length : fail(cause ?? 'was killed');
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/** Runs the command and parses its output, which is then wiped. The `ConfigError` of a failure contains no output. */
export async function runMasterKeyCommand(command: Secret<MasterKeyCommand>): Promise<Secret<MasterKeyRing>> {
  const output = new Uint8Array(BYTES_MAX);
  try {
    return parse(output.subarray(0, await execute(command.expose(), output)));
  } finally {
    output.fill(0);
  }
}
