import type { RuleOperation } from '../../../server/domain/rule/check.ts';

/** A program that tries to cost more than one item may, and the object that it runs on. */
export interface HostileProgram {
  readonly about: string;
  readonly operations: readonly RuleOperation[];
  readonly input: string;
  /** Whether it must end with `rule_limit`, must come through, or may do either. */
  readonly ends: 'limit' | 'result' | 'either';
}

const OPERATIONS = 64;
/** A text that fits into the object twice. */
const LONG = 500_000;

function times(operation: RuleOperation): RuleOperation[] {
  return Array<RuleOperation>(OPERATIONS).fill(operation);
}
function each(make: (at: number) => RuleOperation): RuleOperation[] {
  return Array.from({ length: OPERATIONS }, (_, at) => make(at));
}
function template(text: string, fields: Partial<RuleOperation> = {}): RuleOperation {
  return {
    name: 'template',
    ...fields,
    arguments: { template: text },
  };
}
function nested(levels: number, inside: string): string {
  return '{{#a}}'.repeat(levels) + inside + '{{/a}}'.repeat(levels);
}

const small = '{"a":"aaaaaaaa"}';
const long = `{"a":"${'x'.repeat(LONG)}"}`;
const digits = `{"a":"${'9'.repeat(LONG)}"}`;
const emoji = `{"a":"${'😀'.repeat(LONG / 4)}"}`;
const control = `{"a":"${'\\u0001'.repeat(160_000)}"}`;
const list = `{"a":[${Array(10_000).fill('1').join(',')}]}`;
const lists = `{"a":[${Array(150_000).fill('[]').join(',')}]}`;

function on(operation: RuleOperation): RuleOperation {
  return { input_field: 'a', ...operation };
}
function substr(start: number, end: number): RuleOperation {
  return on({ name: 'substr', output_field: 'b', arguments: { start, end } });
}
function replace(old: string, replacement: string): RuleOperation {
  return on({ name: 'replace', arguments: { substr: old, new_str: replacement } });
}
function encode(scheme: string): RuleOperation {
  return on({ name: 'encode', arguments: { scheme } });
}
function format(count: number, key: string): RuleOperation {
  return {
    name: 'format',
    output_field: 'a',
    arguments: { format_string: '%v'.repeat(count), keys: Array(count).fill(key) },
  };
}

function program(
  ends: HostileProgram['ends'],
  about: string,
  operations: readonly RuleOperation[],
  input: string,
): HostileProgram {
  return { about, operations, input, ends };
}

/** Programs that grow what they work on. */
const GROWING: readonly HostileProgram[] = [
  program(
    'limit',
    'a JSON template that holds its input twice',
    times(template('{"a":{{a}},"b":{{a}}}', { output_field: 'a' })),
    small,
  ),
  program('limit', 'a template that holds the whole object', times(template('{"a":"{{.}}"}')), small),
  program(
    'limit',
    'a template of sections that repeats its text',
    [template(nested(4, 'x'.repeat(1000)), { output_field: 'b' })],
    '{"a":[1,2,3,4,5,6,7,8,9,10]}',
  ),
  program('limit', '64 stringify in a row', times(on({ name: 'stringify' })), small),
  program('limit', 'stringify of control characters', [on({ name: 'stringify' })], control),
  program(
    'limit',
    'the object copied into itself',
    each((at) => ({ name: 'noop', output_field: `c${at}` })),
    small,
  ),
  program('limit', 'the object nested into itself', times({ name: 'noop', output_field: 'a' }), small),
  program('limit', 'a path of one level too many', [{ name: 'noop', output_field: 'n.'.repeat(63) }], small),
  program('limit', 'a replacement that grows', times(replace('a', 'aaaaaaaa')), small),
  program('limit', 'one replacement that would fill the memory', [replace('x', 'y'.repeat(4096))], long),
  program('limit', 'base64 of base64', times(encode('base64')), small),
  program('limit', 'a format that repeats a field', times(format(64, 'a')), small),
  program('limit', 'one format of 64 long fields', [format(64, 'a')], long),
  program('limit', 'a mask of four bytes for one', [on({ name: 'mask', arguments: { char: '😀' } })], long),
  program(
    'limit',
    'random bytes at many places',
    each((at) => ({ name: 'nonce', output_field: `n${at}`, arguments: { length: 1024 } })),
    `{"a":"${'x'.repeat(990_000)}"}`,
  ),
];

/** Programs that take long over what they are given. */
const SLOW: readonly HostileProgram[] = [
  program(
    'limit',
    'six sections inside each other over a long list',
    [template(nested(6, ''), { output_field: 'b' })],
    list,
  ),
  program(
    'limit',
    'two sections inside each other over many members',
    [template('{{#a}}{{#a}}{{b}}{{/a}}{{/a}}', { output_field: 'c' })],
    lists,
  ),
  program(
    'limit',
    'names that are missing everywhere',
    [template(nested(32, '{{none.b.c.d}}'.repeat(500)), { output_field: 'b' })],
    `{"a":[${'{"a":['.repeat(15)}1,2${']}'.repeat(15)}]}`,
  ),
  program('either', '64 templates of a long text', times(template('{{a}}', { output_field: 'b' })), long),
  program(
    'either',
    'substr with positions far outside',
    times(substr(-9_007_199_254_740_991, 9_007_199_254_740_991)),
    emoji,
  ),
  program(
    'either',
    'numbers of nothing but digits',
    times(on({ name: 'parse_float', output_field: 'b' })),
    digits,
  ),
  program(
    'either',
    'integers of nothing but digits',
    times(on({ name: 'convert_to_int', output_field: 'b' })),
    digits,
  ),
  program(
    'result',
    'an exponent that no memory could hold',
    times(on({ name: 'convert_to_int' })),
    '{"a":"1e999999999999999999999"}',
  ),
  program(
    'either',
    'a replacement that finds half-matches only',
    Array(30).fill(replace(`${'x'.repeat(4095)}y`, '')),
    long,
  ),
  program(
    'either',
    '64 hashes',
    times(on({ name: 'hash', output_field: 'b', arguments: { algorithm: 'sha-512' } })),
    long,
  ),
  program(
    'limit',
    'JSON nested as deep as it gets, one level too many',
    [on({ name: 'parse_json', output_field: 'b.c' })],
    `{"a":"${'['.repeat(63)}${']'.repeat(63)}"}`,
  ),
  program(
    'limit',
    'JSON nested out of all bounds',
    [on({ name: 'parse_json' })],
    `{"a":"${'['.repeat(LONG)}"}`,
  ),
];

export const HOSTILE_PROGRAMS: readonly HostileProgram[] = [...GROWING, ...SLOW];
