/** What reads texts of others: JSON against the runtime's own parser, replies, queries, PEM, rules and templates. */

import { VaultError } from '../../server/core/errors.ts';
import { replaceCards } from '../../server/domain/inbound/inbound.ts';
import type { InboundRules } from '../../server/domain/inbound/rules.ts';
import { parseJson, parseStoredObject, stringifyJson } from '../../server/domain/json/json.ts';
import { fillRequest } from '../../server/domain/proxy/fill.ts';
import { parseProxyOrder } from '../../server/domain/proxy/request.ts';
import { smartParseBody } from '../../server/domain/reply/smart-parse.ts';
import type { RuleOperation } from '../../server/domain/rule/check.ts';
import { checkOperations } from '../../server/domain/rule/check.ts';
import { compileRules, runRules } from '../../server/domain/rule/engine.ts';
import { OPERATION_NAMES } from '../../server/domain/rule/operations.ts';
import { parseTemplate } from '../../server/domain/template/parse.ts';
import { parseBooleanText, parseIntegerText, parseListText } from '../../server/domain/text/query-text.ts';
import { CertificateError, readCertificate } from '../../workers/crypto/certificate/certificate.ts';
import { HOSTILE } from '../domain/proxy/hostile.ts';
import { RULE_CASES } from '../domain/rule/cases.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';
import { newAuthority } from '../workers/crypto/authority.ts';
import type { Chance } from './chance.ts';
import { damagedText } from './mutate.ts';
import { hold, type Suite } from './suite.ts';
import { hostileText, hostileValue } from './values.ts';

