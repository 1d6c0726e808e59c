/** How a stored item is shown: which of its values, and how they look while they are hidden. */

import type { PageConfig } from '../base/config.ts';
import { brandOf } from './brand.ts';
import { onlyDigits } from './digits.ts';
import { formFields } from './fields.macro.ts' with { type: 'macro' };
import { groupNumber } from './number-input.ts';

/** One value of a stored item; one that is not secret is never hidden. */
export interface StoredValue {
  readonly name: string;
  /** The owner's label, or the name; without one there is a text for the field. */
  readonly label: string | undefined;
  readonly secret: boolean;
  readonly text: string;
}

const FIELDS = formFields();
const KNOWN: readonly string[] = [...FIELDS.pcd, ...FIELDS.ach];
/** The names under which the service takes the number of an item, in their order. */
export const NUMBERS = ['card_number', 'account_number', 'n', 'number'];
/** What is hidden of cards and accounts, with the other names that it may be stored under. */
const SECRETS: ReadonlyMap<string, readonly string[]> = new Map([
  ['card_number', NUMBERS],
  ['account_number', NUMBERS],
  ['cvv', ['cvc', 'security_code']],
]);
const TAIL_DIGITS = 4;
/** What the number of a card looks like, masked or not. Every item has a number, whatever it is. */
const NUMBER = /^[\d\s*-]{12,}$/;

/** The date of items that were stored with its parts alone. */
function expiryOf(month = '', year = ''): string {
  return month && year && `${month.padStart(2, '0')}/${year.slice(-2)}`;
}

/**
 * The values that a form of this type shows, in its order, those left out that the item does not have. A form for
 * cards shows a bank account as one; what has nothing of either is shown with all its texts and numbers.
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
  const isAccount =
    form_type === 'pcd' && !texts.has('card_number') && FIELDS.ach.slice(1).some((name) => texts.has(name));
  const own: readonly string[] = FIELDS[isAccount ? 'ach' : form_type];
  const found = [
    ...own.map((name) => shownAs(name)),
    ...added.map(({ name, label }) => shownAs(name, label)),
  ].filter(({ text }) => text);
  const isMeant =
    form_type === 'custom'
      ? added.length > 0
      : found.some(({ name }) => name === 'expiry' || texts.has(name)) || NUMBER.test(textOf('card_number'));
  const all = isMeant ? found : [...texts.keys()].map((name) => shownAs(name));
  return all.filter(({ name }) => settings.field_options[name]?.visible !== false);
}

function isWholeNumber(text: string): boolean {
  return /^[\d\s-]+$/.test(text);
}

/** The text as it is shown once revealed: a card number in its groups. */
export function shownText({ name, text }: StoredValue): string {
  return name === 'card_number' && isWholeNumber(text) ? groupNumber(onlyDigits(text)) : text;
}

/** The text while hidden: of numbers of cards and accounts the last four digits stay, of others not even the length. */
export function hiddenText({ name, text }: StoredValue): string {
  const tail = text.slice(-TAIL_DIGITS);
  if (name === 'card_number') {
    const amex = brandOf(onlyDigits(text)) === 'american-express';
    return amex ? `•••• •••••• •${tail}` : `•••• •••• •••• ${tail}`;
  }
  if (name === 'account_number' && text.length > 2 * TAIL_DIGITS) {
    return `•••• ${tail}`;
  }
  return name === 'cvv' ? '•••' : '••••••';
}
