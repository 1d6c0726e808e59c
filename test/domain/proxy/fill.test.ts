import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { VaultError } from '../../../server/core/errors.ts';
import {
  type JsonObject,
  type JsonValue,
  parseStoredObject,
  stringifyJson,
} from '../../../server/domain/json/json.ts';
import { maskForced } from '../../../server/domain/mask/mask.ts';
import {
  FILL_LIMITS,
  type FilledRequest,
  filledRequestJson,
  fillRequest,
} from '../../../server/domain/proxy/fill.ts';
import { parseProxyOrder } from '../../../server/domain/proxy/request.ts';
import { startCpuClock } from '../../helpers/cpu-clock.ts';
import { utf8 } from '../json/arbitrary.ts';
import { HOSTILE, NOT_IN_XML } from './hostile.ts';

interface Sent {
  readonly url?: string;
  readonly type?: string;
  readonly headers?: readonly Record<string, string>[];
  readonly body?: string;
}

function requestOf({ url = 'https://a.example/', type, headers = [], body }: Sent) {
  const all = type === undefined ? headers : [{ 'Content-Type': type }, ...headers];
  const request = { method: 'POST', url, headers: all, body };
  return parseProxyOrder(parseStoredObject(utf8(JSON.stringify({ request })))).request;
}
function fill(sent: Sent, view: JsonObject, now: () => number = () => 0): FilledRequest {
  return fillRequest(requestOf(sent), view, now, { allowMissing: true });
}
function bodyOf(sent: Sent, view: JsonObject): string {
  return fill(sent, view).body ?? '';
}
function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error instanceof VaultError ? [error.code, error.field] : error;
  }
  return undefined;
}
function json(text: string): JsonObject {
  return parseStoredObject(utf8(text));
}
function x(value: JsonValue): JsonObject {
  return new Map([['x', value]]);
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const XML_TYPE = 'application/xml';

const xml = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  htmlEntities: true,
});

const text = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: 'binary' }),
  fc.array(fc.constantFrom(...HOSTILE), { maxLength: 4 }).map((parts) => parts.join('')),
);

function checkJson(value: string): void {
  const body = bodyOf({ type: JSON_TYPE, body: '{"s":"<{{x}}>","o":{{x}},"l":[{{x}},1]}' }, x(value));
  expect(JSON.parse(body)).toEqual({ s: `<${value}>`, o: value, l: [value, 1] });
}
function checkForm(value: string): void {
  const body = bodyOf({ type: FORM_TYPE, body: 'a={{x}}&b=1&c=<{{x}}>' }, x(value));
  expect([...new URLSearchParams(body)]).toEqual([
    ['a', value],
    ['b', '1'],
    ['c', `<${value}>`],
  ]);
}
const XML_BODY =
  '<r a="{{x}}" b=\'{{x}}\'><t>[{{x}}]</t><!-- {{x}} --><d><![CDATA[[{{x}}]]{{x}}>]]></d><e/></r>';
function checkXml(value: string): void {
  const body = bodyOf({ type: XML_TYPE, body: XML_BODY }, x(value));
  expect(xml.parse(body)).toEqual({
    r: { '@a': value, '@b': value, t: `[${value}]`, d: `[${value}]]${value}>`, e: '' },
  });
}

describe('values come back whole and change nothing around them', () => {
  test('200 hostile values', () => {
    expect(HOSTILE).toHaveLength(200);
    for (const value of HOSTILE) {
      checkJson(value);
      checkForm(value);
      checkXml(value);
    }
  });

  test('any text, in JSON and forms', () => {
    fc.assert(
      fc.property(text, (value) => {
        checkJson(value);
        checkForm(value);
      }),
      { numRuns: 500 },
    );
  });

  test('any text that XML can hold, in XML', () => {
    const holds = (value: string): boolean =>
      !/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(value);
    fc.assert(fc.property(text.filter(holds), checkXml), { numRuns: 500 });
  });

  test('what XML cannot hold it refuses', () => {
    for (const value of NOT_IN_XML) {
      expect(refusal(() => bodyOf({ type: XML_TYPE, body: XML_BODY }, x(value)))).toEqual([
        'invalid_request',
        'body.request.body',
      ]);
      checkJson(value);
    }
  });
});

