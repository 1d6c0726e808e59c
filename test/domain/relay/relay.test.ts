import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { JsonNumber, type JsonValue } from '../../../server/domain/json/json.ts';
import { fillRelay, type ValueOf } from '../../../server/domain/relay/fill.ts';
import {
  headersToReturn,
  headersToSend,
  readableCodings,
  replaceHeaders,
} from '../../../server/domain/relay/headers.ts';
import {
  findPlaceholders,
  placeholderText,
  sentNumber,
  tokensOf,
} from '../../../server/domain/relay/placeholder.ts';
import { type Showing, showReply, staysAsItIs } from '../../../server/domain/relay/sight.ts';
import { startCpuClock } from '../../helpers/cpu-clock.ts';

const NUMBER = '4111111111111111';
const VALUES: Readonly<Record<string, JsonValue>> = {
  card_number: NUMBER,
  name: 'Zoë "Z" <&> O’Hara',
  month: new JsonNumber('08'),
  lines: 'a\r\nX-Injected: 1',
};
const valueIn: ValueOf = ({ field }) => VALUES[field] ?? 'other';

function fillBody(type: string, body: string): string {
  return fillRelay({ query: '', headers: [['content-type', type]] }, body, valueIn).body;
}

describe('placeholders', () => {
  test('are found as they are written, with their parts decoded', () => {
    expect(findPlaceholders('a{{vault:t%3A1:card.number:o%2F1}}b{{vault:t2:x}}', 'body', 'plain')).toEqual([
      { token: 't:1', field: 'card.number', reference: 'o/1', start: 1, end: 34 },
      { token: 't2', field: 'x', reference: undefined, start: 35, end: 49 },
    ]);
  });

  test('are found in forms and queries however far they are encoded', () => {
    for (const text of [
      'n=%7B%7Bvault%3At%3Ax%7D%7D&m=1',
      'n={{vault:t:x}}&m=1',
      'n=%7b%7bvault:t:x%7d%7d&m=1',
      'n=%7B{vault%3At:x}%7D&m=1',
    ]) {
      expect(findPlaceholders(text, 'body', 'encoded')).toMatchObject([{ token: 't', field: 'x', start: 2 }]);
    }
    expect(findPlaceholders('%7B%7Bvault%3At%3Ax%7D%7D', 'body', 'plain')).toEqual([]);
    const twice = encodeURIComponent(placeholderText({ token: 'a:b', field: 'ä', reference: '}}' }));
    expect(findPlaceholders(twice, 'body', 'encoded')).toMatchObject([
      { token: 'a:b', field: 'ä', reference: '}}' },
    ]);
  });

  test.each([
    '{{vault:',
    '{{vault:t}}',
    '{{vault:t:}}',
    '{{vault:t:x:}}',
    '{{vault:t:x:r:s}}',
    '{{vault:t:%zz}}',
    '{{ vault:t:x }}',
    '{{vault:t:ä}}',
    `{{vault:${'t'.repeat(3_000)}:x}}`,
  ])('that are malformed never go out as they are: %#', (text) => {
    expect(() => findPlaceholders(text, 'body', 'plain')).toThrow('placeholders of the form');
    expect(() => findPlaceholders(encodeURIComponent(text), 'body', 'encoded')).toThrow(
      'placeholders of the form',
    );
  });

  test('take linear time, and are limited', () => {
    const cpuMs = startCpuClock();
    expect(() => findPlaceholders('{{vault:'.repeat(130_000), 'body', 'plain')).toThrow();
    expect(() => findPlaceholders('{{vault:t:x}}'.repeat(80_000), 'body', 'plain')).toThrow();
    expect(
      findPlaceholders(`${'{{ '.repeat(300_000)}${' '.repeat(100_000)}vault`, 'body', 'encoded'),
    ).toEqual([]);
    for (const spaces of [' ', '+', '%20'].map((space) => space.repeat(1_000_000 / space.length))) {
      expect(findPlaceholders(`vault{{${spaces}`, 'body', 'encoded')).toEqual([]);
      expect(findPlaceholders(`{${spaces}vault:`, 'body', 'encoded')).toEqual([]);
      expect(() => findPlaceholders(`{{${spaces}vault:`, 'body', 'encoded')).toThrow();
    }
    expect(findPlaceholders('vault:'.repeat(170_000), 'body', 'encoded')).toEqual([]);
    expect(cpuMs()).toBeLessThan(1_000);
    const texts = Array.from({ length: 21 }, (_, at) => `{{vault:t${at}:x}}`);
    expect(() => tokensOf([{ text: texts.join(), field: 'body', writing: 'plain' }])).toThrow('20 tokens');
    expect(tokensOf([{ text: texts.slice(1).join(), field: 'body', writing: 'plain' }])).toHaveLength(20);
  });

  test('that this code writes are read again, whatever the parts are', () => {
    const part = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(part, part, fc.option(part, { nil: undefined }), (token, field, reference) => {
        const text = placeholderText({ token, field, reference });
        const [found] = findPlaceholders(`x${text}y`, 'body', 'plain');
        expect(found).toEqual({ token, field, reference, start: 1, end: 1 + text.length });
      }),
    );
  });
});

