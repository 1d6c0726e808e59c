/**
 * Random messages with cards at random places: what goes on differs from what came in the values of cards alone, and no
 * number that is elsewhere passes.
 */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import { AMEX, FORM_TYPE, MASTERCARD, refusal, run, VISA } from './run.ts';

/** A part of a message that stays, a card, or a code. */
type Part =
  | string
  | { readonly number: string; readonly raw: string; readonly quote: string }
  | { readonly code: string; readonly raw: string; readonly quote: string };

interface Message {
  readonly parts: readonly Part[];
  readonly number: string;
  readonly code: string;
}

function sentOf(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : part.raw)).join('');
}

function expectedOf(parts: readonly Part[]): string {
  const tokens = new Map<string, string>();
  return parts
    .map((part) => {
      if (typeof part === 'string') {
        return part;
      }
      if ('code' in part) {
        return part.quote + '*'.repeat(part.code.length) + part.quote;
      }
      const token = tokens.get(part.number) ?? `tok${tokens.size + 1}`;
      tokens.set(part.number, token);
      return part.quote + token + part.quote;
    })
    .join('');
}

/** Texts without digits: those of a card by chance would not pass. */
const noise = fc
  .string({ unit: 'binary', maxLength: 12 })
  .map((text) => text.toWellFormed().replace(/\p{N}/gu, 'x'));
const latin = fc
  .string({ unit: 'grapheme-ascii', maxLength: 12 })
  .map((text) => `${text.replace(/\d/g, 'é')}ü`);
const space = fc.constantFrom('', ' ', '\n\t', '  ');
const digits = fc.constantFrom(
  VISA,
  MASTERCARD,
  AMEX,
  '501800000009',
  '6304000000000000000',
  '4000000000000001',
);
const number = fc
  .tuple(digits, fc.constantFrom('', ' ', '-'))
  .map(([text, gap]) => text.replace(/(\d{4})(?=\d)/g, `$1${gap}`));
const code = fc.constantFrom('123', '0007', '9876');
/** For each character, whether it is escaped; repeated for a longer text. */
type Flags = readonly boolean[];
const escapes: fc.Arbitrary<Flags> = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 });

function escapedBy(
  text: string,
  flags: Flags,
  plain: (character: string) => string,
  written: (character: string) => string,
): string {
  return Array.from(text, (each, at) => (flags[at % flags.length] ? written(each) : plain(each))).join('');
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

function jsonText(text: string, flags: Flags): string {
  return escapedBy(
    text,
    flags,
    (each) => JSON.stringify(each).slice(1, -1),
    (each) =>
      each
        .split('')
        .map((unit) => `\\u${hex(unit).padStart(4, '0')}`)
        .join(''),
  );
}

/** A number or code as a text or a bare number. */
function jsonValue(value: string, isBare: boolean, flags: Flags, kind: 'number' | 'code'): Part[] {
  const named = kind === 'number' ? { number: value } : { code: value };
  const card = (raw: string, quote: string): Part => ({ ...named, raw, quote }) as Part;
  return isBare && /^[1-9]\d*$/.test(value)
    ? [card(value, '"')]
    : ['"', card(jsonText(value, flags), ''), '"'];
}

const jsonNoise = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text.map((each) => JSON.stringify(each)),
      fc.constantFrom('null', 'true', '-1.50e+3', '0', '12345', '{}', '[ ]', '1234567'),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
      fc
        .uniqueArray(fc.tuple(text, tie('value')), { maxLength: 3, selector: ([name]) => name })
        .map(
          (members) =>
            `{${members.map(([name, value]) => `${JSON.stringify(`z${name}`)} :${value}`).join(',')}}`,
        ),
    ),
  })).value;

