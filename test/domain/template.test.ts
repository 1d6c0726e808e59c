import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import Mustache from 'mustache';
import { VaultError } from '../../server/core/errors.ts';
import { JsonNumber, type JsonValue, parseJson, stringifyJson } from '../../server/domain/json/json.ts';
import { createJsonEscape, plainEscape } from '../../server/domain/template/escape.ts';
import { parseTemplate } from '../../server/domain/template/parse.ts';
import {
  renderTemplate,
  type TemplateEscape,
  type TemplateMeter,
} from '../../server/domain/template/render.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';
import { anyText, jsonObject, utf8 } from './json/arbitrary.ts';

const FREE: TemplateMeter = { spend: () => undefined, write: () => undefined };

function fillValue(template: string, view: JsonValue, escaping: TemplateEscape = plainEscape): string {
  return renderTemplate(parseTemplate(template), view, { escape: escaping, meter: FREE });
}

/** As {@link fillValue}, with the view as a JSON text. */
function fill(template: string, view: string, escaping: TemplateEscape = plainEscape): string {
  return fillValue(template, parseJson(utf8(view)), escaping);
}

/** A template of JSON filled from `{ "x": value }`, parsed, and written again. */
function fillJson(template: string, value: JsonValue): string {
  return stringifyJson(parseJson(utf8(fillValue(template, new Map([['x', value]]), createJsonEscape()))));
}

describe('templates', () => {
  test.each([
    ['{{a}} {{{a}}} {{&a}} {{ a }}', '{"a":"<&\\">"}', '<&"> <&"> <&"> <&">'],
    ['{{a.b.c}}|{{a.list.1}}', '{"a":{"b":{"c":1.10},"list":[1,2]}}', '1.10|2'],
    [
      '{{a}}|{{b}}|{{c}}|{{d}}|{{e}}',
      '{"a":null,"c":false,"d":{"k":[1]},"e":1e400}',
      '||false|{"k":[1]}|1e400',
    ],
    ['{{#a}}<{{.}}>{{/a}}', '{"a":[1,"x",null]}', '<1><x><>'],
    ['{{#a}}{{n}},{{/a}}', '{"a":[{"n":1},{}],"n":"outer"}', '1,outer,'],
    ['{{#a}}{{b.c}}{{/a}}', '{"a":{"b":{}},"b":{"c":1}}', '1'],
    ['{{#a}}yes{{/a}}{{^a}}no{{/a}}', '{"a":true}', 'yes'],
    ['{{#a}}yes{{/a}}{{^a}}no{{/a}}', '{}', 'no'],
    ['{{#a}}{{#b}}{{c}}{{/b}}{{/a}}', '{"a":[{"b":[{"c":1},{"c":2}]},{"b":{"c":3}}]}', '123'],
    ['{{a.b}}', '{"a.b":1,"a":{"b":2}}', '1'],
    ['{{*}}{{#*}}x{{/*}}', '{"*":1}', '1x'],
    ['x{{! a comment }}y{{> partial}}z', '{"partial":"{{a}}"}', 'xyz'],
    ['{{a}}', '{"a":"{{b}}","b":1}', '{{b}}'],
    ['{{.}}', '"text"', 'text'],
    ['a\n  {{#x}}\n  b\n  {{/x}}\nc', '{"x":true}', 'a\n  b\nc'],
    ['', '{}', ''],
  ])('%j', (template, view, expected) => {
    expect(fill(template, view)).toBe(expected);
  });

  test.each(['0', '0.00', '-0', '0e5', '""', 'false', 'null', '[]'])('%s is false', (value) => {
    expect(fill('{{#a}}yes{{/a}}{{^a}}no{{/a}}', `{"a":${value}}`)).toBe('no');
  });

  test.each(['0.01', '1e-400', '"0"', '" "', 'true', '[null]', '{}'])('%s is true', (value) => {
    expect(fill('{{#a}}yes{{/a}}{{^a}}no{{/a}}', `{"a":${value}}`)).toBe('yes');
  });

  const names = ['constructor', '__proto__', 'hasOwnProperty', 'length', 'a.length'];
  test.each(names)('{{%s}} is empty unless the data has it', (name) => {
    expect(fill(`<{{${name}}}{{#${name}}}x{{/${name}}}>`, '{"a":"text"}')).toBe('<>');
    expect(fillValue(`<{{${name}}}>`, new Map([[name, 'data']]))).toBe('<data>');
  });

  test('the first character of its own text tells a JSON template', () => {
    const first = (text: string): string => parseTemplate(text).firstCharacter;
    expect(['{{a}} \n{"b"', '{{#a}}\n [1]{{/a}}', '{{a}}', ' x{', ''].map(first)).toEqual([
      '{',
      '[',
      '',
      'x',
      '',
    ]);
  });
});

