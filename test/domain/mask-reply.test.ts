import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { luhnCheckDigit, passesLuhn } from '../../server/domain/card/luhn.ts';
import { maskReply, type ReplyFormat, replaceNumbers } from '../../server/domain/mask/reply.ts';
import {
  automatonOf,
  holdsLuhnNumber,
  prepareNumbers,
  stateAfter,
} from '../../server/domain/mask/reply-numbers.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';

const NONE = prepareNumbers([]);
const FORMATS: readonly ReplyFormat[] = ['json', 'form', 'xml', 'text'];

describe('numbers', () => {
  const stored = prepareNumbers(['123456789012', '12345678', '1234', '9876543210']);

  test.each<[ReplyFormat, string, string]>([
    ['text', 'no. 4111111111111111!', 'no. ************1111!'],
    ['text', '4111 1111-1111.1111', '**** **********1111'],
    ['text', '4111  1111  1111  1111', '4111  1111  1111  1111'],
    ['text', '1111111111111111', '1111111111111111'],
    ['text', '99123456789012 9', '***********012 9'],
    ['text', '4111/1111/1111/1111', '***************1111'],
    ['text', '4111\u00ad1111\u200b1111\u20131111', '***************1111'],
    ['text', '\u0664\u0661\u0661\u0661111111111111', '************1111'],
    ['text', '\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668', '****\u0665\u0666\u0667\u0668'],
    ['text', 'at 2026/11/28 03:49:20 of 1764178130/1234567', 'at 2026/11/28 03:49:20 of 1764178130/1234567'],
    ['form', 'n=%D9%A4111111111111111&m=%B4111', 'n=************1111&m=%B4111'],
    ['json', '{"n":"\\uff14111111111111111"}', '{"n":"************1111"}'],
    ['json', '{"n":"4111\\/1111\\/1111\\/1111"}', '{"n":"***************1111"}'],
    ['xml', '<n>4111&shy;1111&ndash;1111&#8203;1111</n>', '<n>***************1111</n>'],
    [
      'text',
      ' {"a":4111111111111111,"b":[4111111111111111]}',
      ' {"a":"************1111","b":["************1111"]}',
    ],
    [
      'text',
      'cb({"a":4111111111111111,"l":[1,5555555555554444]})',
      'cb({"a":"************1111","l":[1,"************4444"]})',
    ],
    [
      'json',
      String.raw`{"raw":"{\"a\":-4111111111111111,\"b\":1}"}`,
      String.raw`{"raw":"{\"a\":\"-************1111\",\"b\":1}"}`,
    ],
    ['json', '{"raw":"[4111111111111111,5]"}', String.raw`{"raw":"[\"************1111\",5]"}`],
    ['json', '{"csv":"Ada,4111111111111111,12/30"}', '{"csv":"Ada,************1111,12/30"}'],
    [
      'json',
      '{"csv":",4111111111111111,:4111111111111111,"}',
      '{"csv":",************1111,:************1111,"}',
    ],
    ['form', 'd=%7B%22a%22%3A4111111111111111%7D', 'd=%7B%22a%22%3A%22************1111%22%7D'],
    ['text', '12345678', '****5678'],
    ['text', '1234-5678', '*****5678'],
    ['text', '123456789', '123456789'],
    ['text', '1234', '1234'],
    ['text', '%B4111111111111111^A/B', '%B************1111^A/B'],
    ['text', '4111%201111%201111%201111', '****%20****%20****%201111'],
    ['text', '&#52;111111111111111', '************1111'],
    ['json', '{"a":4111111111111111}', '{"a":"************1111"}'],
    ['json', '[-4111111111111111,12345678,1.2345678E7]', '["*************1111","****5678","*******78E7"]'],
    ['json', '[1234567890120e-1,0.5,1e400]', '["************0e-1",0.5,1e400]'],
    ['json', '[12345678.0]', '["******78.0"]'],
    ['json', '{"4111111111111111":1}', '{"************1111":1}'],
    ['json', String.raw`["\u0034111111111111\u0031\u00311"]`, String.raw`["************1\u0031\u00311"]`],
    ['json', String.raw`["\\u0034111111111111111"]`, '["************1111"]'],
    ['json', '{"a":"%34%31%31%31111111111111"}', '{"a":"************1111"}'],
    ['json', '4111111111111111 oops "', '************1111 oops "'],
    ['form', 'n=4111+1111+1111+1111&m=%34111111111111111', 'n=****+****+****+1111&m=************1111'],
    ['form', 't=%25B4111111111111111%5E', 't=%25B************1111%5E'],
    ['xml', '<n>&#52;111&#x20;111111111111</n>', '<n>****&#x20;********1111</n>'],
    ['xml', '<n>4111&nbsp;1111&#45;1111&#x2e;1111</n>', '<n>***************1111</n>'],
  ])('%s: %s', (format, text, masked) => {
    expect(maskReply(text, format, stored)).toBe(masked);
  });

  test('a text without one is the same', () => {
    const text =
      '{"id":"tx_12","amount":1050,"at":"2026-01-01T10:00:00Z","u":"\\ud83d \\u00e9 \\"q\\" 100%"}';
    for (const format of FORMATS) {
      expect(maskReply(text, format, stored)).toBe(text);
      expect(replaceNumbers(text, format, [{ digits: '12345678', shown: 'x' }])).toBe(text);
    }
  });

  test('lone surrogates and other letters stay', () => {
    const text = '\ud800 \u00e9 \\n \ud83d\ude00 %41 & 4111111111111111';
    expect(maskReply(text, 'text', NONE)).toBe(text.replace('411111111111', '*'.repeat(12)));
  });

  test('Luhn by sums finds what a look at each part finds', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{12,40}$/), (digits) => {
        let isFound = false;
        for (let from = 0; from < digits.length; from++) {
          for (let length = 13; length <= 19 && from + length <= digits.length; length++) {
            isFound ||= passesLuhn(digits.slice(from, from + length));
          }
        }
        expect(holdsLuhnNumber(digits)).toBe(isFound);
      }),
      { numRuns: 300, seed: 41 },
    );
  });

  test('the automaton finds what includes finds', () => {
    const few = fc.stringMatching(/^[12]{2,5}$/);
    fc.assert(
      fc.property(fc.array(few, { maxLength: 5 }), fc.stringMatching(/^[12]{0,20}$/), (numbers, digits) => {
        const automaton = automatonOf(numbers);
        const longest: (string | undefined)[] = [];
        let state = 0;
        for (const digit of digits) {
          state = stateAfter(automaton, state, digit.charCodeAt(0));
          longest.push(numbers[(automaton.ends[state] ?? 0) - 1]);
        }
        const expected = [...digits].map((_, at) => {
          const ending = numbers.filter((number) => digits.slice(0, at + 1).endsWith(number));
          return ending.sort((a, b) => b.length - a.length)[0];
        });
        expect(longest).toEqual(expected);
      }),
      { numRuns: 300, seed: 41 },
    );
  });
});