describe('a filled request', () => {
  test('has values escaped for their place, and everything else as it came', () => {
    const json =
      '{"n": 1.10, "n":2,"card":"{{vault:t:card_number}}","m":{{vault:t:month}}, "name":"{{vault:t:name}}"}';
    expect(fillBody('application/json', json)).toBe(
      `{"n": 1.10, "n":2,"card":"${NUMBER}","m":08, "name":"Zoë \\"Z\\" <&> O’Hara"}`,
    );
    expect(fillBody('application/x-www-form-urlencoded', 'a=%20&n=%7B%7Bvault%3At%3Aname%7D%7D&b')).toBe(
      'a=%20&n=Zo%C3%AB%20%22Z%22%20%3C%26%3E%20O%E2%80%99Hara&b',
    );
    expect(fillBody('text/xml', '<n>{{vault:t:name}}</n>')).toBe(
      '<n>Zoë &quot;Z&quot; &lt;&amp;&gt; O’Hara</n>',
    );
    const part = '--b\r\nContent-Disposition: form-data; name="n"\r\n\r\n{{vault:t:card_number}}\r\n--b--';
    expect(fillBody('multipart/form-data; boundary=b', part)).toBe(
      part.replace('{{vault:t:card_number}}', NUMBER),
    );
    const filled = fillRelay(
      { query: '?a=1&&n=%7B%7Bvault:t:name%7D%7D', headers: [['x-n', '{{vault:t:card_number}}']] },
      '',
      valueIn,
    );
    expect(filled).toEqual({
      query: '?a=1&&n=Zo%C3%AB%20%22Z%22%20%3C%26%3E%20O%E2%80%99Hara',
      headers: [['x-n', NUMBER]],
      body: '',
    });
  });

  test('takes no value that would end the place where it stands', () => {
    expect(() => fillBody('multipart/form-data; boundary=b', '{{vault:t:lines}}')).toThrow(
      'values that can stand there',
    );
    expect(() => fillRelay({ query: '', headers: [['x', '{{vault:t:lines}}']] }, '', valueIn)).toThrow();
    expect(() => fillRelay({ query: '', headers: [['x', '{{vault:t:name}}']] }, '', valueIn)).toThrow();
    expect(fillBody('application/json', '"{{vault:t:lines}}"')).toBe('"a\\r\\nX-Injected: 1"');
  });

  test('is limited, though each placeholder is short', () => {
    const value = 'x'.repeat(200_000);
    expect(() => fillRelay({ query: '', headers: [] }, '{{vault:t:x}}'.repeat(20), () => value)).toThrow();
  });
});

describe('headers', () => {
  test('of the connection, the vault and proxies before it stay behind', () => {
    expect(
      headersToSend([
        ['accept', 'a'],
        ['connection', 'close, x-hop'],
        ['x-hop', '1'],
        ['expect', '100-continue'],
        ['authorization', 'Bearer vak1_x'],
        ['x-vault-passphrase', 'p'],
        ['x-vault-user', 'u'],
        ['host', 'vault'],
        ['te', 'trailers'],
        ['x-forwarded-for', '10.0.0.1'],
        ['idempotency-key', 'k'],
      ]),
    ).toEqual([
      ['Accept', 'a'],
      ['Idempotency-Key', 'k'],
    ]);
    expect(
      headersToReturn([
        ['Content-Type', 'text/html'],
        ['Set-Cookie', 'vault_session=1'],
        ['Transfer-Encoding', 'chunked'],
        ['Access-Control-Allow-Origin', '*'],
        ['Connection', 'X-Own'],
        ['x-own', '1'],
        ['Request-Id', 'r'],
      ]),
    ).toEqual([
      ['Content-Type', 'text/html'],
      ['Request-Id', 'r'],
    ]);
  });

  test('of a connection replace those of the caller', () => {
    const own = [
      ['Authorization', 'Basic a'],
      ['X', '1'],
      ['X', '2'],
    ] as const;
    expect(
      replaceHeaders(
        [
          ['x', '0'],
          ['Y', '3'],
        ],
        own,
      ),
    ).toEqual([['Y', '3'], ...own]);
  });

  test('of a connection replace those that some servers read as the same name', () => {
    const sent = ['X_Api_Key', 'x-api_key', 'X_API-KEY', 'X-Api-Keys', 'XApiKey'].map(
      (name) => [name, '0'] as const,
    );
    for (const name of ['X-Api-Key', 'X_Api_Key']) {
      const own = [[name, '1']] as const;
      expect(replaceHeaders(sent, own)).toEqual([['X-Api-Keys', '0'], ['XApiKey', '0'], ...own]);
    }
  });

  test('that some servers read as those of the vault or of routing stay behind', () => {
    const names = [
      'X_Vault_Passphrase',
      'x_http_method_override',
      'X_Original-URL',
      'Transfer_Encoding',
      'X_Forwarded_For',
    ];
    expect(headersToSend([...names, 'X_Own'].map((name) => [name, '0']))).toEqual([['X_Own', '0']]);
  });

  test('name codings that can be read, or none', () => {
    expect(readableCodings('')).toBe('identity');
    expect(readableCodings('gzip, zstd;q=0.9, BR;q=0.5, deflate;q=0')).toBe('gzip, br;q=0.5');
    expect(readableCodings('zstd')).toBe('identity');
  });
});

