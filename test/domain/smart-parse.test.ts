import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { VaultError } from '../../server/core/errors.ts';
import { type JsonObject, type JsonValue, stringifyJson } from '../../server/domain/json/json.ts';
import { maskForced } from '../../server/domain/mask/mask.ts';
import { type SmartParsed, smartParse } from '../../server/domain/reply/smart-parse.ts';
import { xmlLeaves } from '../../server/domain/reply/xml.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';
import { anyText, jsonObject } from './json/arbitrary.ts';
import { HOSTILE } from './proxy/hostile.ts';
import { expectRefilled, TYPES } from './refill.ts';

const CARD = '4111111111111111';
const OTHER = '5555555555554444';

function found(text: string, type?: string): SmartParsed {
  const result = smartParse(text, type);
  if (result === undefined) {
    throw new Error('Nothing was found.');
  }
  expectRefilled(result, text);
  return result;
}
/** Number, code, month, year and holder, `-` for what was not found. */
function values(text: string, type?: string): string {
  const { object } = found(text, type);
  return ['card_number', 'cvv', 'expiry_month', 'expiry_year', 'card_holder']
    .map((name) => object.get(name) ?? '-')
    .join('|');
}
function original(text: string, type?: string): JsonValue | undefined {
  return found(text, type).object.get('original_data');
}
function json(value: unknown): string {
  return JSON.stringify(value);
}

const names: [object, string][] = [
  [{ number: CARD, cvv: '123', exp_month: 1, exp_year: 2030, name: 'A B' }, `${CARD}|123|1|2030|A B`],
  [{ card_number: CARD, cvc: '012', expMonth: '01', expYear: '30', holder: 'A' }, `${CARD}|012|01|30|A`],
  [{ pan: CARD, security_code: '1234', expiry: '12/27', cardholder_name: 'É' }, `${CARD}|1234|12|27|É`],
  [{ cardNumber: CARD, securityCode: 123, expiry: '2027-12', cardHolder: 'A' }, `${CARD}|123|12|2027|A`],
  [{ CardNum: CARD, CVN: '123', expirationDate: '2027-12-31', holderName: 'A' }, `${CARD}|123|12|2027|A`],
  [{ primaryAccountNumber: CARD, card_expiry: '202712', CARD_HOLDER: 'A' }, `${CARD}|-|12|2027|A`],
  [
    { card: { number: CARD, code: '123', expiry: { month: '02', year: '2031' }, holder: { name: 'A' } } },
    `${CARD}|123|02|2031|A`,
  ],
  [{ data: [{ a: [{ n: CARD, exp: '2712', fullName: 'A' }] }] }, `${CARD}|-|12|27|A`],
  [{ name: 'Shop', code: '123', card: { number: CARD } }, `${CARD}|-|-|-|-`],
  [{ number: '4111 1111 1111 1111', exp: '12 / 27' }, '4111 1111 1111 1111|-|12|27|-'],
  [{ number: CARD, exp_month: 13, exp_year: 'x', cvv: '12', name: '42' }, `${CARD}|-|-|-|-`],
  [{ number: CARD, validThru: '13/27', cvv: '***' }, `${CARD}|-|-|-|-`],
  [{ number: '1234567890123456', card: { number: CARD } }, `${CARD}|-|-|-|-`],
  [{ card_number: '4111111111111112' }, '4111111111111112|-|-|-|-'],
];

describe('JSON', () => {
  test.each(names)('%j', (value, expected) => {
    expect(values(json(value))).toBe(expected);
    expect(values(JSON.stringify(value, null, 2), 'application/json')).toBe(expected);
    expect(values(`\ufeff ${json([value])}\n`, 'application/problem+json')).toBe(expected);
  });

  test('found values become tags, the rest stays to the letter', () => {
    expect(
      original(
        `{ "big":1e400, "number":"${CARD}","exp":"12\\/27" ,"cvv":123,"name":"A \\"B\\"","x":1.10,"x2":"\\u00e9"}`,
      ),
    ).toBe(
      '{ "big":1e400, "number":"{{card_number}}","exp":"{{expiry_month}}\\/{{expiry_year}}" ,"cvv":{{{cvv}}},"name":"{{card_holder}}","x":1.10,"x2":"\\u00e9"}',
    );
  });

  test('what tags of the names cannot give back is kept in parts', () => {
    const { object } = found(`{"number":"${CARD}","name":"J\\u00fcrgen","a":"{{b}} {{{c"}`);
    expect(object.get('card_holder')).toBe('Jürgen');
    expect(object.get('original_data')).toBe(
      '{"number":"{{card_number}}","name":"{{card_holder}}","a":"{{{original_parts.0.braces}}}b}} {{{original_parts.1.braces}}}c"}',
    );
    expect([...object.keys()]).toEqual(['card_number', 'card_holder', 'original_data', 'original_parts']);
  });
});

