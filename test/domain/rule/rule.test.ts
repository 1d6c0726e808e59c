import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type JsonObject,
  type JsonValue,
  parseStoredObject,
  stringifyJson,
} from '../../../server/domain/json/json.ts';
import type { RuleOperation } from '../../../server/domain/rule/check.ts';
import { checkOperations } from '../../../server/domain/rule/check.ts';
import { compileRules, runRules } from '../../../server/domain/rule/engine.ts';
import { anyText, jsonObject, utf8 } from '../json/arbitrary.ts';
import { objectOf, outcome, run, STILL } from './run.ts';

describe('the example of a payment processor', () => {
  const forwarded = {
    card: { number: '4242424242424242', exp_month: '04', exp_year: '2031', name: 'Ada "A" Ø', cvc: '012' },
    metadata: { order_id: '6735', customer: 'cus_1' },
    livemode: false,
  };
  const template = {
    card_number: '{{card.number}}',
    expiry_month: '{{card.exp_month}}',
    expiry_year: '{{card.exp_year}}',
    card_holder: '{{card.name}}',
    cvv: '{{card.cvc}}',
    order_id: '{{metadata.order_id}}',
    customer: '{{metadata.customer}}',
  };
  const flatten: readonly RuleOperation[] = [
    {
      name: 'template',
      input_field: '*',
      output_field: '*',
      order_position: 1,
      arguments: { template: JSON.stringify(template) },
    },
    {
      name: 'substr',
      input_field: 'expiry_year',
      output_field: 'expiry_year_short',
      order_position: 2,
      arguments: { start: -2, end: 0 },
    },
    {
      name: 'format',
      input_field: '*',
      output_field: 'expiry',
      order_position: 3,
      arguments: { format_string: '%v/%v', keys: ['expiry_month', 'expiry_year_short'] },
    },
  ];

  test('becomes exactly the flat fields', () => {
    expect(JSON.parse(run(flatten, JSON.stringify(forwarded)))).toEqual({
      card_number: '4242424242424242',
      expiry_month: '04',
      expiry_year: '2031',
      expiry_year_short: '31',
      expiry: '04/31',
      card_holder: 'Ada "A" Ø',
      cvv: '012',
      order_id: '6735',
      customer: 'cus_1',
    });
  });

  test('numbers of the processor become texts inside quotes and stay numbers outside', () => {
    const operation: RuleOperation = {
      name: 'template',
      arguments: { template: '{"expiry_month":"{{card.exp_month}}","expiry_year":{{card.exp_year}}}' },
    };
    expect(run([operation], '{"card":{"exp_month":4,"exp_year":2031}}')).toBe(
      '{"expiry_month":"4","expiry_year":2031}',
    );
  });
});

describe('order', () => {
  const add = (letter: string, order_position: number): RuleOperation => ({
    name: 'format',
    output_field: 'a',
    order_position,
    arguments: { format_string: `%v${letter}`, keys: ['a'] },
  });

  test('lists run one after the other, each in its own order, whatever the positions say', () => {
    const rules = compileRules([[add('1', 9), add('2', 1)], [], [add('3', 0)]]);
    expect(stringifyJson(runRules(rules, objectOf('{"a":""}'), STILL))).toBe('{"a":"123"}');
  });

  test('compiled rules can run again, with nothing left from the run before', () => {
    const rules = compileRules([[add('1', 1)]]);
    for (const text of ['x', 'y', '']) {
      const result = runRules(rules, new Map([['a', text]]), STILL);
      expect(stringifyJson(result)).toBe(`{"a":"${text}1"}`);
    }
  });

  test('no rules give an equal object of its own', () => {
    const object = objectOf('{"a":{"b":[1.10]}}');
    const result = runRules(compileRules([]), object, STILL);
    expect(result).toEqual(object);
    expect(result.get('a')).not.toBe(object.get('a'));
  });
});

/** What `noop` from one field to another makes of an object. */
function copy(input_field: string, output_field: string | undefined, object: string): string {
  return run(
    [{ name: 'noop', input_field, ...(output_field === undefined ? {} : { output_field }) }],
    object,
  );
}

