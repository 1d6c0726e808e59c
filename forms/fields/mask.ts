/** The values of a stored item that are shown, and their masked texts. */

import type { PageConfig } from '../../server/form/schema.ts';
import { brandOf } from './brand.ts';
import { digitsOf } from './digits.ts';
import { formFields } from './fields.macro.ts' with { type: 'macro' };
import { groupNumber } from './number-input.ts';

/** One value of a stored item. Only secret values can be hidden. */
export interface StoredValue {
  readonly name: string;
  /** The owner's label, or the name; undefined for a field with a translated label. */
  readonly label: string | undefined;
  readonly secret: boolean;
  readonly text: string;
}

const FIELDS = formFields();
const KNOWN: readonly string[] = [...FIELDS.pcd, ...FIELDS.ach];
/** The names under which the service accepts the number of an item, in order. */
export const NUMBERS = ['card_number', 'account_number', 'n', 'number'];
/** The fields that are hidden, with other names that they may be stored under. */
const SECRETS: ReadonlyMap<string, readonly string[]> = new Map([
  ['card_number', NUMBERS],
  ['account_number', NUMBERS],
  ['cvv', ['cvc', 'security_code']],
]);
const TAIL_DIGITS = 4;
/** A card number, masked or not. Every item has a number, of any kind. */
const NUMBER = /^[\d\s*-]{12,}$/;

/** The date of items that were stored with month and year only. */
function expiryOf(month = '', year = ''): string {
  return month && year && `${month.padStart(2, '0')}/${year.slice(-2)}`;
}

/**
 * The values that a form of this type shows, in order, without missing ones. A form for cards shows a bank account as
 * such. An item with neither is shown with all its texts and numbers.
 */
export function storedValues(item: object, { form_type, settings }: PageConfig): StoredValue[] {
  const texts = new Map(
    Object.entries(item).filter(
      (entry): entry is [string, string] => entry[1] && typeof entry[1] === 'string',
    ),
  );
  const textOf = (name: string): string =>
    [name, ...(SECRETS.get(name) ?? [])].map((each) => texts.get(each)).find(Boolean) ??
    (name === 'expiry'
      ? expiryOf(texts.get('expiry_month'), texts.get('expiry_year') ?? texts.get('expiry_year_short'))
      : '');
  const shownAs = (name: string, label?: string): StoredValue => ({
    name,
    label: label ?? (KNOWN.includes(name) ? undefined : name),
    secret: SECRETS.has(name) || !KNOWN.includes(name),
    text: textOf(name),
  });
  const added = settings.additional_fields;
  // An item without a card number but with a member of a bank account.
  const isAccount =
    form_type === 'pcd' && !texts.has('card_number') && FIELDS.ach.slice(1).some((name) => texts.has(name));
  const own: readonly string[] = FIELDS[isAccount ? 'ach' : form_type];
  const found = [
    ...own.map((name) => shownAs(name)),
    ...added.map(({ name, label }) => shownAs(name, label)),
  ].filter(({ text }) => text);
  const hasValues =
    form_type === 'custom'
      ? added.length > 0
      : found.some(({ name }) => name === 'expiry' || texts.has(name)) || NUMBER.test(textOf('card_number'));
  const all = hasValues ? found : [...texts.keys()].map((name) => shownAs(name));
  return all.filter(({ name }) => settings.field_options[name]?.visible !== false);
}

function isWholeNumber(text: string): boolean {
  return /^[\d\s-]+$/.test(text);
}

/** True for a value that the service has masked: it cannot be shown or copied. */
export function isMasked(text: string): boolean {
  return text.includes('*');
}

/** The text of a revealed value: a card number in its groups, and what the service has masked with the same dots as here. */
export function shownText({ name, text }: StoredValue): string {
  return name === 'card_number' && isWholeNumber(text)
    ? groupNumber(digitsOf(text))
    : text.replace(/^\*[* ]*/, (stars) => stars.replaceAll('*', '•'));
}

/**
 * The text of a hidden value: the last four digits of card and account numbers (PCI DSS 3.4.1), of others not even
 * the length.
 */
export function hiddenText({ name, text }: StoredValue): string {
  const tail = text.slice(-TAIL_DIGITS);
  if (name === 'card_number') {
    const amex = brandOf(digitsOf(text)) === 'american-express';
    return amex ? `•••• •••••• •${tail}` : `•••• •••• •••• ${tail}`;
  }
  if (name === 'account_number' && text.length > 2 * TAIL_DIGITS) {
    return `•••• ${tail}`;
  }
  return name === 'cvv' ? '•••' : '••••••';
}