describe('several cards', () => {
  const cards = [
    { number: '4111111111111112', cvv: '111', exp: '01/31', name: 'Not this' },
    { number: CARD, exp: '02/32' },
    { number: OTHER, cvv: '333', name: 'Other' },
  ];

  test('the first that passes Luhn, with its own values alone', () => {
    expect(values(json({ cards, cardholder_name: 'All' }))).toBe(`${CARD}|-|02|32|All`);
  });

  test('no number and no code stays readable for an account without unmasked output', () => {
    const text = json({
      cards,
      again: CARD,
      note: `paid with ${CARD}`,
      spaced: { pan: '4111 1111 1111 1111' },
    });
    const { object } = found(text);
    expect(object.get('original_data')).not.toMatch(/\d{12}|333/);
    expect(stringifyJson(maskForced(object))).not.toMatch(/[0-9]{12}|"333"/);
    const others = [CARD, '4111 1111 1111 1111', '4111-1111-1111-1111', `paid with ${OTHER}, not ${CARD}`];
    const spelled = found(`{"pan":"${CARD}","others":${json(others)},"n":4.111111111111111e15}`).object;
    expect(stringifyJson(maskForced(spelled)).replaceAll(/[ .-]/g, '')).not.toMatch(/\d{9}/);
    const spaced = found(json({ pan: '4111 1111 1111 1111', note: CARD })).object;
    expect(stringifyJson(maskForced(spaced))).not.toMatch(/[0-9]{5}/);
  });
});