describe('a template is refused', () => {
  const nested = (levels: number): string => '{{#a}}'.repeat(levels) + '{{/a}}'.repeat(levels);
  test.each([
    ['an open tag', '{{a'],
    ['a raw tag with two braces', '{{{a}}'],
    ['a raw tag over others', '{{{a}} and {{{b}}}'],
    ['an open section', '{{#a}}'],
    ['a section that was not opened', '{{/a}}'],
    ['crossed sections', '{{#a}}{{^b}}{{/a}}{{/b}}'],
    ['an empty name', '{{}}'],
    ['an empty section', '{{#}}{{/}}'],
    ['other delimiters', '{{=<% %>=}}'],
    ['a name of more than 1,024 characters', `{{${'a'.repeat(1025)}}}`],
    ['a name of more than 64 steps', `{{${'a.'.repeat(64)}a}}`],
    ['braces in a name', '{{a{b}}'],
    ['half a character', '{{a}}\ud800'],
    ['33 sections inside each other', nested(33)],
    ['a run of spaces in a tag', `{{a${' '.repeat(65)}b}}`],
  ])('for %s', (_what, template) => {
    let error: unknown;
    try {
      parseTemplate(template);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(VaultError);
    expect(error).toMatchObject({ code: 'invalid_request', field: undefined });
  });

  test('but not at the bounds', () => {
    expect(fill(nested(32), '{"a":true}')).toBe('');
    expect(fill(`{{${'a'.repeat(1024)}}}{{a${' '.repeat(63)}}}`, '{"a":1}')).toBe('1');
  });

  test('in time that grows with its length alone', () => {
    const bombs = [
      '{{a'.padEnd(500_000),
      '{{'.padEnd(500_000),
      '{{#a}}'.repeat(80_000),
      '{{{a}} '.repeat(70_000),
    ];
    for (const bomb of bombs) {
      const cpuMs = startCpuClock();
      expect(() => parseTemplate(bomb)).toThrow(VaultError);
      expect(cpuMs()).toBeLessThan(1500);
    }
  });
});

/** The same data as plain values, for mustache.js itself. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) {
    return Number(value.text);
  }
  if (value instanceof Map) {
    return Object.assign(Object.create(null), Object.fromEntries([...value].map(([n, v]) => [n, plain(v)])));
  }
  return Array.isArray(value) ? value.map(plain) : value;
}

describe('mustache.js agrees', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'a.b', 'b.a.c', '.');
  const piece: fc.Arbitrary<string> = fc.letrec<{ piece: string; list: string }>((tie) => ({
    piece: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('x', ' ', '\n', '  \n', '}', '"', '{{!c}}', '{{>p}}'),
      name.map((text) => `{{${text}}}`),
      fc.tuple(fc.constantFrom('#', '^'), name, tie('list')).map(([kind, text, inner]) => {
        return `{{${kind}${text}}}${inner}{{/${text}}}`;
      }),
    ),
    list: fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
  })).list;
  const scalar: fc.Arbitrary<JsonValue> = fc.oneof(
    fc.constantFrom<JsonValue>('', 'text', true, false),
    fc.constantFrom('0', '1', '-2').map((text) => new JsonNumber(text)),
  );
  const data: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc
        .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), tie('value')), { maxLength: 3 })
        .map((pairs) => new Map(pairs)),
    ),
  })).value;
  /** Containers have no text in common, so neither side shows them. */
  const shown = (value: unknown): string =>
    typeof value === 'object' && value !== null ? 'O' : String(value);

  test('on what any template makes of any data', () => {
    const showing: TemplateEscape = {
      insert: (value) => (value === undefined || value === null ? '' : shown(plain(value))),
    };
    fc.assert(
      fc.property(piece, data, (template, value) => {
        const expected = Mustache.render(template, plain(value), {}, { escape: shown });
        expect(fillValue(template, value, showing)).toBe(expected);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('JSON templates', () => {
  test.each([
    ['{"a":"{{x}}"}', '"v"', '{"a":"v"}'],
    ['{"a":"<{{x}}>"}', '1.10', '{"a":"<1.10>"}'],
    ['{"a":"{{x}}"}', '{"k":"\\""}', '{"a":"{\\"k\\":\\"\\\\\\"\\"}"}'],
    ['{"a":"{{x}}{{none}}"}', 'null', '{"a":""}'],
    ['{"a":{{x}},"b":{{none}}}', '1.10', '{"a":1.10,"b":null}'],
    ['{"a":{{x}}}', '{"k":[1e400]}', '{"a":{"k":[1e400]}}'],
    ['{"{{x}}":1}', '"a\\"b"', '{"a\\"b":1}'],
    ['{"a":"\\"{{x}}\\"","b":{{x}}}', '"q\\""', '{"a":"\\"q\\"\\"","b":"q\\""}'],
    ['{"path":"C:\\{{x}}"}', '"\\"n"', '{"path":"C:\\\\\\"n"}'],
    ['[{{#x}}{"v":{{.}}},{{/x}}null]', '[1,"\\""]', '[{"v":1},{"v":"\\""},null]'],
    ['{"a":"{{#x}}{{.}};{{/x}}"}', '[1,"\\""]', '{"a":"1;\\";"}'],
    ['{"a":{{{x}}}}', '"[1, 2]"', '{"a":[1,2]}'],
    ['{"a":"{{{x}}}","b":{{x}},"c":"{{x}}"}', '"\\\\n"', '{"a":"\\n","b":"\\\\n","c":"\\\\n"}'],
  ])('%s with %s', (template, value, expected) => {
    expect(fillJson(template, parseJson(utf8(value)))).toBe(expected);
  });

  test('raw text may end a literal: what follows is escaped for where it really stands', () => {
    const view = '{"x":"\\",\\"raw\\":","v":"\\"}"}';
    const text = fill('{"a":"{{{x}}}{{v}}}', view, createJsonEscape());
    expect(stringifyJson(parseJson(utf8(text)))).toBe('{"a":"","raw":"\\"}"}');
  });

  const hostile = [
    '","admin":true,"x":"',
    '"',
    '\\',
    '\\"',
    '\\\\"',
    '\u0000',
    '\n',
    '\u2028',
    '😀',
    '\ud800',
    '}',
    '{{x}}',
  ];
  const anyValue = jsonObject(anyText).chain((object) =>
    fc.constantFrom<JsonValue>(object, ...object.values()),
  );
  const values = fc.oneof(fc.constantFrom<JsonValue>(...hostile), anyText, anyValue);

  test('any value, in any place, comes out whole and changes nothing around it', () => {
    fc.assert(
      fc.property(values, (value) => {
        const text = typeof value === 'string' ? value : value === null ? '' : stringifyJson(value);
        const template = '{"s":"{{x}}","o":{{x}},"\\\\":["<{{x}}>",{{x}}],"e":"\\{{x}}"}';
        const expected = new Map<string, JsonValue>([
          ['s', text],
          ['o', value],
          ['\\', [`<${text}>`, value]],
          ['e', `\\${text}`],
        ]);
        expect(fillJson(template, value)).toBe(stringifyJson(expected));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('the meter', () => {
  const stop = new Error('stop');

  test('counts bytes of output before they are made', () => {
    let bytes = 0;
    const meter = {
      ...FREE,
      write: (count: number) => {
        bytes += count;
      },
    };
    const view = parseJson(utf8('{"a":["é","😀"]}'));
    const text = renderTemplate(parseTemplate('ü{{#a}}{{.}}{{{.}}}-{{/a}}'), view, {
      escape: plainEscape,
      meter,
    });
    expect(bytes).toBe(Buffer.byteLength(text));
  });

  test('counts turns of sections even when they show nothing, and can stop them', () => {
    const view = new Map([['a', Array<JsonValue>(1000).fill(true)]]);
    let steps = 0;
    const meter = {
      ...FREE,
      spend: (count: number) => {
        steps += count;
        if (steps > 5000) {
          throw stop;
        }
      },
    };
    const render = (template: string): string =>
      renderTemplate(parseTemplate(template), view, { escape: plainEscape, meter });
    expect(render('{{#a}}{{/a}}')).toBe('');
    expect(steps).toBeGreaterThan(1000);
    expect(() => render('{{#a}}{{#a}}{{#a}}{{/a}}{{/a}}{{/a}}')).toThrow(stop);
  });
});
