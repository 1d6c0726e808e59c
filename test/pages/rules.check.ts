import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringifyJson } from '../../server/domain/json/json.ts';
import type { RuleOperation } from '../../server/domain/rule/check.ts';
import { OPERATION_NAMES } from '../../server/domain/rule/operations.ts';
import { RULE_CASES } from '../domain/rule/cases.ts';
import { objectOf, outcome, rsaKeys, run } from '../domain/rule/run.ts';
import { inWordsOf } from './guide.ts';

const markdown = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'guides', 'rules.md'), 'utf8');
const { publicKey, privateKey } = rsaKeys(2048);
const KEYS = new Map<unknown, string>([
  ['(your public key)', publicKey],
  ['(a private key)', privateKey],
]);

type Arguments = Readonly<Record<string, unknown>>;

/** The cells of all rows of that many that begin with the name of an operation, with that first. */
function rowsOf(cells: number): string[][] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').slice(1, -1))
    .filter((row) => row.length === cells)
    .map(([name = '', ...rest]) => [name.replaceAll(/[` ]/g, ''), ...rest.map((cell) => cell.trim())])
    .filter(([name]) => OPERATION_NAMES.some((known) => known === name));
}

/** What stands in a cell as code. */
function codeOf(cell: string): string {
  return /^`(.*)`$/.exec(cell)?.[1] ?? '';
}

/** What an operation makes of the field `a` in the field `out`, in the words of the guide. */
function outOf(name: string, given: Arguments, a: string): string {
  const filled = Object.entries(given).map(([key, value]) => [key, KEYS.get(value) ?? value]);
  const operation = { name, input_field: 'a', output_field: 'out', arguments: Object.fromEntries(filled) };
  const result = outcome(() => run([operation as RuleOperation], a === '' ? '{}' : `{"a":${a}}`));
  if (!result.startsWith('{')) {
    return result.startsWith('invalid_request body[0].arguments') ? 'rejected' : result;
  }
  const out = objectOf(result).get('out');
  return out === undefined ? 'skipped' : stringifyJson(out);
}

const EXAMPLES = rowsOf(5).map(([name = '', kind, args = '', a = '', out = '']) => ({
  name,
  kind,
  given: JSON.parse(codeOf(args) || '{}') as Arguments,
  a: codeOf(a),
  out: codeOf(out) || out,
}));

/** The documented arguments of each operation, with the default of those that have one. */
const DOCUMENTED = new Map(
  rowsOf(3).map(([name = '', args = '']) => [
    name,
    new Map(
      [...args.matchAll(/`(\w+)` (?:= `([^`]*)`|required)/g)].map(([, argument = '', value]) => [
        argument,
        value,
      ]),
    ),
  ]),
);

/** Every documented argument with each example that tells whether it may be left out, and what it then is. */
const TRIALS = EXAMPLES.flatMap(({ name, kind, given, a }) =>
  [...(DOCUMENTED.get(name) ?? [])]
    .filter(([argument, value]) => argument in given || (kind === 'valid' && value !== undefined))
    .map(([argument, value]) => ({ name, argument, value, given, a })),
);

describe('the examples of the operations', () => {
  test('are one valid, one impossible and one hostile for each, in the published order', () => {
    const wanted = OPERATION_NAMES.flatMap((name) =>
      ['valid', 'impossible', 'hostile'].map((kind) => `${name} ${kind}`),
    );
    expect(EXAMPLES.map(({ name, kind }) => `${name} ${kind}`)).toEqual(wanted);
  });

  test.each(EXAMPLES)('$name, $kind: $a', ({ name, given, a, out }) => {
    expect(inWordsOf(out, outOf(name, given, a))).toBe(out);
  });
});

describe('the arguments of the operations', () => {
  test('are documented for each, in the published order', () => {
    expect([...DOCUMENTED.keys()]).toEqual([...OPERATION_NAMES]);
  });

  test.each(TRIALS)('$name: $argument, $a', ({ name, argument, value, given, a }) => {
    const { [argument]: _, ...without } = given;
    const left = outOf(name, without, a);
    if (value === undefined) {
      expect(left).toBe('rejected');
      return;
    }
    const explicit = outOf(name, { ...without, [argument]: JSON.parse(value) }, a);
    // What is encrypted differs each time.
    expect(name === 'encrypt' ? left.length : left).toBe(name === 'encrypt' ? explicit.length : explicit);
  });

  test('are all that there are', () => {
    const all = new Set(RULE_CASES.flatMap(({ operation }) => Object.keys(operation.arguments ?? {})));
    for (const name of DOCUMENTED.keys()) {
      const { given = {} } = EXAMPLES.find((example) => example.name === name) ?? {};
      for (const argument of all) {
        const operation = { name, arguments: { ...given, [argument]: {} } } as unknown as RuleOperation;
        // A value that fits nowhere, and an unknown argument, are rejected at their own place.
        const place = `body[0].arguments.${argument}`;
        expect([name, argument, outcome(() => run([operation], '{}'))]).toEqual([
          name,
          argument,
          `invalid_request ${place}`,
        ]);
      }
    }
  });
});
