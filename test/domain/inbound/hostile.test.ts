/** Bodies that are made to take long: each takes time linear in its length. */
import { expect, test } from 'bun:test';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import { FORM_TYPE, JSON_TYPE, refusal, run, VISA, XML_TYPE } from './run.ts';

const BYTES = 65_536;
/** Quadratic time would be minutes. */
const CPU_MS_MAX = 2_000;

const PATHS: InboundRules = {
  extract: [
    {
      ...{ number: 'cards[*].number', code: 'cards[*].cvc', reference: 'cards[*].id' },
      include: ['cards[*].exp', 'all', 'b[*].c', 'cards[*].d[*].e'],
    },
    { number: '*.*.n' },
    { number: 'r.*[*].n' },
    { number: '[*]' },
    { number: 'a[*]' },
  ],
  allow: ['*', '*[*]', '[*].*', 'r.*[*].@n'],
};

function fill(part: string): string {
  return part.repeat(Math.floor(BYTES / part.length));
}

function list(count: number, item: string): string {
  return Array.from({ length: count }, () => item).join(',');
}

const BODIES: readonly (readonly [what: string, type: string, body: string])[] = [
  ['small numbers', JSON_TYPE, `[${fill('1,')}1]`],
  ['lists', JSON_TYPE, `[${fill('[],')}1]`],
  ['deep lists', JSON_TYPE, fill('[')],
  ['lists 63 levels deep', JSON_TYPE, `[${fill(`${'['.repeat(62)}${']'.repeat(62)},`)}1]`],
  ['members', JSON_TYPE, `{${Array.from({ length: 15_000 }, (_, at) => `"a${at}":"123"`).join(',')}}`],
  ['card numbers', JSON_TYPE, `[${fill(`${VISA},`)}1]`],
  ['card numbers in a text', JSON_TYPE, `"${fill(`${VISA} `)}"`],
  ['codes', JSON_TYPE, `[${fill('{"cvv":"123"},')}1]`],
  ['digits', JSON_TYPE, `"${fill('4')}"`],
  ['single digits', JSON_TYPE, `"${fill('4 ')}"`],
  [
    'single digits beside a number without a check digit',
    JSON_TYPE,
    `{"a":["501800000008"],"x":"${fill('5 ')}"}`,
  ],
  ['digits with dots', JSON_TYPE, `"${fill('4.')}"`],
  ['hexadecimal digits', JSON_TYPE, `"${fill(`${VISA}a`)}"`],
  ['digits with signs that are not seen', JSON_TYPE, `"${fill('4\u200b')}"`],
  ['backslashes', JSON_TYPE, `"${fill('\\\\')}"`],
  ['escapes', JSON_TYPE, `"${fill('\\u0034')}"`],
  ['percent signs', JSON_TYPE, `"${fill('%')}"`],
  ['percent within percent', JSON_TYPE, `"${fill('%252534')}"`],
  ['ampersands', JSON_TYPE, `"${fill('&amp;')}"`],
  ['JSON within a text', JSON_TYPE, `"${fill('{\\"a\\":123456},')}"`],
  ['JSON within texts', JSON_TYPE, `[${fill('"{\\"pan\\":123456}",')}1]`],
  ['labels in a text', JSON_TYPE, `"${fill('cvv 123 card number ')}"`],
  [
    'an include that is sought in vain',
    JSON_TYPE,
    `{"cards":[${list(1_000, `{"number":"${VISA}"}`)}],"b":[${list(17_000, '{}')}]}`,
  ],
  [
    'an include for each card',
    JSON_TYPE,
    `{"cards":[${list(500, `{"number":"${VISA}","d":[${list(40, '{}')}]}`)}]}`,
  ],
  ['empty elements', XML_TYPE, `<r>${fill('<a/>')}</r>`],
  ['deep elements', XML_TYPE, fill('<a>')],
  ['attributes', XML_TYPE, `<r>${fill('<a n="1"/>')}</r>`],
  ['an attribute without an end', XML_TYPE, fill('<a b="')],
  ['comments without an end', XML_TYPE, `<r>${fill('<!--')}`],
  ['a text in pieces', XML_TYPE, `<pan>${fill('4<!---->')}</pan>`],
  ['numbers in pieces of a text', XML_TYPE, `<pan>&#52;${fill(`${VISA} <!---->`)}</pan>`],
  ['a piece with many numbers', XML_TYPE, `<pan>&#52;<!---->${fill(`${VISA} `)}</pan>`],
  ['a bomb', XML_TYPE, `<!DOCTYPE r [${fill('<!ENTITY a "&a;">')}]><r>&a;</r>`],
  ['references', XML_TYPE, `<r>${fill('&#52;')}</r>`],
  ['fields of one name', FORM_TYPE, fill('a=1&')],
  ['nested names', FORM_TYPE, fill('a[b][c][d]=1&')],
  ['brackets', FORM_TYPE, `${fill('[')}=1`],
  ['plus signs', FORM_TYPE, `a=${fill('4+')}`],
  ['ampersands of a form', FORM_TYPE, fill('&')],
  ['equals signs', FORM_TYPE, fill('=')],
  ['spaces', '', fill(' ')],
];

test.each(BODIES)('%s', (_, type, body) => {
  const { user } = process.cpuUsage();
  for (const rules of [PATHS, { ...PATHS, strict: 'mask' }, { extract: 'cards', strict: 'mask' }] as const) {
    refusal(body, rules, { type });
  }
  expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(CPU_MS_MAX);
});

test('long paths, queries and headers', () => {
  const { user } = process.cpuUsage();
  const rules = { ...PATHS, strict: 'mask' } as const;
  for (const part of ['4', '4+', '%34', '%2534', 'cvv=123&', '4 ', `${VISA};`, 'a=1;']) {
    const text = fill(part).slice(0, 65_536);
    run('{}', rules, {
      path: `/${text}`,
      query: `?${text}`,
      headers: [
        ['X', text],
        ['Cookie', text],
        ['cvv', text],
      ],
    });
  }
  expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(CPU_MS_MAX);
});

test.each<[string, string]>([
  ['codes', `[${fill('123,')}1]`],
  ['cards with all of the message', `[${list(50, `"${VISA}"`)},[${fill('1,')}1]]`],
])('as many paths as an inbound may have: %s', (_, body) => {
  const { user } = process.cpuUsage();
  const include = Object.fromEntries(Array.from({ length: 32 }, (__, at) => [`all${at}`, '[50]']));
  const source = { number: '[*]', code: '[*]', include };
  const rules: InboundRules = {
    extract: Array.from({ length: 32 }, () => source),
    allow: Array.from({ length: 64 }, () => '[*]'),
    strict: 'mask',
  };
  expect(refusal(body, rules)).toBe('body_too_large');
  expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(CPU_MS_MAX);
});
