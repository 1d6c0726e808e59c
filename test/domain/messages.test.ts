/** Smart parse of messages of other systems: what is stored, and what stays readable. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { VaultError } from '../../server/core/errors.ts';
import { isSadName } from '../../server/domain/card/sensitive-names.ts';
import { type SmartParsed, smartParseBody } from '../../server/domain/reply/smart-parse.ts';
import { decodeText } from '../../server/domain/text/charset.ts';
import { MESSAGES } from './messages.ts';
import { expectRefilled } from './refill.ts';

const MEMBERS = ['card_number', 'cvv', 'expiry_month', 'expiry_year', 'card_holder'];

function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

function shown(result: SmartParsed): string {
  return MEMBERS.map((name) => result.object.get(name) ?? '-').join('|');
}

/** What is found, `none`, or the code of the error. */
function outcome(body: Uint8Array, type: string | undefined): string {
  try {
    const result = smartParseBody(body, type);
    return result === undefined ? 'none' : shown(result);
  } catch (error) {
    if (error instanceof VaultError) {
      return error.code;
    }
    throw error;
  }
}

function found(body: Uint8Array, type: string | undefined): SmartParsed {
  const result = smartParseBody(body, type);
  if (result === undefined) {
    throw new Error('Nothing was found.');
  }
  return result;
}

function originalOf({ object }: SmartParsed): string {
  return String(object.get('original_data'));
}

/** Expects texts to stand nowhere in the original by themselves. */
function expectHidden(result: SmartParsed, texts: readonly string[]): void {
  for (const text of texts) {
    expect(originalOf(result)).not.toMatch(new RegExp(`(?<![\\d.])${text}(?!\\d)`));
  }
}

test.each(MESSAGES)('$what', ({ body, type, card, hidden = [], shown: left = [] }) => {
  const bytes = bytesOf(body);
  expect(outcome(bytes, type)).toBe(card);
  if (!card.includes('|')) {
    return;
  }
  const result = found(bytes, type);
  const [number = '', code = ''] = card.split('|');
  expectHidden(result, [number, ...(code === '-' ? [] : [code]), ...hidden]);
  for (const text of left) {
    expect(originalOf(result)).toContain(text);
  }
  expectRefilled(result, decodeText(bytes, type).text);
});

test('what is hidden has the name of a code or of a number', () => {
  const { object } = found(
    bytesOf('{"a":{"pan":"4111111111111111","cvv":"123"},"b":{"pan":"5555555555554444","cvc":"456"}}'),
    undefined,
  );
  const parts = object.get('original_parts');
  const names = (Array.isArray(parts) ? parts : []).flatMap((part) =>
    part instanceof Map ? [...part.keys()] : [],
  );
  expect(names.sort()).toEqual(['card_number', 'cvv']);
  expect(isSadName('cvv')).toBe(true);
});

interface PublicCard {
  readonly number: string;
  readonly exp_month?: string;
  readonly exp_year?: string;
  readonly code?: string;
  readonly holder?: string;
}
interface PublicMessage {
  readonly file: string;
  readonly contentType: string;
  readonly cards: readonly PublicCard[];
  readonly not_cards?: readonly string[];
}

const FOLDER = new URL('./payloads/', import.meta.url);
const PUBLIC: readonly PublicMessage[] = JSON.parse(readFileSync(new URL('index.json', FOLDER), 'utf8'));
/** Where the index has another holder: joined of two names that it leaves out, or in an address alone. */
const HOLDERS: Readonly<Record<string, string>> = {
  '06-authorize-net-aim.txt': 'Paul O’Neil & Sons',
  '19-elavon-xml-in-form.txt': 'Nia Obi',
  '22-paypal-dodirectpayment.txt': 'Jana Doležal',
  '13-yahoo-orderlist.xml': '-',
};

test.each(PUBLIC)('$file', ({ file, contentType, cards, not_cards: others = [] }) => {
  const bytes = readFileSync(new URL(file, FOLDER));
  const [card] = cards;
  if (card === undefined) {
    expect(outcome(bytes, contentType)).toBe('none');
    return;
  }
  const result = found(bytes, contentType);
  const { number, code = '-', exp_month = '-', exp_year = '-', holder = '-' } = card;
  const whole = HOLDERS[file] ?? holder;
  expect(shown(result)).toBe([number, code, exp_month, exp_year, whole].join('|'));
  const secrets = cards.flatMap((each) => [each.number, ...(each.code === undefined ? [] : [each.code])]);
  expectHidden(result, [...new Set([...secrets, ...cards.map((each) => each.number.replaceAll(' ', ''))])]);
  expect(others).not.toContain(number);
  expectRefilled(result, decodeText(bytes, contentType).text);
});