describe('XML', () => {
  test.each([
    [
      `<a><cardNumber>${CARD}</cardNumber><cvv>012</cvv><expiry>12/27</expiry><name>A &amp; B</name></a>`,
      `${CARD}|012|12|27|A & B`,
    ],
    [
      `<?xml version="1.0"?>\n<s:a xmlns:s="u"><!-- 1 --><s:Card s:Number="${CARD}" expMonth='1' expYear='30'/></s:a>\n`,
      `${CARD}|-|1|30|-`,
    ],
    [
      `<a><card><number>\n  ${CARD}\n </number><holder><![CDATA[A <B>]]></holder></card></a>`,
      `${CARD}|-|-|-|A <B>`,
    ],
    [`<a><pan>&#52;111111111111111</pan><holder>J&#xfc;r</holder></a>`, `${CARD}|-|-|-|Jür`],
    [`<a><pan>${CARD}</pan><b>{{x}}{</b></a>`, `${CARD}|-|-|-|-`],
  ])('%s', (text, expected) => {
    expect(values(text)).toBe(expected);
    expect(values(text, 'application/soap+xml; charset=utf-8')).toBe(expected);
  });

  const inside = `<pan>${CARD}</pan>`;
  test.each([
    '<!DOCTYPE a>',
    '<?xml version="1.0"?>\n<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd">\n',
    `<!DOCTYPE a PUBLIC "-//A//B [1]//EN" 'https://a.example/a.dtd' >`,
  ])('a document type that declares nothing is read: %s', (type) => {
    expect(values(`${type}<a>${inside}</a>`, 'text/xml')).toBe(`${CARD}|-|-|-|-`);
  });

  test.each([
    `<?xml version="1.0"?><!doctype a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>${inside}&x;</a>`,
    `<!DOCTYPE a [<!ENTITY l "${'l'.repeat(100)}">]><a>${inside}</a>`,
    `<!DOCTYPE a SYSTEM "a>[" [ ]><a>${inside}</a>`,
  ])('one with an internal subset is refused', (text) => {
    expect(() => smartParse(text)).toThrow('must not have a document type');
    expect(() => smartParse(text, 'text/xml')).toThrow('must not have a document type');
  });

  test.each([
    '<a>',
    '</a>',
    '<a></b>',
    'x<a/>',
    '<a b></a>',
    '<a b="<"/>',
    '<a><!-- </a>',
    '<a><![CDATA[</a>',
    '',
    '<!ELEMENT a>',
    '<a>'.repeat(65) + '</a>'.repeat(65),
    '<![CDATA[a]]>',
  ])('%s is not read as XML', (text) => {
    expect(xmlLeaves(text)).toBeUndefined();
  });

  test('reads the texts that fast-xml-parser reads', () => {
    const parser = new XMLParser({
      ignoreAttributes: false,
      attributeNamePrefix: '@',
      parseTagValue: false,
      parseAttributeValue: false,
      trimValues: false,
      htmlEntities: true,
    });
    const quote = (value: string): string =>
      value.replace(/[&<>"'\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
    fc.assert(
      fc.property(fc.constantFrom(...HOSTILE), fc.constantFrom(...HOSTILE), (one, two) => {
        const text = `<r a="${quote(one)}"><t>x${quote(two)}</t></r>`;
        const leaves = xmlLeaves(text)?.map(({ name, value }) => [name, value]);
        const { r } = parser.parse(text);
        expect(leaves).toEqual([
          ['a', r['@a']],
          ['t', r.t],
        ]);
        expect(leaves).toEqual([
          ['a', one],
          ['t', `x${two}`],
        ]);
      }),
    );
  });
});

describe('forms', () => {
  test.each([
    [`number=${CARD}&cvv=123&exp_month=1&exp_year=2030&name=A+B`, `${CARD}|123|1|2030|A B`],
    [`card%5Bnumber%5D=${CARD}&card[exp]=12%2F27&card[name]=A%20B`, `${CARD}|-|12|27|A B`],
    [
      `a=%zz&b&cards[0][number]=${CARD}&cards[1][number]=${OTHER}&cards[1][cvv]=333&c={{x}}`,
      `${CARD}|-|-|-|-`,
    ],
    ['card.number=4111+1111+1111+1111&card.holder=%C3%89', '4111 1111 1111 1111|-|-|-|É'],
  ])('%s', (text, expected) => {
    expect(values(text)).toBe(expected);
    expect(values(text, TYPES.form)).toBe(expected);
  });
});

describe('text', () => {
  test.each([
    [`Card ${CARD}, CVV: 012, exp: 12/27\nCardholder: Ann B`, `${CARD}|012|12|27|Ann B`],
    ['4111-1111-1111-1111 valid thru 2027-12 security code = 1234', '4111-1111-1111-1111|1234|12|2027|-'],
    [`id 1234567890123456 then ${OTHER} or ${CARD}.`, `${OTHER}|-|-|-|-`],
    [`{${CARD}} {{${CARD}}} {{{x}}`, `${CARD}|-|-|-|-`],
  ])('%s', (text, expected) => {
    expect(values(text, 'text/plain')).toBe(expected);
  });
  test('what the Content-Type says yields to what can be read', () => {
    expect(found(json({ pan: CARD }), 'text/html').format).toBe('json');
    expect(found(`<a><pan>${CARD}</pan></a>`, 'application/json').format).toBe('xml');
    expect(found(`pan=${CARD}`, 'text/plain').format).toBe('form');
    expect(found(`<!DOCTYPE html><p>${CARD}<br>`, 'text/html').format).toBe('text');
  });
});

test.each([
  '',
  '{}',
  'null',
  json({ number: 1234 }),
  json({ pan: '411111******1111' }),
  '<a/>',
  'no card 1234567890123456',
  `${CARD}0000`,
  `{"pan":"${CARD}\ud800"}`,
  json({ id: CARD }),
  `{"pan":-${CARD}}`,
])('nothing is found in %j', (text) => {
  expect(smartParse(text)).toBeUndefined();
});

describe('filling gives back what the reply says', () => {
  const noise = fc.oneof(
    fc.constantFrom(...HOSTILE, '{', '{{{{', CARD, '{{card_number}}', '{{{', ` ${OTHER} `),
    anyText.map((text) => text.toWellFormed()),
  );
  const check = (text: string): void => {
    const result = smartParse(text);
    if (result !== undefined) {
      expectRefilled(result, text);
    }
  };
  const name = fc.constantFrom(
    'number',
    'cvv',
    'expiry',
    'exp_month',
    'year',
    'holder',
    'name',
    'a{{b',
    'pan',
    '__proto__',
  );
  const value = fc.oneof(fc.constantFrom(CARD, OTHER, '123', '12/27', '1', '2027', 'A "B"'), noise);

  test('of JSON', () => {
    const odd = jsonObject(anyText);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(name, value), { maxLength: 8 }),
        odd,
        fc.boolean(),
        (members, more, escaped) => {
          const object: JsonObject = new Map<string, JsonValue>([
            ...members,
            ['card', new Map([['number', CARD]])],
            ['more', more],
          ]);
          const text = stringifyJson(object);
          check(escaped ? text.replaceAll('/', '\\/').replaceAll('é', '\\u00e9') : text);
        },
      ),
      { numRuns: 200 },
    );
  });
  test('of forms, XML and text', () => {
    const part = fc.tuple(name, value);
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), noise, (members, end) => {
        const all: [string, string][] = [['pan', CARD], ...members];
        check(new URLSearchParams(all).toString());
        const element = ([, text]: [string, string], at: number): string => {
          const tag = at % 2 === 0 ? 'pan' : 'holder';
          return `<${tag}>${text.replace(/[<&]/g, '')}</${tag}>`;
        };
        check(`<r>${all.map(element).join('{')}</r>`);
        check(`${all.map(([label, text]) => `${label}: ${text}`).join('{')}${end}`);
      }),
      { numRuns: 200 },
    );
  });
});