describe('a reply', () => {
  const sent = [
    sentNumber({ token: 't', field: 'card_number', reference: 'o' }, NUMBER) ?? { digits: '', shown: '' },
  ];
  const shown = '{{vault:t:card_number:o}}';
  const showing: Showing = { sight: 'all', numbers: [], sent, paths: [], secrets: [] };
  const shownOf = (type: string, text: string): string => {
    const headers = [['Content-Type', type]] as const;
    return Buffer.from(showReply({ status: 200, headers, body: Buffer.from(text) }, showing).body).toString();
  };

  test('has placeholders for the numbers that were sent', () => {
    expect(shownOf('text/plain', `a=${NUMBER}&b=4111 1111 1111 1111`)).toBe(`a=${shown}&b=${shown}`);
    expect(shownOf('application/json', `{"a":"\\"${NUMBER}","b":${NUMBER},"c":"x"}`)).toBe(
      `{"a":"\\"${shown}","b":"${shown}","c":"x"}`,
    );
    expect(shownOf('application/json', 'nothing')).toBe('nothing');
  });

  test('is searched for whole numbers alone', () => {
    const none = [
      ['123', 'cvv'],
      ['Ada 4111111111111111', 'name'],
      ['12/30', 'expiry'],
    ] as const;
    for (const [value, field] of none) {
      expect(sentNumber({ token: 't', field }, value)).toBeUndefined();
    }
    expect(sentNumber({ token: 't', field: 'n' }, new JsonNumber(NUMBER))?.digits).toBe(NUMBER);
  });

  test('is masked wherever that would change it', () => {
    const mark = fc.constantFrom(
      ' ',
      '-',
      '.',
      '\u00a0',
      '\u2011',
      '%20',
      '%c2',
      '&nbsp;',
      '&#xa0;',
      '&#32;',
      '\\n',
    );
    const between = fc.oneof(
      fc.constant(''),
      mark,
      fc.constantFrom('\\u00a0', '\\u202f', ' - ', '\\', '", "'),
    );
    const repeated = fc
      .array(between, { minLength: NUMBER.length, maxLength: NUMBER.length })
      .map((marks) => [...NUMBER].map((digit, at) => digit + marks[at]).join(''));
    const noise = fc.constantFrom(
      'id',
      ':',
      '"',
      '1764178130',
      'é',
      '%',
      '&',
      '\\',
      '{',
      'x',
      '4111 1111 1111 ',
    );
    const text = fc.array(fc.oneof(noise, repeated), { maxLength: 6 }).map((pieces) => pieces.join(''));
    const stays = (headers: string, body: Uint8Array, secrets: readonly string[] = []) =>
      staysAsItIs({ status: 200, headers: [['X-Id', headers]], body }, { ...showing, secrets });
    const isSame = (value: string, body: Uint8Array, type = 'text/plain'): boolean => {
      const headers = [
        ['X-Id', value],
        ['Content-Type', type],
      ] as const;
      const reply = showReply({ status: 200, headers, body }, showing);
      return reply.headers[0]?.[1] === value && Buffer.from(reply.body).equals(body);
    };
    fc.assert(
      fc.property(text, (given) => {
        for (const coding of ['utf8', 'utf16le'] as const) {
          const body = Buffer.from(given, coding);
          const type = coding === 'utf8' ? 'text/plain' : 'text/plain; charset=utf-16le';
          expect(isSame('', body, type) || !stays('', body)).toBe(true);
        }
        const value = Buffer.from(given).toString('latin1');
        expect(isSame(value, Buffer.alloc(0)) || !stays(value, Buffer.alloc(0))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    const usual = Buffer.from('{"id":"ch_3Q9xL2","created":1764178130,"amount":1000,"last4":"1111"}');
    expect(stays('Thu, 26 Nov 2026 17:28:50 GMT', usual)).toBe(true);
    expect(stays('', usual, ['ch_3Q9xL2'])).toBe(false);
    expect(stays('sk_live_1', usual, ['sk_live_1'])).toBe(false);
    expect(stays('', Buffer.alloc(20_000, 'x'))).toBe(false);
  });
});