describe('codes', () => {
  test.each<[ReplyFormat, string, string]>([
    [
      'json',
      '{"cvv":123,"cvc":"1","pin":null,"cvv2":true}',
      '{"cvv":"********","cvc":"********","pin":null,"cvv2":"********"}',
    ],
    [
      'json',
      '{"pin":{"a":[1,{"b":"x"}],"c":null},"d":5}',
      '{"pin":{"a":["********",{"b":"********"}],"c":null},"d":5}',
    ],
    ['json', '{"cvv":{},"a":1,"pin":[],"b":[2]}', '{"cvv":{},"a":1,"pin":[],"b":[2]}'],
    [
      'json',
      '{"\\u0063vv" : "12","card[cvc]":1,"card.cvc":2}',
      '{"\\u0063vv" : "********","card[cvc]":"********","card.cvc":"********"}',
    ],
    [
      'json',
      String.raw`{"raw":"{\"cvv\":123,\"pin\":\"1\\\"2\"}"}`,
      String.raw`{"raw":"{\"cvv\":\"********\",\"pin\":\"********\"}"}`,
    ],
    ['json', '{"url":"https://a.example/?cvc=123&x=1"}', '{"url":"https://a.example/?cvc=********&x=1"}'],
    ['json', '{"cvv":123}\n{"cvv":4}\n', '{"cvv":"********"}\n{"cvv":"********"}\n'],
    ['json', '{"a":1,"cvv":"12', '{"a":1,"cvv":"********'],
    ['json', '{"cvv":123,"n":[1,', '{"cvv":"********","n":[1,'],
    ['json', '{"cvv":{"a":"12}3","b":1},"c":2', '{"cvv":"********","c":2'],
    ['json', '{"status":"cvv: failed"}', '{"status":"cvv: failed"}'],
    [
      'form',
      'a=1&card[cvc]=12%263&card.cvc=a b&card%5Bpin%5D=9&b=2',
      'a=1&card[cvc]=********&card.cvc=********&card%5Bpin%5D=********&b=2',
    ],
    ['form', 'data=%7B%22cvv%22%3A%22123%22%7D&cvc=&x=1', 'data=%7B%22cvv%22%3A%22********%22%7D&cvc=&x=1'],
    ['xml', '<s:cvc a="1">12<b>3</b></s:cvc><d>4</d>', '<s:cvc a="********">********</s:cvc><d>4</d>'],
    ['xml', '<UMcvv2>1</umcvv2><d>4</d>', '<UMcvv2>********</umcvv2><d>4</d>'],
    ['xml', '<cvc><cvc>1</cvc><cvc/>2</cvc><d>4</d>', '<cvc>********</cvc><d>4</d>'],
    [
      'xml',
      '<pin xmlns="urn:x"><![CDATA[1</pin>2]]></pin><d>4</d>',
      '<pin xmlns="urn:x">********</pin><d>4</d>',
    ],
    ['xml', '<a cvv="123" b=\'4\'/><cvv/><cvv></cvv>', '<a cvv="********" b=\'4\'/><cvv/><cvv></cvv>'],
    [
      'xml',
      '<m>&lt;cvc&gt;12&lt;/cvc&gt; &quot;pin&quot;:&quot;3&quot;</m>',
      '<m>&lt;cvc&gt;********&lt;/cvc&gt; &quot;pin&quot;:&quot;********&quot;</m>',
    ],
    [
      'json',
      '{"cardCode":"VI","track":true,"verification":{"status":"ok"}}',
      '{"cardCode":"VI","track":true,"verification":{"status":"ok"}}',
    ],
    [
      'json',
      '{"cardCode":"737","SeriesCode":737,"track":"%B1"}',
      '{"cardCode":"********","SeriesCode":"********","track":"********"}',
    ],
    ['form', 'x_card_code=737&cardCode=VI&SWIPE=%25B1', 'x_card_code=********&cardCode=VI&SWIPE=********'],
    [
      'xml',
      '<a CardCode="VI" SeriesCode="737"/><CSCVal>1</CSCVal>',
      '<a CardCode="VI" SeriesCode="********"/><CSCVal>********</CSCVal>',
    ],
    [
      'xml',
      '<cardCode>737</cardCode><cardCode>VI</cardCode>',
      '<cardCode>********</cardCode><cardCode>VI</cardCode>',
    ],
    ['text', 'card code: 737 card code: none', 'card code: ******** card code: none'],
    ['text', 'CVV: 123', 'CVV: ********'],
    ['text', 'Security Code: 123, fine', 'Security Code: ********, fine'],
    ['text', 'track2: ;4111111111111111=3012?\nnext', 'track2: ********\nnext'],
    ['text', 'cvc=123;a=1 [cvv] => 7 "pin" : "1 2"', 'cvc=********;a=1 [cvv] => ******** "pin" : "********"'],
  ])('%s: %s', (format, text, masked) => {
    expect(maskReply(text, format, NONE)).toBe(masked);
  });

  test('a very long value, and very many of them', () => {
    const long = '7'.repeat(200_000);
    expect(maskReply(JSON.stringify({ cvv: long }), 'json', NONE)).toBe('{"cvv":"********"}');
    expect(maskReply(`cvv=${long}&a=1`, 'form', NONE)).toBe('cvv=********&a=1');
    expect(maskReply(`<cvv>${long}</cvv>`, 'xml', NONE)).toBe('<cvv>********</cvv>');
    const many = Array.from({ length: 900 }, (_, at) => ({ at, cvv: String(100 + at), pin: at }));
    const masked = maskReply(JSON.stringify(many), 'json', NONE);
    expect(JSON.parse(masked)).toEqual(many.map(({ at }) => ({ at, cvv: '********', pin: '********' })));
  });
});

