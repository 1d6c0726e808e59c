import { expect, test } from 'bun:test';
import { parseStoredObject, stringifyJson } from '../../../server/domain/json/json.ts';
import { checkOperations } from '../../../server/domain/rule/check.ts';
import { compileRules } from '../../../server/domain/rule/engine.ts';
import { runRulesMasked } from '../../../server/domain/rule/masked.ts';

const NUMBER = '4111111111111111';
const ENV = { now: () => 0, randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) };

function run(object: unknown, operations: unknown): unknown {
  const rules = compileRules([checkOperations(operations)]);
  const input = parseStoredObject(new TextEncoder().encode(JSON.stringify(object)));
  const before = stringifyJson(input);
  const output = stringifyJson(runRulesMasked(rules, input, ENV));
  expect(stringifyJson(input)).toBe(before);
  return JSON.parse(output);
}
function template(text: string) {
  return { name: 'template', output_field: '*', arguments: { template: text } };
}
function copy(input_field: string, output_field: string) {
  return { name: 'noop', input_field, output_field };
}

test('a number may move, whole, to where it stays hidden', () => {
  expect(
    run({ card: { number: NUMBER, cvc: '123', name: 'Ada' } }, [
      template('{"card_number":"{{card.number}}","cvv":"{{card.cvc}}","card_holder":"{{card.name}}"}'),
    ]),
  ).toEqual({ card_number: NUMBER, cvv: '123', card_holder: 'Ada' });
  expect(run({ number: 4111111111111111 }, [copy('number', 'pan')])).toEqual({
    number: 4111111111111111,
    pan: 4111111111111111,
  });
});

test('what it moves is exactly what it was, whatever rules would make of it', () => {
  const ungrouped = { name: 'replace', input_field: 'n', arguments: { substr: ' ', new_str: '' } };
  expect(run({ n: '4111 1111 1111 1111' }, [ungrouped])).toEqual({ n: '4111 1111 1111 1111' });
  const nested = { pan: { parts: ['4111', '1111'] }, list: [{ cvc: 123 }, { number: null }] };
  expect(run(nested, [copy('list', 'copies')])).toEqual({ ...nested, copies: nested.list });
  expect(
    run({ card: { cvc: 123 } }, [copy('card.cvc', 'cvv'), template('{"a":"{{cvv}}","cvv":"{{cvv}}"}')]),
  ).toEqual({
    a: '***',
    cvv: '123',
  });
});

test.each([
  ['by a name', template(`{"pan":{"{{card_number}} {{cvv}}":1}}`), {}],
  [
    'by spaces',
    {
      name: 'replace',
      input_field: 'card_number',
      output_field: 'pan',
      arguments: { substr: '4', new_str: '4 ' },
    },
    { card_number: NUMBER, cvv: '8526', pan: NUMBER },
  ],
  [
    'by the length of a code',
    {
      name: 'replace',
      input_field: 'card_number',
      output_field: 'cvc',
      arguments: { substr: '4', new_str: '55555' },
    },
    { card_number: NUMBER, cvv: '8526', cvc: NUMBER },
  ],
  [
    'by what is there',
    template('{"a":{{#card_number}}1{{/card_number}},"b":[{{{cvv}}}]}'),
    { card_number: NUMBER, cvv: '8526' },
  ],
])('nothing of a number shows %s', (_name, operation, expected) => {
  expect(run({ card_number: NUMBER, cvv: '8526' }, [operation])).toEqual(expected);
});

test.each([
  ['a copy', [copy('card_number', 'note')], { note: '************1111' }],
  [
    'a piece under the name of a number',
    [{ name: 'substr', input_field: 'card_number', output_field: 'pan', arguments: { end: 4 } }],
    {},
  ],
  ['a code under the name of a number', [copy('cvv', 'pan')], {}],
  [
    'a hash',
    [{ name: 'hash', input_field: 'card_number', output_field: 'id', arguments: { algorithm: 'md5' } }],
    { id: new Bun.CryptoHasher('md5').update('************1111').digest('hex') },
  ],
])('what it sees of a number elsewhere is the mask: %s', (_name, operations, added) => {
  const object = { card_number: NUMBER, cvv: '8526' };
  expect(run(object, operations)).toEqual({ ...object, ...added });
});

test('a number that rules have spoilt is left out, never replaced by its mask', () => {
  const cut = { name: 'substr', input_field: 'card_number', arguments: { start: 2 } };
  expect(run({ card_number: NUMBER, a: 1 }, [cut])).toEqual({ a: 1 });
  const other = {
    name: 'replace',
    input_field: 'note',
    output_field: 'number',
    arguments: { substr: 'x', new_str: '' },
  };
  expect(run({ card_number: NUMBER, note: '99x99' }, [other])).toEqual({
    card_number: NUMBER,
    note: '99x99',
    number: '9999',
  });
});

test('a text in which a number was found moves whole, and rules see its mask', () => {
  const object = { note: `paid with ${NUMBER}`, id: 4111111111111111 };
  expect(run(object, [copy('note', 'memo'), copy('id', 'first.id')])).toEqual({
    ...object,
    memo: object.note,
    first: { id: object.id },
  });
  const cut = { name: 'substr', input_field: 'note', output_field: 'part', arguments: { start: 10 } };
  expect(run(object, [cut])).toEqual({ ...object, part: '************1111' });
  const parse = { name: 'parse_json', input_field: 'raw', output_field: 'card' };
  const raw = JSON.stringify({ pan: NUMBER, holder: 'Ada' });
  expect(run({ raw }, [parse])).not.toHaveProperty('card.pan');
});

test('what has nothing to do with numbers comes out as without a mask', () => {
  const operations = [
    { name: 'format', output_field: 'expiry', arguments: { format_string: '%v/%v', keys: ['m', 'y'] } },
    copy('deep.list.0', 'first'),
  ];
  expect(run({ m: '12', y: '30', deep: { list: [{ a: 1.5 }] } }, operations)).toEqual({
    m: '12',
    y: '30',
    deep: { list: [{ a: 1.5 }] },
    expiry: '12/30',
    first: { a: 1.5 },
  });
});
