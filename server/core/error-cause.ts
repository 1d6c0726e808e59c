/** What may be logged of an error that nobody expected: its class and frames, never its message. */
export interface Cause {
  readonly error: string;
  /** At most twelve frames, the innermost first. */
  readonly stack?: readonly string[];
}

/** The frames of a stack without its first lines, which repeat the message. */
const framesOf = (error: Error): readonly string[] => {
  const stack = error.stack ?? '';
  const start = error.message === '' ? 0 : stack.indexOf(error.message) + error.message.length;
  return stack
    .slice(start)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at '))
    .slice(0, 12);
};

/** Where in our code an unknown error comes from. Its message may hold data, and is left out. */
export const causeOf = (error: unknown): Cause =>
  error instanceof Error
    ? { error: error.constructor.name, stack: framesOf(error) }
    : { error: error === null ? 'null' : typeof error };
