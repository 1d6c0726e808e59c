import { causeOf, ReportedError } from '../../core/error-cause.ts';

/** A script, as far as the place of a fault in it is named. */
export interface ScriptPlace {
  /** What its file says first of it. */
  readonly name: string;
  /** The lines of the parts that are put before its own text. */
  readonly linesBefore: number;
}

const FRAMES_MAX = 12;

/** Only the script itself can be the reason for these; for all others it may be the data that it met. */
const OWN_FAULT =
  /compiling script|nonexistent global|Unknown Redis command|Wrong number of args|non local key/i;

/** Whether the message of Redis names a mistake in a script, whatever the data is. */
export function isOwnFault(message: string): boolean {
  return OWN_FAULT.test(message);
}

function lineFrame(message: string, { name, linesBefore }: ScriptPlace): string {
  const line = Number(/user_script:(\d+)/.exec(message)?.[1] ?? 0);
  return line > linesBefore
    ? `at ${name} (lua:${line - linesBefore})`
    : `at prelude of ${name} (lua:${line})`;
}

/**
 * Where a script failed: its name and line, then the frames of whoever ran it. To be called where the reply is awaited:
 * the error of the client was made in its parser, and has frames of that alone.
 */
export function scriptFault(error: Error, place: ScriptPlace): ReportedError {
  const here = new Error();
  Error.captureStackTrace(here, scriptFault);
  const frames = [lineFrame(error.message, place), ...(causeOf(here).stack ?? [])];
  return new ReportedError({ error: error.name, stack: frames.slice(0, FRAMES_MAX) });
}
