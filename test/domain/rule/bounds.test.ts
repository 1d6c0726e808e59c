import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { VaultError } from '../../../server/core/errors.ts';
import { type JsonObject, jsonByteLength } from '../../../server/domain/json/json.ts';
import { parsePath } from '../../../server/domain/json/path.ts';
import { createWorkBudget } from '../../../server/domain/rule/budget.ts';
import type { RuleOperation } from '../../../server/domain/rule/check.ts';
import { checkOperations } from '../../../server/domain/rule/check.ts';
import { compileRules, type RuleEnvironment, runRules } from '../../../server/domain/rule/engine.ts';
import { copyJson, WorkingObject } from '../../../server/domain/rule/working.ts';
import { startCpuClock } from '../../helpers/cpu-clock.ts';
import { jsonObject } from '../json/arbitrary.ts';
import { HOSTILE_PROGRAMS } from './hostile.ts';
import { objectOf, outcome, run } from './run.ts';

const BYTES_MAX = 1_048_576;
/** Of CPU time. Generous: the programs end within about 100 ms. */
const MS_MAX = 1500;

const REAL: RuleEnvironment = { now: startCpuClock(), randomBytes };

/** How a program ends: `result`, or `limit`. The result is within all bounds. */
function ending(operations: readonly RuleOperation[], object: JsonObject): string {
  let result: JsonObject;
  try {
    result = runRules(compileRules([checkOperations(operations)]), object, REAL);
  } catch (error) {
    expect(error).toBeInstanceOf(VaultError);
    expect(error).toMatchObject({ code: 'rule_limit', field: undefined });
    return 'limit';
  }
  expect(jsonByteLength(result)).toBeLessThanOrEqual(BYTES_MAX);
  return 'result';
}

describe('hostile programs end in time', () => {
  test.each(HOSTILE_PROGRAMS.map((entry) => [entry.about, entry] as const))('%s', (_about, entry) => {
    const object = objectOf(entry.input);
    const cpuMs = startCpuClock();
    const ends = ending(entry.operations, object);
    expect(cpuMs()).toBeLessThan(MS_MAX);
    expect(entry.ends === 'either' ? ['limit', 'result'] : [entry.ends]).toContain(ends);
  });
});

describe('time', () => {
  /** A clock that moves on with every look at it. */
  const clock = (stepMs: number): RuleEnvironment => {
    let ms = 5000;
    return { ...REAL, now: () => (ms += stepMs) };
  };
  const noops = (count: number): RuleOperation[] =>
    Array<RuleOperation>(count).fill({ name: 'noop', input_field: 'a' });

  test('100 ms for all rules of an item', () => {
    expect(run(noops(2), '{"a":1}', clock(25))).toBe('{"a":1}');
    expect(outcome(() => run(noops(3), '{"a":1}', clock(25)))).toBe('rule_limit');
  });

  test('is looked at while a template runs', () => {
    const operation: RuleOperation = { name: 'template', arguments: { template: '{{#a}}{{b}}{{/a}}' } };
    const input = `{"a":[${Array(5000).fill('1').join(',')}]}`;
    expect(run([operation], input, clock(1))).toBe(input);
    expect(outcome(() => run([operation], input, clock(20)))).toBe('rule_limit');
  });

  test('steps are bounded even when the clock stands still', () => {
    const { spend } = createWorkBudget(() => 0);
    spend(1_000_000);
    expect(() => spend(1)).not.toThrow();
    expect(() => spend(1000)).toThrow(VaultError);
  });
});

describe('size and depth', () => {
  const filled = (bytes: number): string => `{"a":"${'x'.repeat(bytes - '{"a":""}'.length)}"}`;
  const noop: RuleOperation = { name: 'noop', input_field: 'b' };

  test('an object of 1,048,576 bytes is taken, one more byte is not', () => {
    expect(run([noop], filled(BYTES_MAX))).toHaveLength(BYTES_MAX);
    expect(outcome(() => run([noop], filled(BYTES_MAX + 1)))).toBe('rule_limit');
  });

  test('an operation may fill the object to the last byte', () => {
    const member = ',"b":"123"'.length;
    const operation: RuleOperation = {
      name: 'format',
      output_field: 'b',
      arguments: { format_string: '123' },
    };
    expect(run([operation], filled(BYTES_MAX - member))).toHaveLength(BYTES_MAX);
    expect(outcome(() => run([operation], filled(BYTES_MAX - member + 1)))).toBe('rule_limit');
  });

  test('64 levels are taken, one more is not', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    const operation: RuleOperation = { name: 'parse_json', input_field: 'a', output_field: 'b.c' };
    expect(run([operation], `{"a":"${nested(62)}"}`)).toContain(`"b":{"c":${nested(62)}}`);
    expect(outcome(() => run([operation], `{"a":"${nested(63)}"}`))).toBe('rule_limit');
  });

  test('after any writes there is room for exactly what is missing to the limit', () => {
    const field = fc.constantFrom('a', 'b', 'a.b', 'a.b.c', 'b.0', 'b.1.x', '*', '__proto__.é"');
    const value = jsonObject(fc.constantFrom('a', 'b', 'é"')).chain((object) =>
      fc.constantFrom(object, [object, 'x'], ...object.values()),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(field, value), { maxLength: 12 }), (writes) => {
        const fill = (extra: number): void => {
          const working = new WorkingObject(new Map());
          for (const [path, written] of writes) {
            working.write(parsePath(path), copyJson(written));
          }
          const used =
            jsonByteLength(working.current()) + (working.current().size === 0 ? 0 : 1) + '"zz":""'.length;
          working.write(parsePath('zz'), 'x'.repeat(BYTES_MAX - used + extra));
        };
        expect(() => fill(0)).not.toThrow();
        expect(() => fill(1)).toThrow(VaultError);
      }),
      { numRuns: 30 },
    );
  });
});