test('time grows with the length alone', () => {
  const texts = [
    `{"pan":"${CARD}","a":[${'{"number":"4111111111111111","cvv":"123"},'.repeat(20_000)}1]}`,
    `<a><pan>${CARD}</pan>${'<!---->'.repeat(100_000)}</a>`,
    `<a ${' '.repeat(500_000)}`,
    `<a${' b="c"'.repeat(100_000)}>`,
    '<a>'.repeat(200_000),
    '<!--'.repeat(200_000),
    '4 '.repeat(400_000),
    '1234567890123456-'.repeat(50_000),
    `${CARD} ${'exp '.repeat(200_000)}`,
    `${CARD} cvv${' '.repeat(700_000)}`,
    `pan=${CARD}&${'card[a]['.repeat(100_000)}=1`,
    `${'a[number]=5555555555554444&'.repeat(30_000)}pan=${CARD}`,
    `${CARD}${'{{a'.repeat(200_000)}`,
    `{"pan":"${CARD}","a":[${'"x 5555 5555 5555 4444",'.repeat(40_000)}1]}`,
    `{"a":"${' '.repeat(500_000)}12${' '.repeat(400_000)}","expiry":"${'1 '.repeat(50_000)}"}`,
    `${CARD} ${'cvv: 123, '.repeat(80_000)}`,
    `${CARD}${'>'.repeat(400_000)}${'<a>'.repeat(100_000)}1234`,
    `${CARD} ${'a'.repeat(400_000)}: ${'a:'.repeat(200_000)}`,
    `{"pan":"${CARD}","a":"${'\\"x\\"123'.repeat(80_000)}"}`,
    `{"a":"${'{\\"pan\\":\\"4111111111111111\\",'.repeat(25_000)}"}`,
    `{"pan":"${CARD}","a":[${'{"name":"cvv","value":"123"},'.repeat(25_000)}1]}`,
    `<!DOCTYPE a ${'"x" '.repeat(200_000)}`,
    `pan=${CARD}&x=${'%41%zz%'.repeat(100_000)}`,
    `${'9'.repeat(800_000)}=${'1'.repeat(10)}`,
    `${'B411111111111111^'.repeat(50_000)}`,
    `pan,cvv\n${`${CARD},123\n`.repeat(40_000)}`,
    `pan,"${'""'.repeat(400_000)}`,
    `--b\r\nContent-Type: a\r\n\r\n${'\r\n-'.repeat(200_000)}`,
  ];
  for (const text of texts) {
    const cpuMs = startCpuClock();
    try {
      smartParse(text);
    } catch (error) {
      expect(error).toBeInstanceOf(VaultError);
    }
    expect(cpuMs()).toBeLessThan(2000);
  }
});