describe('the body', () => {
  test.each([
    [undefined, '{"a":"{{x}}"}', '"', '{"a":"\\""}'],
    ['application/vnd.x+json', '"{{x}}"', '"', '"\\""'],
    ['application/soap+xml', '<a>{{x}}</a>', '<', '<a>&lt;</a>'],
    ['text/plain', '{{x}}', '"<&', '"<&'],
    [JSON_TYPE, '{"a":{{{x}}}}', '[1]', '{"a":[1]}'],
    [FORM_TYPE, '{{{x}}}', 'a=1&b=2', 'a=1&b=2'],
    [XML_TYPE, '<a>{{{x}}}</a>', '<b/>', '<a><b/></a>'],
    [XML_TYPE, '{{{x}}}{{x}}]]>{{x}}', '<![CDATA[>', '<![CDATA[><![CDATA[]]><![CDATA[>]]>&lt;![CDATA[&gt;'],
    [FORM_TYPE, 'a={{y}}', '', 'a='],
    ['text/plain', '{{x}}', '\ud800', '\ufffd'],
  ])('as %j: %s', (type, body, value, expected) => {
    expect(bodyOf({ ...(type === undefined ? {} : { type }), body }, x(value))).toBe(expected);
  });

  test('is left out when the request has none', () => {
    expect(fill({}, x('')).body).toBeUndefined();
  });

  test.each([JSON_TYPE, FORM_TYPE, XML_TYPE, 'text/plain'])('prototype names are empty in %s', (type) => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'x.length', 'x.constructor'];
    const body = `"${names.map((name) => `{{${name}}}{{{${name}}}}`).join('')}"`;
    const sent = {
      type,
      body,
      url: `https://a.example/-{{constructor}}{{toString}}`,
      headers: [{ A: '{{__proto__}}' }],
    };
    expect(fill(sent, x('text'))).toMatchObject({ body: '""', url: 'https://a.example/-' });
    expect(fill(sent, x('text')).headers.at(-1)).toEqual(['A', '']);
  });

  test('of a masked copy is what debug shows', () => {
    const view = json('{"card_number":"4111111111111111","cvv":"123","card":{"number":4242424242424242}}');
    const body = '{"n":"{{card_number}}","c":{{cvv}},"all":{{.}},"raw":"{{{card.number}}}"}';
    const shown = stringifyJson(
      filledRequestJson(fill({ url: 'https://a.example/{{cvv}}', body }, maskForced(view))),
    );
    expect(shown).not.toMatch(/\d{5}|123/);
    expect(JSON.parse(shown)).toMatchObject({
      method: 'POST',
      url: 'https://a.example/%2A%2A%2A',
      headers: [],
    });
    expect(JSON.parse(JSON.parse(shown).body)).toMatchObject({
      n: '************1111',
      raw: '************4242',
    });
  });
});

describe('the URL', () => {
  const template = 'https://a.example:8443/p/{{x}}/q?a={{x}}&b=1';
  const checkUrl = (value: string): void => {
    const url = new URL(fill({ url: template }, x(value)).url);
    expect([url.origin, url.username, url.hash]).toEqual(['https://a.example:8443', '', '']);
    expect(url.pathname.split('/').map(decodeURIComponent)).toEqual(['', 'p', value, 'q']);
    expect([...url.searchParams]).toEqual([
      ['a', value],
      ['b', '1'],
    ]);
  };
  // Servers that decode a path before they take it apart see steps inside of a value, too.
  const hasStep = (value: string): boolean =>
    value
      .split(/[/\\]/)
      .map((segment) => segment.split(';', 1)[0])
      .some((segment) => segment === '.' || segment === '..');
  const checkText = (value: string): void => {
    if (hasStep(value)) {
      expect(refusal(() => fill({ url: template }, x(value)))).toEqual([
        'invalid_request',
        'body.request.url',
      ]);
    } else {
      checkUrl(value);
    }
  };
  test('holds hostile values, or is refused where they take a step', () => HOSTILE.forEach(checkText));
  test('holds any text, or is refused where it takes a step', () => {
    fc.assert(fc.property(text, checkText), { numRuns: 500 });
  });
  test('holds any text of dots and separators, or is refused where it takes a step', () => {
    const steps = fc.string({ unit: fc.constantFrom('.', '/', '\\', ';', 'a', '%2e', '%2f'), maxLength: 6 });
    fc.assert(fc.property(steps, checkText), { numRuns: 500 });
  });

  test.each([
    ['https://a.example/{{x}}/b', '..'],
    ['https://a.example/{{x}}', '.'],
    ['https://a.example/.{{x}}/b', '.'],
    ['https://a.example/a{{{x}}}', '/../b'],
    ['https://a.example/a{{{x}}}', '/%2E%2e'],
    ['https://a.example/{{{x}}}', 'a\r\nb'],
    ['https://a.example/?{{x}}', 'a'.repeat(17_000)],
  ])('%s with %j is refused', (url, value) => {
    expect(refusal(() => fill({ url }, x(value)))).toEqual(['invalid_request', 'body.request.url']);
  });

  test.each([
    ['https://a.example/{{{x}}}', '@b.example', 'https://a.example/@b.example'],
    ['https://a.example/{{{x}}}', '/b.example', 'https://a.example//b.example'],
    ['https://a.example/{{{x}}}', '?a=1&b=2', 'https://a.example/?a=1&b=2'],
    ['https://a.example/a#{{x}}', 'secret', 'https://a.example/a'],
    ['https://a.example?{{x}}', '..', 'https://a.example/?..'],
    ['https://bücher.example', '', 'https://xn--bcher-kva.example/'],
  ])('%s with %j', (url, value, expected) => {
    expect(fill({ url }, x(value)).url).toBe(expected);
  });
});