describe('replaceNumbers', () => {
  const sent = [
    { digits: '4111111111111111', shown: '{{vault:a:n}}' },
    { digits: '12345678', shown: '{{vault:b:n}}' },
    { digits: '1234567', shown: 'never' },
  ];

  test.each<[ReplyFormat, string, string]>([
    ['json', '{"a":4111111111111111,"cvv":123}', '{"a":"{{vault:a:n}}","cvv":123}'],
    ['json', '[4.111111111111111e15,-12345678]', '["{{vault:a:n}}","{{vault:b:n}}"]'],
    ['json', String.raw`{"a":"x \u0034111-1111-1111-1111 9"}`, '{"a":"x {{vault:a:n}} 9"}'],
    ['form', 'a=%34111+1111+1111+1111&b=1234567', 'a={{vault:a:n}}&b=1234567'],
    ['xml', '<a>&#52;111111111111111</a>', '<a>{{vault:a:n}}</a>'],
    ['text', '99411111111111111112345678', '99{{vault:a:n}}{{vault:b:n}}'],
    ['text', '5555555555554444', '5555555555554444'],
  ])('%s: %s', (format, text, replaced) => {
    expect(replaceNumbers(text, format, sent)).toBe(replaced);
  });

  test('of numbers that overlap the first, and of those the longest', () => {
    const overlapping = ['11112222', '111122223333', '33334444'].map((digits, at) => ({
      digits,
      shown: `<${at}>`,
    }));
    expect(replaceNumbers('1111222233334444', 'text', overlapping)).toBe('<1>4444');
    expect(replaceNumbers('x', 'text', [])).toBe('x');
  });
});

