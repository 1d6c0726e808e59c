import { causeOf, ReportedError } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';

/** A Lua script. It is called by its SHA-1, and sent in full only if Redis does not have it yet. */
export interface Script {
  /** The name in the first line of its file. */
  readonly name: string;
  /** The number of lines of the preludes. */
  readonly linesBefore: number;
  readonly text: string;
  readonly sha: string;
}

/** Errors that say nothing about the command: the server, its memory or its permissions are the reason. */
const UNAVAILABLE =
  /^(?:OOM|MISCONF|READONLY|LOADING|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|MOVED|ASK|NOPERM|NOREPLICAS|BUSY|UNKILLABLE|NOAUTH|WRONGPASS)\b|ACL failure in script/;

/** True if Redis forbids or does not know a command that has failed. */
export function isForbiddenCommand(error: unknown): boolean {
  const reason = error instanceof VaultError ? error.cause : error;
  return reason instanceof Error && /^(?:NOPERM|ERR unknown command)/.test(reason.message);
}

/** The VaultError for a failure of Redis, with the place of a script's failure; an error that is a bug is returned unchanged. */
export function toVaultError(error: unknown, script?: Script): unknown {
  if (error instanceof VaultError || !(error instanceof Error)) {
    return error;
  }
  if (error.name !== 'ReplyError' || UNAVAILABLE.test(error.message)) {
    return new VaultError('store_unavailable', { cause: error });
  }
  const cause = script && scriptFault(error, script);
  // Scripts only read values that our scripts wrote. A value of another type was not written by this server.
  if (!OWN_FAULT.test(error.message) && /WRONGTYPE|not an integer|user_script/.test(error.message)) {
    return new VaultError('integrity_failed', { cause });
  }
  return cause === undefined ? error : new VaultError('internal', { cause });
}

const FRAMES_MAX = 12;

/** Errors that only the script itself can cause; all others may be caused by the data. */
const OWN_FAULT =
  /compiling script|nonexistent global|Unknown Redis command|Wrong number of args|non local key/i;

/**
 * The position of a failure in a script: its name and line, then the stack frames of its caller. Call it where the reply is
 * awaited, because the error was created by the reader of the connection and has only frames of that.
 */
function scriptFault(error: Error, { name, linesBefore }: Script): ReportedError {
  const here = new Error();
  Error.captureStackTrace(here, scriptFault);
  const line = Number(/user_script:(\d+)/.exec(error.message)?.[1] ?? 0);
  const frame =
    line > linesBefore ? `at ${name} (lua:${line - linesBefore})` : `at prelude of ${name} (lua:${line})`;
  const frames = [frame, ...(causeOf(here).stack ?? [])];
  return new ReportedError({ error: error.name, stack: frames.slice(0, FRAMES_MAX) });
}