describe('header values', () => {
  test('are put in as they are', () => {
    const headers = [{ Authorization: 'Bearer {{x}}' }, { 'X-Raw': '{{{x}}}' }];
    expect(fill({ headers }, x('"<é>&')).headers).toEqual([
      ['Authorization', 'Bearer "<é>&'],
      ['X-Raw', '"<é>&'],
    ]);
  });
  test.each(['\r\n', '\n', '\r', '\u0000', '\t', '\u001f', '\u007f', '\u0080', '\u2028', '😀', '\ud800'])(
    'refuse %j',
    (value) => {
      for (const tag of ['{{x}}', '{{{x}}}', '{{#x}}{{.}}{{/x}}']) {
        const headers = [{ A: 'b' }, { C: `d${tag}` }];
        expect(refusal(() => fill({ headers }, x(`a${value}b`)))).toEqual([
          'invalid_request',
          'body.request.headers[1]',
        ]);
      }
    },
  );
});

describe('bounds', () => {
  const limit = ['template_limit', undefined];
  const list = json(`{"a":[${Array(10_000).fill('{}').join(',')}],"t":"${'x'.repeat(100_000)}"}`);
  const nested = (levels: number, inside: string): string =>
    '{{#a}}'.repeat(levels) + inside + '{{/a}}'.repeat(levels);

  test.each([
    nested(2, ''),
    nested(4, '{{b}}'),
    nested(32, ''),
    nested(1, '{{t}}'),
    '{{{t}}}'.repeat(11),
    nested(2, 'x'),
  ])('end a bomb', (body) => {
    for (const type of [JSON_TYPE, FORM_TYPE, XML_TYPE, 'text/plain']) {
      const cpuMs = startCpuClock();
      expect(refusal(() => fill({ type, body }, list, cpuMs))).toEqual(limit);
      expect(cpuMs()).toBeLessThan(1000);
    }
  });

  test('count URL, headers and body together', () => {
    const headers = Array.from({ length: 11 }, (_, at) => ({ [`X-${at}`]: '{{t}}' }));
    expect(refusal(() => fill({ headers }, list))).toEqual(limit);
    const most = { type: 'text/plain', body: 'x'.repeat(FILL_LIMITS.bytesMax - '/text/plain'.length) };
    expect(fill(most, list).body).toHaveLength(most.body.length);
    expect(refusal(() => fill({ ...most, url: 'https://a.example/a' }, list))).toEqual(limit);
  });

  test('hold for time alone', () => {
    let ms = 0;
    const slow = (): number => {
      ms += FILL_LIMITS.msMax + 1;
      return ms;
    };
    expect(refusal(() => fill({ body: '{}' }, list, slow))).toEqual(limit);
  });

  test('nothing is kept of distinct templates', () => {
    const view = x('value');
    const run = (from: number): void => {
      for (let at = from; at < from + 300; at++) {
        fill({ body: `{"n${at}":"{{x}}","filler":"${'f'.repeat(1_000)}"}` }, view);
      }
      Bun.gc(true);
    };
    run(0);
    const before = process.memoryUsage().heapUsed;
    run(300);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200_000);
  });
});
