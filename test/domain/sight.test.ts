/** What a caller is shown of a reply, by how much it may see. */
import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { HeaderEntries } from '../../server/core/headers.ts';
import { mayHaveSadName, SAD_NAMES } from '../../server/domain/card/sensitive-names.ts';
import {
  type Showing,
  showReply,
  staysAsItIs,
  withoutSecretsInPassing,
} from '../../server/domain/relay/sight.ts';

const NUMBER = '4111111111111111';
const SECRET = 'sk_live_AbC/+1234';
const ALL: Showing = { sight: 'all', numbers: [], sent: [], paths: [], secrets: [] };
const MASKED: Showing = { ...ALL, sight: 'masked', numbers: [NUMBER] };
const NAMED: Showing = { ...MASKED, sight: 'named', paths: ['id', 'n'] };
const JSON_TYPE: HeaderEntries = [['Content-Type', 'application/json']];

function shown(showing: Showing, body: string | Uint8Array, headers: HeaderEntries = [], status = 200) {
  const reply = showReply({ status, headers, body: Buffer.from(body) }, showing);
  return { ...reply, body: Buffer.from(reply.body).toString() };
}

describe('all', () => {
  test('is the reply as it is, but for the secrets of its connection', () => {
    const body = `{"n":${NUMBER},"cvv":"123"}`;
    expect(shown(ALL, body, JSON_TYPE)).toEqual({ headers: JSON_TYPE, body, withheld: false });
    const secrets = [SECRET];
    for (const written of [SECRET, SECRET.replace('/', '\\/'), encodeURIComponent(SECRET)]) {
      expect(shown({ ...ALL, secrets }, `a ${written} b`, [['X-A', written]])).toEqual({
        headers: [['X-A', '********']],
        body: 'a ******** b',
        withheld: false,
      });
    }
  });

  test('hides a body that cannot be searched for secrets, and does not say that it is encoded', () => {
    const headers: HeaderEntries = [
      ['Content-Encoding', 'zstd'],
      ['X-A', 'b'],
    ];
    expect(shown({ ...ALL, secrets: [SECRET] }, 'x', headers)).toEqual({
      headers: [['X-A', 'b']],
      body: '********',
      withheld: false,
    });
    expect(shown(ALL, 'x', headers)).toEqual({ headers, body: 'x', withheld: false });
  });
});

describe('masked', () => {
  test('hides numbers and codes in body and headers, whatever the format says', () => {
    const body = `{"n":${NUMBER},"cvv":"123","id":"a"}`;
    const masked = '{"n":"************1111","cvv":"********","id":"a"}';
    expect(shown(MASKED, body, JSON_TYPE).body).toBe(masked);
    expect(shown(MASKED, body, [['Content-Type', 'text/html']]).body).not.toMatch(/4111111|123/);
    expect(
      shown(MASKED, '', [
        ['X-CVV', '123'],
        [`X-${NUMBER}`, 'a'],
      ]).headers,
    ).toEqual([
      ['X-CVV', '********'],
      ['X-************1111', '********'],
    ]);
  });

  test.each<[string, Uint8Array | string, HeaderEntries, number]>([
    ['a coding that is not known', gzipSync(NUMBER), [['Content-Encoding', 'x-own']], 200],
    ['a part of a reply', NUMBER.slice(0, 8), [], 206],
    ['UTF-16', Buffer.from(NUMBER, 'utf16le'), [], 200],
    ['what says that it is UTF-16', NUMBER, [['Content-Type', 'text/plain; charset=utf-16be']], 200],
  ])('hides the whole body in %s', (_about, body, headers, status) => {
    const reply = shown(MASKED, body, headers, status);
    expect([reply.body, reply.headers.some(([name]) => name === 'Content-Encoding')]).toEqual([
      '********',
      false,
    ]);
  });

  test('leaves an empty body empty', () => {
    expect(shown(MASKED, '', [['Content-Encoding', 'zstd']], 206).body).toBe('');
  });
});