describe('fields', () => {
  test.each([
    ['a.b', 'x', '{"a":{"b":1}}', '{"a":{"b":1},"x":1}'],
    ['a.1.b', 'x', '{"a":[0,{"b":1}]}', '{"a":[0,{"b":1}],"x":1}'],
    ['a.01', 'x', '{"a":[0,1]}', '{"a":[0,1]}'],
    ['a.-1', 'x', '{"a":[0,1]}', '{"a":[0,1]}'],
    ['a.2', 'x', '{"a":[0,1]}', '{"a":[0,1]}'],
    ['a.length', 'x', '{"a":[0,1]}', '{"a":[0,1]}'],
    ['a.0', 'x', '{"a":"text"}', '{"a":"text"}'],
    ['a.b.c', 'x', '{"a":{"b":null}}', '{"a":{"b":null}}'],
    ['a.b', 'x', '{"a":{"b":null}}', '{"a":{"b":null},"x":null}'],
    ['a.b', 'x', '{"a.b":1,"a":{"b":2}}', '{"a.b":1,"a":{"b":2},"x":1}'],
    ['a.b.c', 'x', '{"a":{"b.c":1,"b":{"c":2}}}', '{"a":{"b.c":1,"b":{"c":2}},"x":1}'],
    ['..', 'x', '{"":{"":{"":1}}}', '{"":{"":{"":1}},"x":1}'],
    ['a.*', 'x', '{"a":{"*":1}}', '{"a":{"*":1},"x":1}'],
    ['hasOwnProperty', 'x', '{}', '{}'],
    ['__proto__', 'x', '{}', '{}'],
    ['__proto__.a', 'x', '{"__proto__":{"a":1}}', '{"__proto__":{"a":1},"x":1}'],
  ])('reading %s', (input, output, object, expected) => {
    expect(copy(input, output, object)).toBe(expected);
  });

  test.each([
    ['x.y.z', '{"v":1}', '{"v":1,"x":{"y":{"z":1}}}'],
    ['x.y', '{"v":1,"x":{"a":0}}', '{"v":1,"x":{"a":0,"y":1}}'],
    ['x.y', '{"v":1,"x":"text"}', '{"v":1,"x":"text"}'],
    ['x.y', '{"v":1,"x":null}', '{"v":1,"x":null}'],
    ['x.0', '{"v":1,"x":[0]}', '{"v":1,"x":[1]}'],
    ['x.1', '{"v":1,"x":[0]}', '{"v":1,"x":[0]}'],
    ['x.y', '{"v":1,"x":[0]}', '{"v":1,"x":[0]}'],
    ['x.0.y', '{"v":1,"x":[{}]}', '{"v":1,"x":[{"y":1}]}'],
    ['x.0', '{"v":1}', '{"v":1,"x":{"0":1}}'],
    ['x.y', '{"v":1,"x.y":0}', '{"v":1,"x.y":1}'],
    ['v', '{"v":1}', '{"v":1}'],
    ['', '{"v":1}', 'invalid_request body[0].output_field'],
    ['.', '{"v":1}', '{"v":1,"":{"":1}}'],
    ['__proto__.polluted', '{"v":1}', '{"v":1,"__proto__":{"polluted":1}}'],
    ['*', '{"v":1}', '{"v":1}'],
  ])('writing %s', (output, object, expected) => {
    expect(outcome(() => copy('v', output, object))).toBe(expected);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  test('the output field is the input field unless it is given, and the input is the whole object', () => {
    expect(run([{ name: 'stringify', input_field: 'a' }], '{"a":1}')).toBe('{"a":"1"}');
    expect(run([{ name: 'stringify', output_field: 'x' }], '{"a":1}')).toBe('{"a":1,"x":"{\\"a\\":1}"}');
    expect(run([{ name: 'stringify' }], '{"a":1}')).toBe('{"a":1}');
  });

  test('an object takes the place of the whole one, anything else does not', () => {
    expect(copy('a', '*', '{"a":{"b":1},"c":2}')).toBe('{"b":1}');
    for (const value of ['[1]', '"text"', '1', 'null', 'true']) {
      expect(copy('a', '*', `{"a":${value}}`)).toBe(`{"a":${value}}`);
    }
  });

  test('the whole object can be put into itself, once for each operation', () => {
    expect(copy('*', 'a', '{"x":1}')).toBe('{"x":1,"a":{"x":1}}');
    expect(copy('*', 'x.y', '{"x":{}}')).toBe('{"x":{"y":{"x":{}}}}');
  });

  test('a copy is a copy: a write to one place does not show at the other', () => {
    const operations: RuleOperation[] = [
      { name: 'noop', input_field: 'a', output_field: 'b' },
      { name: 'stringify', input_field: 'b.x' },
      { name: 'noop', input_field: '*', output_field: 'c' },
      { name: 'stringify', input_field: 'a.x' },
    ];
    expect(run(operations, '{"a":{"x":1}}')).toBe(
      '{"a":{"x":"1"},"b":{"x":"1"},"c":{"a":{"x":1},"b":{"x":"1"}}}',
    );
  });
});

const fieldName = fc.oneof(
  fc.constantFrom('a', 'b', 'a.b', 'a.0', '0', '__proto__', 'constructor', '*', 'new.place', '..'),
  anyText.filter((text) => text !== '' && text.isWellFormed() && text.split('.').length <= 64),
);

const anyOperation: fc.Arbitrary<RuleOperation> = fc.oneof(
  fc
    .constantFrom<RuleOperation['name']>('noop', 'stringify', 'parse_float', 'parse_json', 'convert_to_int')
    .map((name) => ({ name })),
  fc
    .record({ start: fc.integer(), end: fc.integer() })
    .map((args) => ({ name: 'substr', arguments: args }) as const),
  fc
    .record({ start: fc.integer(), end: fc.integer() })
    .map((args) => ({ name: 'mask', arguments: args }) as const),
  fc.constant<RuleOperation>({ name: 'format', arguments: { format_string: '<%v>', keys: ['a'] } }),
  fc.constant<RuleOperation>({ name: 'template', arguments: { template: '{"a":{{a}},"b":"{{b}}"}' } }),
  fc.constant<RuleOperation>({ name: 'encode', arguments: { scheme: 'base32' } }),
  fc.constant<RuleOperation>({ name: 'hash', arguments: { algorithm: 'sha-1' } }),
  fc.constant<RuleOperation>({ name: 'nonce' }),
);

const anyProgram = fc.array(
  fc.tuple(anyOperation, fieldName, fieldName).map(([operation, input_field, output_field]) => ({
    ...operation,
    input_field,
    output_field,
  })),
  { minLength: 1, maxLength: 8 },
);

const objects = jsonObject(fc.oneof(fc.constantFrom('a', 'b', '0', '__proto__', 'a.b'), anyText));

/** All objects and arrays in a value. */
function containers(value: JsonValue): object[] {
  return value instanceof Map || Array.isArray(value)
    ? [value, ...[...value.values()].flatMap((member) => containers(member))]
    : [];
}

describe('whatever the rules and the object', () => {
  test('the input stays as it is and shares nothing with the result, which is an object of exact JSON', () => {
    fc.assert(
      fc.property(anyProgram, objects, (program, object) => {
        const before = stringifyJson(object);
        const rules = compileRules([checkOperations(program)]);
        let result: JsonObject;
        try {
          result = runRules(rules, object, STILL);
        } finally {
          expect(stringifyJson(object)).toBe(before);
        }
        const inputs = new Set(containers(object));
        const outputs = containers(result);
        expect(outputs.filter((container) => inputs.has(container))).toEqual([]);
        expect(new Set(outputs).size).toBe(outputs.length);
        const text = stringifyJson(result);
        expect(stringifyJson(parseStoredObject(utf8(text)))).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test('fields that no operation names come out as they were, in their order', () => {
    const only = (object: JsonObject): JsonObject =>
      new Map([...object].filter(([name]) => !name.startsWith('touched')));
    fc.assert(
      fc.property(anyOperation, objects, anyText, (operation, object, text) => {
        const given = new Map([...only(object), ['touched', text] as const]);
        const program = [{ ...operation, input_field: 'touched', output_field: 'touched2.x' }];
        const result = runRules(compileRules([program]), given, STILL);
        expect(stringifyJson(only(result))).toBe(stringifyJson(only(object)));
      }),
      { numRuns: 500 },
    );
  });

  test('exact JSON survives every kind of copy', () => {
    const odd =
      '{"a":1.10,"b":1e400,"c":-0,"d":12345678901234567890123,"e":"\\ud800","__proto__":{"x":[1.0]}}';
    const operations: RuleOperation[] = [
      { name: 'noop', output_field: 'copy' },
      { name: 'substr', input_field: 'copy', output_field: 'impossible' },
      { name: 'stringify', input_field: 'impossible' },
      { name: 'parse_json', input_field: 'impossible', output_field: '*' },
    ];
    expect(run(operations, odd)).toBe(odd);
  });
});