const jsonMessage = (text: fc.Arbitrary<string>): fc.Arbitrary<Message> => {
  const member = fc
    .tuple(text, jsonNoise(text), space)
    .map(([name, value, gap]) => `${gap}${JSON.stringify(`y${name}`)}:${gap}${value}`);
  const card = fc
    .record({ number, code, isBare: fc.boolean(), flags: escapes, before: member, after: member, gap: space })
    .map(({ number: value, code: cvv, isBare, flags, before, after, gap }): Part[] => [
      `{${before.replace('"y', '"b')},"n":${gap}`,
      ...jsonValue(value, isBare, flags, 'number'),
      `${gap},"c":`,
      ...jsonValue(cvv, !isBare, flags, 'code'),
      `,${after.replace('"y', '"a')}${gap}}`,
    ]);
  const wrap = fc.record({ kind: fc.constantFrom('a', 'ü.[x]', '[0]', '[*]'), other: member, gap: space });
  return fc
    .record({
      cards: fc.array(card, { minLength: 1, maxLength: 4 }),
      wraps: fc.array(wrap, { maxLength: 4 }),
      gap: space,
    })
    .map(({ cards, wraps, gap }) => {
      let parts: Part[] = [
        '[',
        ...cards.flatMap((each, at) => (at === 0 ? each : [`${gap},`, ...each])),
        ']',
      ];
      let path = '[*]';
      for (const { kind, other, gap: around } of wraps) {
        if (kind.startsWith('[')) {
          parts = [`${around}[`, ...parts, `${around}]`];
          path = kind + path;
        } else {
          parts = [`{${other},${JSON.stringify(kind)}:`, ...parts, `${around}}`];
          path = `[${JSON.stringify(kind)}]${path}`;
        }
      }
      return { parts: [gap, ...parts, gap], number: `${path}.n`, code: `${path}.c` };
    });
};

function xmlText(text: string, flags: Flags): string {
  return escapedBy(
    text,
    flags,
    (each) => each.replace('&', '&amp;').replace('<', '&lt;').replace('"', '&quot;'),
    (each) => `&#x${hex(each)};`,
  );
}

const xmlMessage = (text: fc.Arbitrary<string>): fc.Arbitrary<Message> => {
  const plain = text.map((each) => each.replace(/[^\p{L}\p{P}\p{N}é ]/gu, '_').replaceAll(/[\]>]/g, '-'));
  const other = fc.tuple(plain, escapes, fc.integer({ min: 0, max: 4 })).map(([each, flags, kind]) => {
    const written = xmlText(each, flags);
    const aside = each.replaceAll(/[-?]/g, ' ');
    return (
      [
        `<x:b q='1' p = "${written}">${written}</x:b>`,
        `<!-- ${aside} -->`,
        `<b><![CDATA[${each}]]></b>`,
        `<?p ${aside} ?>\n`,
        '<b/>',
      ][kind] ?? ''
    );
  });
  const card = fc.record({ number, code, flags: escapes, before: other, after: other, gap: space });
  return fc
    .record({
      cards: fc.array(card, { minLength: 1, maxLength: 4 }),
      way: fc.integer({ min: 0, max: 2 }),
      head: other,
      gap: space,
    })
    .map(({ cards, way, head, gap }) => {
      const parts = cards.flatMap(
        ({ number: value, code: cvv, flags, before, after, gap: around }): Part[] => {
          const card: Part = {
            number: value,
            raw: xmlText(value, way === 2 ? [false] : flags),
            quote: '',
          };
          const cvc: Part = { code: cvv, raw: xmlText(cvv, flags), quote: '' };
          const written: Part[] =
            way === 0
              ? ['<k N="', card, `"${around || ' '}C='`, cvc, "'/>"]
              : [
                  `<k>${before}<N>${way === 2 ? '<![CDATA[' : ''}${around}`,
                  card,
                  `${around}${way === 2 ? ']]>' : ''}</N><C>`,
                  cvc,
                  '</C></k>',
                ];
          return [`${before}<g>${around}`, ...written, `${after}</g>`];
        },
      );
      const name = way === 0 ? '@' : '';
      return {
        parts: [`<?xml version="1.0"?>${gap}<s:r>${head}`, ...parts, `</s:r>${gap}`],
        number: `r.g[*].k.${name}N`,
        code: `r.g[*].k.${name}C`,
      };
    });
};

function formText(text: string, flags: Flags): string {
  return escapedBy(
    text,
    flags,
    (each) => (each === ' ' ? '+' : encodeURIComponent(each)),
    (each) => (each < '\u0080' ? `%${hex(each).padStart(2, '0')}` : encodeURIComponent(each)),
  );
}

