import { causeOf, ReportedError } from '../core/error-cause.ts';

/** The part of a script that describes the position of an error. */
export interface ScriptPlace {
  /** The name in the first line of its file. */
  readonly name: string;
  /** The lines of the parts before its own text. */
  readonly linesBefore: number;
}

const FRAMES_MAX = 12;

/** Errors that only the script itself can cause; all others may be caused by the data. */
const OWN_FAULT =
  /compiling script|nonexistent global|Unknown Redis command|Wrong number of args|non local key/i;

/** Whether the message of Redis reports a bug in a script, independent of the data. */
export function isOwnFault(message: string): boolean {
  return OWN_FAULT.test(message);
}

/** The stack frame of the line that failed, in the script or in its prelude. */
function lineFrame(message: string, { name, linesBefore }: ScriptPlace): string {
  const line = Number(/user_script:(\d+)/.exec(message)?.[1] ?? 0);
  return line > linesBefore
    ? `at ${name} (lua:${line - linesBefore})`
    : `at prelude of ${name} (lua:${line})`;
}

/**
 * Where a script failed: its name and line, then the stack frames of its caller. Call it where the reply is awaited,
 * because the error of the client was created in its parser and has only frames of that.
 */
export function scriptFault(error: Error, place: ScriptPlace): ReportedError {
  const here = new Error();
  Error.captureStackTrace(here, scriptFault);
  const frames = [lineFrame(error.message, place), ...(causeOf(here).stack ?? [])];
  return new ReportedError({ error: error.name, stack: frames.slice(0, FRAMES_MAX) });
}
