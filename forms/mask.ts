/** How a stored item is shown: which of its values, and how they look while they are hidden. */
import { brandOf } from './brand.ts';
import type { PageConfig } from './config.ts';
import { onlyDigits } from './digits.ts';
import { formFields } from './fields.macro.ts' with { type: 'macro' };
import { groupNumber } from './number-input.ts';

/** One value of a stored item; one that is not secret is never hidden. */
export interface StoredValue {
  readonly name: string;
  /** The owner's label, or the name; without one there is a text for the field. */
  readonly label?: string;
  readonly secret: boolean;
  readonly text: string;
}

const FIELDS = formFields();
/** Everything else of cards and accounts helps people to see which one it is. */
const OPEN = ['card_holder', 'expiry', 'routing_number', 'account_type', 'account_holder'];
const KNOWN: readonly string[] = [...FIELDS.pcd, ...FIELDS.ach];
const TAIL_DIGITS = 4;

type Item = Readonly<Record<string, unknown>>;

const textOf = (item: Item, name: string): string => {
  const value = Object.hasOwn(item, name) ? item[name] : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
};

/** The date of items that were stored with its parts alone. */
const expiryOf = (item: Item): string => {
  const [month, year] = [textOf(item, 'expiry_month'), textOf(item, 'expiry_year')];
  return month === '' || year === '' ? '' : `${month.padStart(2, '0')}/${year.slice(-2)}`;
};

/** The values that a form of this type shows, in its order, those left out that the item does not have. */
export const storedValues = (item: Item, { form_type, settings }: PageConfig): StoredValue[] => {
  const own = FIELDS[form_type].map((name) => ({
    name,
    secret: !OPEN.includes(name),
    text: textOf(item, name) || (name === 'expiry' ? expiryOf(item) : ''),
  }));
  const added = settings.additional_fields.map(({ name, label }) => ({
    name,
    label,
    secret: true,
    text: textOf(item, name),
  }));
  const all =
    form_type === 'custom' && added.length === 0
      ? Object.keys(item).map((name) => ({
          name,
          ...(KNOWN.includes(name) ? {} : { label: name }),
          secret: true,
          text: textOf(item, name),
        }))
      : [...own, ...added];
  return all.filter(({ name, text }) => text !== '' && settings.field_options[name]?.visible !== false);
};

const isWholeNumber = (text: string): boolean => /^[\d\s-]+$/.test(text);

/** The text as it is shown once revealed: a card number in its groups. */
export const shownText = ({ name, text }: StoredValue): string =>
  name === 'card_number' && isWholeNumber(text) ? groupNumber(onlyDigits(text)) : text;

/** The text while hidden: of numbers of cards and accounts the last four digits stay, of others not even the length. */
export const hiddenText = ({ name, text }: StoredValue): string => {
  const tail = text.slice(-TAIL_DIGITS);
  if (name === 'card_number') {
    const amex = brandOf(onlyDigits(text)) === 'american-express';
    return amex ? `•••• •••••• •${tail}` : `•••• •••• •••• ${tail}`;
  }
  if (name === 'account_number' && text.length > 2 * TAIL_DIGITS) {
    return `•••• ${tail}`;
  }
  return name === 'cvv' ? '•••' : '••••••';
};