const formMessage = (text: fc.Arbitrary<string>): fc.Arbitrary<Message> => {
  const pair = fc
    .tuple(text, text, escapes, fc.constantFrom('=', '', '=='))
    .map(([name, value, flags, sign]) => `y${formText(name, flags)}${sign}${formText(value, flags)}&`);
  const card = fc.record({ number, code, flags: escapes, before: pair, after: pair });
  return fc.array(card, { minLength: 1, maxLength: 4 }).map((cards) => ({
    parts: cards.flatMap(({ number: value, code: cvv, flags, before, after }): Part[] => [
      `${before}card%5Bn%5d=`,
      { number: value, raw: formText(value, flags), quote: '' },
      `&${after}k=`,
      { code: cvv, raw: formText(cvv, flags), quote: '' },
      '&',
    ]),
    number: '["card[n]"][*]',
    code: 'k[*]',
  }));
};

test.each<[string, string, fc.Arbitrary<Message>, BufferEncoding]>([
  ['JSON', 'application/json', jsonMessage(noise), 'utf8'],
  ['JSON in ISO-8859-1', 'application/json; charset=iso-8859-1', jsonMessage(latin), 'latin1'],
  ['XML', 'application/xml', xmlMessage(noise), 'utf8'],
  ['XML in Windows-1252', 'application/soap+xml; charset="windows-1252"', xmlMessage(latin), 'latin1'],
  ['forms', FORM_TYPE, formMessage(noise), 'utf8'],
])('%s', (_, type, message, encoding) => {
  fc.assert(
    fc.property(
      message,
      fc.constantFrom(true, false, 'mask' as const),
      ({ parts, number: path, code: codePath }, strict) => {
        const rules: InboundRules = { extract: [{ number: path, code: codePath }], strict };
        const { bytes, cards, stored } = run(Buffer.from(sentOf(parts), encoding), rules, { type });
        expect(Buffer.from(bytes).toString(encoding)).toBe(expectedOf(parts));
        const numbers = parts.flatMap((part) =>
          typeof part === 'object' && 'number' in part ? [part.number] : [],
        );
        expect(stored).toBe(numbers.length);
        expect(cards.map((card) => card.split('"')[3])).toEqual([...new Set(numbers)]);
      },
    ),
    { numRuns: 60 },
  );
});

const strayNumber = fc
  .tuple(fc.constantFrom(VISA, MASTERCARD, AMEX), fc.constantFrom('', ' ', '-'), noise, noise)
  .map(([text, gap, before, after]) => `${before}_${text.replace(/(\d{4})(?=\d)/g, `$1${gap}`)}_${after}`);
const withStrays = fc.oneof({ arbitrary: noise, weight: 3 }, { arbitrary: strayNumber, weight: 1 });

/** The numbers that a reader of the format finds in a text. */
function numbersIn(text: string): readonly string[] {
  const plain = text.replaceAll(/(?<=\d)[ -](?=\d)/g, '');
  return [VISA, MASTERCARD, AMEX].filter((each) => plain.includes(each));
}

test.each<[string, string, fc.Arbitrary<Message>, (text: string) => string]>([
  ['JSON', 'application/json', jsonMessage(withStrays), (text) => JSON.stringify(JSON.parse(text))],
  [
    'XML',
    'application/xml',
    xmlMessage(withStrays),
    (text) =>
      text.replaceAll(/&#x([\da-f]+);/g, (_, code) => String.fromCodePoint(Number.parseInt(code, 16))),
  ],
  ['forms', FORM_TYPE, formMessage(withStrays), (text) => decodeURIComponent(text.replaceAll('+', ' '))],
])('no number passes in %s', (_, type, message, read) => {
  fc.assert(
    fc.property(message, ({ parts, number: path, code: codePath }) => {
      const rules: InboundRules = { extract: [{ number: path, code: codePath }] };
      const { body } = run(sentOf(parts), { ...rules, strict: 'mask' }, { type });
      expect(numbersIn(read(body))).toEqual([]);
      const rest = parts.map((part) => (typeof part === 'string' ? part : '0')).join('');
      const isStray = numbersIn(read(rest)).length > 0;
      expect(refusal(sentOf(parts), rules, { type })).toStartWith(
        isStray ? 'card_not_extracted body' : 'passed',
      );
    }),
    { numRuns: 60 },
  );
});