/** A number in notations that a reply may give it. */
const digitIn: Readonly<Record<ReplyFormat, (digit: string, at: number) => string>> = {
  json: (digit, at) => (at % 2 === 0 ? `\\u003${digit}` : `\\\\u003${digit}`),
  form: (digit) => `%3${digit}`,
  xml: (digit, at) => (at % 2 === 0 ? `&#${48 + Number(digit)};` : `&#x3${digit};`),
  text: (digit, at) => (at % 2 === 0 ? `%3${digit}` : `\\u003${digit}`),
};
const SEPARATORS: Readonly<Record<ReplyFormat, readonly string[]>> = {
  json: ['', ' ', '-', '.', '\\u0020', '%20', '&nbsp;'],
  form: ['', '+', '-', '.', '%20', '%2D', '%2e'],
  xml: ['', ' ', '-', '.', '&#32;', '&#x2d;', '&nbsp;'],
  text: ['', ' ', '-', '.', '%20', '&#32;', '\u00a0'],
};
const wrapIn: Readonly<Record<ReplyFormat, (number: string, filler: string) => string>> = {
  json: (number, filler) =>
    `{"a":[true,${JSON.stringify(filler)}],"b":{"c":"${filler.replaceAll(/["\\\n]/g, '')}x${number}"}}`,
  form: (number, filler) => `a=${encodeURIComponent(filler)}&b=${number}&c=`,
  xml: (number, filler) => `<a b="${filler.replaceAll(/["<>&]/g, '')}"><c>${number}</c></a>`,
  text: (number, filler) => `${filler}x${number}x${filler}`,
};

