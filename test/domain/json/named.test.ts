import { describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { JsonNumber, type JsonValue, parseJson, stringifyJson } from '../../../server/domain/json/json.ts';
import {
  NAMED_PATHS_MAX,
  parseNamedPath,
  pickNamed,
  prepareNamed,
} from '../../../server/domain/json/named.ts';
import { utf8 } from './arbitrary.ts';

function text(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : stringifyJson(value);
}

function show(json: string, paths: readonly string[]): string | undefined {
  return text(pickNamed(parseJson(utf8(json)), prepareNamed(paths)));
}

/** Runs a task and counts its look-ups in maps. */
function countLookups(task: () => void): number {
  const get = spyOn(Map.prototype, 'get');
  const has = spyOn(Map.prototype, 'has');
  try {
    task();
    return get.mock.calls.length + has.mock.calls.length;
  } finally {
    get.mockRestore();
    has.mockRestore();
  }
}

describe('parseNamedPath', () => {
  const key = (path: string): string | undefined => parseNamedPath(path)?.map(String).join(' / ');

  test.each<[string, string]>([
    ['id', 'id'],
    ['error.code', 'error / code'],
    ['*', 'Symbol(*)'],
    ['*[0].*', 'Symbol(*) / 0 / Symbol(*)'],
    ['a*', 'a*'],
    ['items[*].id', 'items / Symbol([*]) / id'],
    ['a[0][12][*]', 'a / 0 / 12 / Symbol([*])'],
    ['[*].id', 'Symbol([*]) / id'],
    ['[0][1]', '0 / 1'],
    ['a[999999999]', 'a / 999999999'],
    ['["a.b[c]"]', 'a.b[c]'],
    ['["a"]["b"]', 'a / b'],
    ['x.["a.b"].y', 'x / a.b / y'],
    ['x["a.b"][3]["]"]', 'x / a.b / 3 / ]'],
    ['[0]["b"]', '0 / b'],
    ['["*"]', '*'],
    ['["0"]', '0'],
    ['[""]', ''],
    ['["\\"\\u00e9\\\\"]', '"é\\'],
    ['["\\ud800"]', '\ud800'],
    ['__proto__.constructor', '__proto__ / constructor'],
    ['kartennummer ä.😀', 'kartennummer ä / 😀'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`a${'.a'.repeat(15)}`, `a${' / a'.repeat(15)}`],
    [`[*]${'.a'.repeat(15)}`, `Symbol([*])${' / a'.repeat(15)}`],
  ])('%s', (path, steps) => expect(key(path)).toBe(steps));

  test.each([
    '',
    '.',
    '.a',
    'a.',
    'a..b',
    'a[',
    'a]',
    'a[]',
    'a[0',
    'a[0]]',
    'a[[0]]',
    'a[01]',
    'a[-1]',
    'a[1.5]',
    'a[1e3]',
    'a[ 0 ]',
    'a[1000000000]',
    'a[**]',
    'a[b]',
    "a['b']",
    'a.[0]',
    'a[0]b',
    '["a"]b',
    '[0]a',
    '["a"',
    '["a]',
    '["a\\"]',
    '["\\x"]',
    '["\\u12"]',
    '["a\nb"]',
    '["\ud800"]',
    '["a""b"]',
    '[ "a" ]',
    '[null]',
    '.["a"]',
    'x'.repeat(256),
    `a${'.a'.repeat(16)}`,
    '["a"]'.repeat(17),
    `[*]${'.a'.repeat(16)}`,
  ])('refuses %j', (text) => expect(parseNamedPath(text)).toBeUndefined());
});

describe('pickNamed', () => {
  const REPLY =
    '{"id":"a","status":1.10,"error":{"code":null,"text":"t"},"items":[{"id":1,"name":"x"},{"id":2}]}';

  test.each<[string, string[], string | undefined]>([
    [REPLY, [], undefined],
    [REPLY, ['status', 'id'], '{"id":"a","status":1.10}'],
    [REPLY, ['error.code'], '{"error":{"code":null}}'],
    [REPLY, ['error'], undefined],
    [REPLY, ['error', 'error.text'], '{"error":{"text":"t"}}'],
    [REPLY, ['items', 'items[*]'], undefined],
    [REPLY, ['items[*].id'], '{"items":[{"id":1},{"id":2}]}'],
    [REPLY, ['items[*].name'], '{"items":[{"name":"x"}]}'],
    [REPLY, ['items[1].id'], '{"items":[{"id":2}]}'],
    [REPLY, ['items[2].id'], undefined],
    [REPLY, ['items[*].id', 'items[0].name'], '{"items":[{"id":1,"name":"x"},{"id":2}]}'],
    [REPLY, ['id.x', 'id[0]', 'status.x', 'error.code.x'], undefined],
    [REPLY, ['*'], '{"id":"a","status":1.10}'],
    [REPLY, ['*.code', 'error.text'], '{"error":{"code":null,"text":"t"}}'],
    [REPLY, ['a..b', 'id['], undefined],
    [REPLY, ['id', 'id'], '{"id":"a"}'],
    [
      '{"b":{"id":1,"x":2},"error":{"id":3,"code":4,"x":5}}',
      ['*.id', 'error.code'],
      '{"b":{"id":1},"error":{"id":3,"code":4}}',
    ],
    ['{"a":[1,{"b":2},[3],null,false,""]}', ['a[*]'], '{"a":[1,null,false,""]}'],
    ['{"a":[1,{"b":2},[3]]}', ['a[*][*]', 'a[*].b'], '{"a":[{"b":2},[3]]}'],
    ['{"a":[[1,2],[3,4]]}', ['a[1][0]', 'a[*][1]'], '{"a":[[2],[3,4]]}'],
    ['{"a":[1,2],"0":3}', ['a.*', 'a.0', '*.*', '*.0'], undefined],
    ['{"a":[1],"0":3}', ['["0"]'], '{"0":3}'],
    ['{"0":1,"*":2}', ['[0]', '[*]'], undefined],
    ['{"0":1,"*":2,"[*]":3}', ['["*"]'], '{"*":2}'],
    ['[{"id":1},{"id":2},3]', ['[*].id'], '[{"id":1},{"id":2}]'],
    ['[1,2,3]', ['[2]', '[0]'], '[1,3]'],
    ['[1]', ['*', 'length', '["0"]'], undefined],
    ['[{},[],{"a":{}}]', ['[*]', '[*].a', '[*].*'], undefined],
    ['"text"', ['*', '[*]', 'length', '[0]'], undefined],
    ['null', ['*'], undefined],
    ['{"a.b":{"c":1},"a":{"b":{"c":2}}}', ['["a.b"].c'], '{"a.b":{"c":1}}'],
    ['{"a.b":{"c":1},"a":{"b":{"c":2}}}', ['a.b.c'], '{"a":{"b":{"c":2}}}'],
    ['{"":{"":1}}', ['[""][""]'], '{"":{"":1}}'],
    ['{"\\ud800":1,"\ufffd":2}', ['["\\ud800"]'], '{"\\ud800":1}'],
    ['{"a":1}', ['__proto__', 'constructor', 'a.__proto__', 'a.constructor.name'], undefined],
    ['{"__proto__":{"x":1},"a":2}', ['__proto__.x'], '{"__proto__":{"x":1}}'],
    ['{"__proto__":{"x":1},"a":2}', ['*'], '{"a":2}'],
  ])('of %s, %j show %j', (json, paths, shown) => expect(show(json, paths)).toBe(shown));

  test('leaves the value as it was', () => {
    const value = parseJson(utf8(REPLY));
    pickNamed(value, prepareNamed(['items[*].id']));
    expect(stringifyJson(value)).toBe(REPLY);
  });

  test('uses the first 64 paths', () => {
    const paths = Array.from({ length: NAMED_PATHS_MAX }, (_, at) => `a${at}`);
    expect(show('{"a0":0,"a63":1,"b":2}', [...paths, 'b'])).toBe('{"a0":0,"a63":1}');
  });

  test('shows the leaves that a path leads to, for generated values', () => {
    const name = fc.constantFrom('a', 'b', '*', '0', '__proto__');
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4, depthIdentifier: 'named' },
        fc.constantFrom<JsonValue>('text', null, true, new JsonNumber('1.0')),
        fc.array(tie('value'), { maxLength: 3, depthIdentifier: 'named' }),
        fc
          .array(fc.tuple(name, tie('value')), { maxLength: 4, depthIdentifier: 'named' })
          .map((members) => new Map(members)),
      ),
    }));
    const step = fc.constantFrom('["a"]', '["b"]', '["*"]', '["0"]', '*', '[0]', '[1]', '[*]');
    const steps = fc.array(step, { minLength: 1, maxLength: 5 });

    const fits = (wanted: string, at: string | number): boolean =>
      typeof at === 'number'
        ? wanted === '[*]' || wanted === `[${at}]`
        : wanted === '*' || wanted === JSON.stringify([at]);
    const expected = (
      of: JsonValue,
      paths: readonly string[][],
      at: (string | number)[],
    ): JsonValue | undefined => {
      const inside = (child: JsonValue, key: string | number) => expected(child, paths, [...at, key]);
      if (Array.isArray(of)) {
        const items = of.map(inside).filter((item) => item !== undefined);
        return items.length > 0 ? items : undefined;
      }
      if (of instanceof Map) {
        const members = [...of].flatMap(([key, member]): [string, JsonValue][] => {
          const shown = inside(member, key);
          return shown === undefined ? [] : [[key, shown]];
        });
        return members.length > 0 ? new Map(members) : undefined;
      }
      return paths.some(
        (path) => path.length === at.length && at.every((key, index) => fits(path[index] ?? '', key)),
      )
        ? of
        : undefined;
    };
    fc.assert(
      fc.property(value, fc.array(steps, { maxLength: 6 }), (of, paths) => {
        const texts = paths.map((path) => path.map((part) => (part === '*' ? '.*' : part)).join(''));
        const prepared = prepareNamed(texts.map((path) => path.replace(/^\./, '')));
        expect(text(pickNamed(of, prepared))).toBe(text(expected(of, paths, [])));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('bounds', () => {
  test('64 levels of lists', () => {
    const json = `${'['.repeat(64)}1${']'.repeat(64)}`;
    expect(show(json, ['[*]'.repeat(64)])).toBe(json);
    expect(show(json, ['[0]'.repeat(64), '[*]'.repeat(63)])).toBe(json);
    expect(show(json, ['[*]'.repeat(63), '[*]'.repeat(65)])).toBeUndefined();
  });

  test('64 levels of objects: paths of 16 steps reach 16 of them', () => {
    const json = `${'{"n":1,"a":'.repeat(63)}{}${'}'.repeat(63)}`;
    const path = `${'a.'.repeat(15)}n`;
    expect(show(json, [path])).toBe(`${'{"a":'.repeat(15)}{"n":1}${'}'.repeat(15)}`);
    expect(show(json, [`a.${path}`])).toBeUndefined();
  });

  /** Each of 64 paths of a name or `*` at each of six levels, so that all of them lead to every `a`. */
  const crossing = Array.from({ length: NAMED_PATHS_MAX }, (_, bits) =>
    Array.from({ length: 6 }, (_, bit) => (bits & (1 << bit) ? 'a' : '*')),
  );

  test('10,000 members at the end of 64 paths with every mix of names and *', () => {
    const members = new Map<string, JsonValue>();
    for (let at = 0; at < 10_000; at++) {
      members.set(`m${at}`, true);
    }
    let value: JsonValue = members;
    for (let level = 0; level < 6; level++) {
      value = new Map([['a', value]]);
    }
    const paths = prepareNamed(crossing.map((steps) => [...steps, '*'].join('.')));
    let shown: JsonValue | undefined;
    const lookups = countLookups(() => {
      shown = pickNamed(value, paths);
    });
    expect(text(shown)).toBe(text(value));
    expect(lookups).toBeLessThan(2.5 * 10_000);
  });

  test('1,000 items, and 64 paths that name a member of each', () => {
    const item = new Map(crossing.map((_, at) => [`n${at}`, true as JsonValue]));
    const value = new Map([['items', Array<JsonValue>(1_000).fill(item)]]);
    const paths = prepareNamed(crossing.map((_, at) => `items[*].n${at}`));
    const lookups = countLookups(() => {
      expect(pickNamed(value, paths)).toBeInstanceOf(Map);
    });
    expect(lookups).toBeLessThan(2.5 * 1_000 * 65);
  });

  test('a chain of * over a tree whose members all have the names of the paths', () => {
    let value: JsonValue = true;
    for (let level = 0; level < 6; level++) {
      value = new Map([...'abcd'].map((name) => [name, value]));
    }
    const paths = prepareNamed(crossing.map((steps) => steps.join('.')));
    const nodes = (4 * (4 ** 6 - 1)) / 3;
    const lookups = countLookups(() => {
      expect(text(pickNamed(value, paths))).toBe(text(value));
    });
    expect(lookups).toBeLessThan(3.5 * nodes);
  });
});
