import { describe, expect, test } from 'bun:test';
import { causeOf, ReportedError } from '../server/core/error-cause.ts';
import { VaultError } from '../server/core/errors.ts';

const CANARY = 'canary-4111111111111111';

function thrown(message: string): Error {
  try {
    throw new TypeError(message);
  } catch (error) {
    return error as Error;
  }
}

describe('the cause of an error', () => {
  test.each([
    ['of one line', CANARY],
    ['of several lines', `${CANARY}\n${CANARY}`],
    ['that looks like a frame', `x\n    at ${CANARY} (/tmp/${CANARY}.ts:1:1)`],
    ['without text', ''],
  ])('has class, file and line, and nothing of a message %s', (_, message) => {
    const { error, stack = [] } = causeOf(thrown(message));
    expect(error).toBe('TypeError');
    expect(stack[0]).toMatch(/^at thrown \(\/.+\/test\/error-cause\.test\.ts:9:\d+\)$/);
    expect(stack.join()).not.toContain(CANARY);
  });

  test('is that of the innermost error, where a VaultError wraps one', () => {
    const inner = thrown(CANARY);
    const outer = new VaultError('internal', { cause: new VaultError('internal', { cause: inner }) });
    expect(causeOf(outer)).toEqual(causeOf(inner));
  });

  test('is what was reported of another thread', () => {
    const reported = { error: 'RangeError', stack: ['at f (/x/workers/y.ts:1:2)'] };
    expect(causeOf(new VaultError('internal', { cause: new ReportedError(reported) }))).toEqual(reported);
  });

  test('of an error that is its own cause comes to an end', () => {
    const error = new VaultError('internal');
    error.cause = error;
    expect(causeOf(error).error).toBe('VaultError');
  });

  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    [CANARY, 'string'],
  ])('of what is no error is its type: %p', (value, error) => {
    expect(causeOf(value)).toEqual({ error });
  });
});