function decoded(text: string): string {
  return text
    .replaceAll(/\\+u([\da-f]{4})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll(/%([2-3][\da-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll(/&#x([\da-f]+);/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replaceAll(/&nbsp;|[ \-.+\u00a0]/g, '');
}

test('of no number more than its last four digits is seen, in any notation', () => {
  const number = fc.oneof(
    fc.stringMatching(/^[1-9]\d{11,22}$/),
    fc.stringMatching(/^[1-9]\d{11,17}$/).map((head) => head + luhnCheckDigit(head)),
  );
  const filler = fc
    .string({ unit: fc.constantFrom(...'ab"\\<>&=%:{}[],;+ \n\u00e9') })
    .map((text) => `${text}z`);
  const choices = fc.array(fc.nat(20), { minLength: 25, maxLength: 25 });
  fc.assert(
    fc.property(
      fc.constantFrom(...FORMATS),
      number,
      filler,
      choices,
      fc.boolean(),
      (format, digits, around, picks, cut) => {
        const written = [...digits].map((digit, at) => {
          const pick = picks[at] ?? 0;
          const separators = SEPARATORS[format];
          const separator = at === 0 ? '' : (separators[pick % separators.length] ?? '');
          return separator + (pick % 3 === 0 ? digitIn[format](digit, at) : digit);
        });
        const whole = wrapIn[format](written.join(''), around);
        // Without its end it is no JSON.
        const text = cut ? whole.slice(0, -1) : whole;
        const masked = maskReply(text, format, prepareNumbers(['999999999999', digits]));
        expect(decoded(masked)).not.toMatch(/\d{5}/);
        if (format === 'json' && !cut) {
          JSON.parse(masked);
        }
      },
    ),
    { numRuns: 4_000, seed: 20_261_128 },
  );
});

describe('takes little time for 256 KB of', () => {
  const KB = 1024;
  const LIMIT_MS = 600;
  const stored = prepareNumbers(
    Array.from({ length: 1_000 }, (_, at) => String(4_000_000_000_000_000 + at * 7_919_777)).concat(
      '12'.repeat(1_000),
    ),
  );
  const sent = Array.from({ length: 1_000 }, (_, at) => ({
    digits: String(41_111_111_111 + at * 7_919),
    shown: '#',
  }));

  function best(run: () => unknown): number {
    return Math.min(
      ...[1, 2, 3].map(() => {
        const clock = startCpuClock();
        run();
        return clock();
      }),
    );
  }

  /** The time of one run, or the best of three if that takes so long. */
  function fewer(run: () => unknown, limit: number): number {
    const clock = startCpuClock();
    run();
    const once = clock();
    return once < limit / 2 ? once : Math.min(once, best(run));
  }

  const nested = (size: number): string =>
    JSON.stringify(
      Array.from({ length: size / 700 }, () =>
        JSON.parse(`${'{"cvv":[{"a":'.repeat(32)}1${'}]}'.repeat(32)}`),
      ),
    );
  const repeated = (part: string) => (size: number) => part.repeat(Math.ceil(size / part.length));
  const valid = (part: string) => (size: number) => `[${repeated(`${part},`)(size)}0]`;

  const texts: readonly [string, (size: number) => string][] = [
    ...[
      '1',
      '12',
      '4111111111111111 ',
      '"cvv":',
      'cvv:',
      '"cvv":[',
      'cvv=" ',
      '<cvc>',
      '<cvc><![CDATA[',
      '<cvc a="',
      'track=',
      '"track":',
      '"track":"',
      '<track>',
      '<track ',
      '1\u200b',
      '\u200b',
      '1 \u200b',
      '4111/',
      '\u0664',
      '%D9%A4',
      ',1',
      '"a":1234567890123,',
    ].map((part): [string, (size: number) => string] => [part, repeated(part)]),
    ...[
      '=',
      '\\u0034',
      '\\',
      '"',
      '%',
      '%34',
      '&#52;',
      '&',
      '<',
      ':a',
      'a.',
      'a b c d e:',
      '[',
      '1234567,',
    ].map((part): [string, (size: number) => string] => [part, repeated(part)]),
    ...['{"cvv":123}', '"\\u0034"', '4111111111111111', '"cvv=<cvc>"', '"<cvc"', '12345678'].map(
      (part): [string, (size: number) => string] => [`JSON ${part}`, valid(part)],
    ),
    ['64 levels', nested],
  ];
  test.each(texts)('%s', (_, make) => {
    // What grows with the square of this takes half a minute.
    const text = make(256 * KB);
    for (const format of FORMATS) {
      expect(fewer(() => maskReply(text, format, stored), LIMIT_MS)).toBeLessThan(LIMIT_MS);
    }
    expect(fewer(() => replaceNumbers(text, 'json', sent), LIMIT_MS)).toBeLessThan(LIMIT_MS);
  });

  test('preparing 1,000 numbers', () => {
    expect(stored.within.next.length).toBeGreaterThan(1_000);
    expect(best(() => prepareNumbers(sent.map(({ digits }) => `${digits}00000000`)))).toBeLessThan(100);
  });
});
