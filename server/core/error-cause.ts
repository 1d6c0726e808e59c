import { type ErrorCode, VaultError } from './errors.ts';

/** The loggable part of an unexpected error: class and stack frames, never the message, which may contain data. */
export interface Cause {
  readonly error: string;
  /** At most twelve frames `at function (file:line:column)`, the innermost first. */
  readonly stack?: readonly string[];
  readonly cause?: Cause;
}

/** An error of another thread or of a script in Redis: only its cause is known, not the error itself. */
export class ReportedError extends Error {
  override readonly name = 'ReportedError';
  readonly reported: Cause;

  constructor(reported: Cause) {
    super('An error was reported from elsewhere.');
    this.reported = reported;
  }
}

/** Enough to name the caller of a failed function, and short enough for a log line. */
const FRAMES_MAX = 12;
/** The longest chain of causes: an error may, by mistake, be its own cause. */
const CAUSES_MAX = 8;

/** `at function (file:line:column)` or `at file:line:column`, where the file is a path or a module of the runtime. */
const FRAME = /^at (?:[\w$.<># ]{1,100} \()?(?:\/|file:|node:|bun:)[^\s()]*:\d+:\d+\)?$/;

/** The frames of an error. The first lines of a stack repeat the message, and are omitted like all other lines. */
function framesOf(error: Error): readonly string[] {
  const stack = error.stack ?? '';
  const start = error.message === '' ? 0 : stack.indexOf(error.message) + error.message.length;
  return stack
    .slice(start)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => FRAME.test(line))
    .slice(0, FRAMES_MAX);
}

/** Follows the causes of a VaultError to the error that it stands for; any other error is returned unchanged. */
function unwrapped(error: unknown): unknown {
  let inner = error;
  for (let i = 0; i < CAUSES_MAX && inner instanceof VaultError && inner.cause !== undefined; i++) {
    inner = inner.cause;
  }
  return inner;
}

/** The class and stack frames of an error, from any thread, and of its causes, without messages. Never throws. */
export function causeOf(error: unknown, depth = 1): Cause {
  const inner = unwrapped(error);
  if (inner instanceof ReportedError) {
    return inner.reported;
  }
  if (!(inner instanceof Error)) {
    return { error: inner === null ? 'null' : typeof inner };
  }
  const own = { error: inner.constructor.name, stack: framesOf(inner) };
  return inner.cause === undefined || depth === CAUSES_MAX
    ? own
    : { ...own, cause: causeOf(inner.cause, depth + 1) };
}

/** The error that a caller receives: a VaultError unchanged, any other error as `internal` with that error as its cause. */
export function asVaultError(error: unknown): VaultError {
  return error instanceof VaultError ? error : new VaultError('internal', { cause: error });
}

/** True if the log must contain the cause of an error: `internal`, and others with a cause that are not temporary (503). */
export function isFault({ code, cause, status }: VaultError): boolean {
  return code === 'internal' || (cause !== undefined && status !== 503);
}

/** The fields of a log line about an error: its code and, if its origin must be logged, class and stack frames. */
export function failureFields(error: unknown): { readonly code: ErrorCode } & Partial<Cause> {
  const failure = asVaultError(error);
  return isFault(failure) ? { code: failure.code, ...causeOf(error) } : { code: failure.code };
}