/** On a busy machine; every one of them bounds itself at a fifth of it. */
const MS_MAX = 1_500;
function utf8(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

const JSON_TEXTS: readonly [string, ...string[]] = [
  '{"card_number":"4111111111111111","expiry":"12/29","n":[1,2.50,-0,1e400],"o":{"a":null,"b":true}}',
  '[{"a":"\\u00e9\\ud83d\\ude00\\n"},[],{},"",0]',
  '"text"',
  '{"deep":[[[[[[[[[[{"a":[1]}]]]]]]]]]]}',
  '{"__proto__":{"a":1},"constructor":{"prototype":[]},"toString":"b","length":0}',
];
const REPLIES: readonly [string, ...string[]] = [
  '<card><pan>5555555555554444</pan><expires>01/30</expires><name>Ada Lovelace</name></card>',
  'card=4111111111111111&exp=12%2F29&cvv=123&name=Ada',
  'Card 4111 1111 1111 1111, expires 12/29, CVC 123, holder ADA LOVELACE',
  '<!DOCTYPE a SYSTEM "a.dtd"><a><x n="cvv">1<b/>2</x><![CDATA[{"pan":"4111111111111111","cvc":"123"}]]></a>',
  'x=%3Ccard%3E%3Cpan%3E4111111111111111%3C%2Fpan%3E%3C%2Fcard%3E&_charset_=windows-1252&name=J%FC',
  '"pan";"cvv"\r\n"4111111111111111";"1""2"\r\n5555555555554444;123',
  '--b0\r\nContent-Disposition: form-data; name="card[pan]"\r\n\r\n4111111111111111\r\n--b0--',
  '{"a":"{\\"pan\\":\\"4111\\\\u00201111 1111 1111\\"}"}\n{"note":"4111-1111-1111-1111|12|29|123 CVV 456"}',
  JSON_TEXTS[0],
];
const TYPES = [
  undefined,
  'application/json',
  'text/xml',
  'application/x-www-form-urlencoded',
  'text/plain',
  'text/csv',
  'multipart/form-data; boundary=b0',
  'application/json; charset=utf-16',
  'text/xml; charset=windows-1252',
] as const;
const TEMPLATES: readonly [string, ...string[]] = [
  '{"n":"{{card_number}}","x":{{#list}}{{.}},{{/list}}0}',
  '{{#a}}{{^b}}{{{c.d.0}}}{{/b}}{{/a}}{{! note }}{{&e}}',
  'n={{card_number}}&{{#o}}{{a}}={{b}}{{/o}}',
];

/** The work must return, or refuse as callers know it, in time. */
function bounded(what: string, work: () => unknown): void {
  const cpuMs = startCpuClock();
  try {
    work();
  } catch (error) {
    hold(error instanceof VaultError || error instanceof CertificateError, () => `${what}: ${error}`);
  }
  const ms = cpuMs();
  hold(ms < MS_MAX, () => `${what} took ${Math.round(ms)} ms of CPU time`);
}

/** Ours refuses more (repeated names, depth, bytes that are not UTF-8), never less, and reads the same values. */
function readAlike(bytes: Uint8Array): void {
  const own = stringifyJson(parseJson(bytes));
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  const theirs: unknown = JSON.parse(text);
  hold(Bun.deepEquals(JSON.parse(own), theirs), () => `JSON reads ${text} as ${own}`);
}

function parseAsJson(chance: Chance): void {
  const bytes = utf8(damagedText(chance.pick(JSON_TEXTS), chance));
  bounded('JSON', () => readAlike(bytes));
}

function parseReply(chance: Chance): void {
  const bytes = utf8(damagedText(chance.pick(REPLIES), chance));
  bounded('smart parse', () => smartParseBody(bytes, chance.pick(TYPES)));
}

const INBOUNDS: readonly [InboundRules, ...InboundRules[]] = [
  { extract: 'cards', strict: 'mask' },
  {
    extract: [{ number: 'pan' }, { number: 'card_number', code: 'cvv' }, { number: 'card.pan' }],
    strict: 'mask',
  },
  { extract: [{ number: 'none', code: '*.x' }], strict: 'mask' },
];
/** A card number that is no part of a longer row or of a hash. */
const NUMBER = /(?<![\da-f][ -]?)(?:4111|5555)(?:[ -]?(?:1111|5555|4444)){3}(?![ -]?[\da-f])/i;

/** No card number is left by an inbound that masks. */
function passInbound(chance: Chance): void {
  const body = utf8(damagedText(chance.pick(REPLIES), chance));
  const type = chance.pick(TYPES);
  const headers = type === undefined ? [] : [['Content-Type', type] as const];
  bounded('inbound', () => {
    const message = { path: '/', query: '', headers, body };
    const passed = replaceCards(message, chance.pick(INBOUNDS), () => 'token');
    const text = Buffer.from(passed.body).toString('latin1');
    hold(!NUMBER.test(text), () => `an inbound lets ${text} pass, of type ${type}`);
  });
}

function parseQuery(chance: Chance): void {
  const text = hostileText(chance);
  bounded('query', () => [parseBooleanText(text), parseIntegerText(text), parseListText(text)]);
}

const ARGUMENTS = ['start', 'pattern', 'template', 'value', 'separator', 'map', 'length', 'with'] as const;
const NAMES = [...OPERATION_NAMES] as unknown as readonly [string, ...string[]];

/** A change of an operation; the last one changes nothing. */
const CHANGES: readonly [Spoil, ...Spoil[]] = [
  (_, chance) => ({ input_field: hostileText(chance) }),
  (_, chance) => ({ output_field: hostileText(chance) }),
  (given, chance) => ({ arguments: { ...given, [chance.pick(ARGUMENTS)]: hostileValue(chance) } }),
  (given, chance) => ({
    arguments: Object.fromEntries(Object.keys(given).map((name) => [name, hostileValue(chance)])),
  }),
  (_, chance) => ({ name: chance.pick(NAMES) }),
  () => ({}),
];
type Spoil = (given: object, chance: Chance) => object;

/** A rule of any operations, with arguments of any kind, over an object of another. */
function runRule(chance: Chance): void {
  const spoiled = (operation: RuleOperation): unknown => ({
    ...operation,
    ...chance.pick(CHANGES)(operation.arguments ?? {}, chance),
  });
  const cases = Array.from({ length: 1 + chance.int(4) }, () => RULE_CASES[chance.int(RULE_CASES.length)]);
  const operations = cases.flatMap((each) => (each === undefined ? [] : [spoiled(each.operation)]));
  const input = cases[0]?.input ?? '{}';
  bounded(`rules ${JSON.stringify(operations).slice(0, 300)}`, () => {
    const object = parseStoredObject(utf8(chance.hits(0.5) ? input : damagedText(input, chance)));
    runRules(compileRules([checkOperations(operations)]), object, {
      now: startCpuClock(),
      randomBytes: (length) => chance.bytes(Math.min(length, 4_096)),
    });
  });
}

const VIEW = parseStoredObject(
  Buffer.from(
    '{"card_number":"4111111111111111","list":[1,2],"a":[{"c":{"d":["x"]}}],"o":{"a":"1","b":"2"},"e":"<"}',
  ),
);

function fillTemplate(chance: Chance): void {
  const template =
    damagedText(chance.pick(TEMPLATES), chance) + chance.pick(['', ...HOSTILE] as [string, ...string[]]);
  bounded('template', () => parseTemplate(template));
  const headers = [
    { 'Content-Type': chance.pick(['application/json', 'text/xml', 'application/x-www-form-urlencoded']) },
  ];
  const url = `https://a.example/${chance.hits(0.3) ? template.slice(0, 60) : ''}`;
  bounded('proxy request', () => {
    const order = { request: { method: 'POST', url, headers, body: template } };
    const { request } = parseProxyOrder(parseStoredObject(Buffer.from(JSON.stringify(order))));
    const { url: filled } = fillRequest(request, VIEW, startCpuClock(), { allowMissing: chance.hits(0.5) });
    hold(new URL(filled).origin === 'https://a.example', () => `a template leads to ${filled}`);
  });
}

export const PARSERS: Suite = {
  name: 'parsers',
  share: 400,
  atOnce: 1,
  open: async () => {
    // Refusing is no fault of a damaged text, but of a whole one.
    for (const text of JSON_TEXTS) {
      readAlike(utf8(text));
    }
    const { pem } = await newAuthority('Fuzz Authority');
    const readPem = (chance: Chance): void =>
      bounded('certificate', () => readCertificate(damagedText(pem, chance)));
    const kinds = [
      parseAsJson,
      parseReply,
      passInbound,
      parseQuery,
      runRule,
      runRule,
      fillTemplate,
      readPem,
    ] as const;
    return { run: (chance) => chance.pick(kinds)(chance), finish: async () => undefined };
  },
};