describe('named', () => {
  test('shows named members of JSON, masked and without secrets, and no header', () => {
    const body = `\ufeff{"id":"${SECRET} ${NUMBER}","n":${NUMBER},"other":"x"}`;
    expect(shown({ ...NAMED, secrets: [SECRET] }, body, JSON_TYPE)).toEqual({
      headers: [],
      body: '{"id":"******** ************1111","n":"************1111"}',
      withheld: true,
    });
  });

  test.each<[string, Showing, string, HeaderEntries]>([
    ['without paths', { ...NAMED, paths: [] }, '{"id":1}', JSON_TYPE],
    ['of a type that is no JSON', NAMED, '{"id":1}', [['Content-Type', 'application/jsonp']]],
    ['of JSON lines', NAMED, '{"id":1}\n{"id":2}', [['Content-Type', 'application/x-ndjson']]],
    ['of two types', NAMED, '{"id":1}', [['Content-Type', 'text/plain, application/json']]],
    ['in a coding', NAMED, '{"id":1}', [...JSON_TYPE, ['Content-Encoding', 'zstd']]],
    ['that is no JSON', NAMED, '{"id":1', JSON_TYPE],
    ['with a name twice', NAMED, '{"id":1,"id":2}', JSON_TYPE],
    ['that is not UTF-8', NAMED, '{"id":"\u00e9"}', JSON_TYPE],
  ])('shows nothing of a reply %s', (about, showing, text, headers) => {
    const body = about.includes('UTF-8') ? Buffer.from(text, 'latin1') : text;
    expect(shown(showing, body, headers)).toEqual({ headers: [], body: '', withheld: true });
  });

  test('shows nothing of a part, which could be any member of the whole', () => {
    expect(shown(NAMED, '{"id":1}', JSON_TYPE, 206).body).toBe('');
  });

  test('shows a vendor’s JSON too', () => {
    const headers: HeaderEntries = [['content-type', ' Application/Problem+JSON; charset=utf-8']];
    expect(shown(NAMED, '{"id":1}', headers).body).toBe('{"id":1}');
  });
});

describe('a reply that is passed on as it comes', () => {
  test('loses secrets also where a piece ends within one', async () => {
    const pieces = ['a sk_live_', 'AbC\\', '/+12', '34 b'];
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) {
          controller.enqueue(Buffer.from(piece));
        }
        controller.close();
      },
    });
    const reply = withoutSecretsInPassing({ headers: [['X-A', SECRET]], body }, [SECRET]);
    expect(await new Response(reply.body).text()).toBe('a ******** b');
    expect(reply.headers).toEqual([['X-A', '********']]);
  });

  test('is hidden where it is encoded', async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel() {
        isCancelled = true;
      },
    });
    const reply = withoutSecretsInPassing({ headers: [['Content-Encoding', 'br']], body }, [SECRET]);
    expect([await new Response(reply.body).text(), reply.headers, isCancelled]).toEqual([
      '********',
      [],
      true,
    ]);
  });
});

describe('a reply that is seen to stay as it is', () => {
  test('has none of the names of codes', () => {
    for (const name of SAD_NAMES) {
      expect([name, mayHaveSadName(`a ${name}: 1`)]).toEqual([name, true]);
    }
  });

  test('would be shown as it is', () => {
    const part = fc.constantFrom(
      ...[
        '{"id":1}',
        '"',
        ':',
        '=',
        '<',
        '>',
        '&',
        '%63',
        '\\u0063',
        '\\',
        'cvv',
        'c_v-c',
        'vv',
        'pin',
        'a',
        ' ',
      ],
      ...['4111111111111111', '4111', '1111 1111', '123456', '12', '-', '.', ',', '\u00e9', '&#99;', 'track'],
    );
    const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
    const type = fc.constantFrom(
      'application/json',
      'text/xml',
      'text/plain',
      'application/x-www-form-urlencoded',
    );
    const numbers = [NUMBER, '123456'];
    let passed = 0;
    fc.assert(
      fc.property(text, text, type, (body, value, format) => {
        const headers: HeaderEntries = [
          ['Content-Type', format],
          ['X-A', value],
        ];
        const reply = { status: 200, headers, body: Buffer.from(body) };
        if (staysAsItIs(reply, { ...MASKED, numbers })) {
          passed++;
          expect(shown({ ...MASKED, numbers }, body, headers)).toEqual({ headers, body, withheld: false });
        }
      }),
      { numRuns: 5_000, seed: 41 },
    );
    expect(passed).toBeGreaterThan(100);
    const usual = '{"id":"ch_3Q9xL2","created":1764178130,"amount":1000,"last4":"1111","note":"a \\"b\\""}';
    const date: HeaderEntries = [['Date', 'Thu, 26 Nov 2026 17:28:50 GMT']];
    const masked: Showing = { ...MASKED, numbers: [NUMBER] };
    expect(staysAsItIs({ status: 200, headers: date, body: Buffer.from(usual) }, masked)).toBe(true);
    for (const [status, wanted] of [
      [206, masked],
      [200, { ...masked, sight: 'named' }],
      [200, { ...masked, secrets: ['ch_3Q9xL2'] }],
    ] as const) {
      expect(staysAsItIs({ status, headers: date, body: Buffer.from(usual) }, wanted)).toBe(false);
    }
  });
});
