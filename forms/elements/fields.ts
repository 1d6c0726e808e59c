import { brandOf, codeLengthsOf } from '../fields/brand.ts';
import { CARD_ATTRIBUTES } from '../fields/card-attributes.ts';
import { asciiDigits, digitsOf, type Edit, plainDigits } from '../fields/digits.ts';
import { editExpiry, expiryParts } from '../fields/expiry-input.ts';
import { editNumber, pickNumber } from '../fields/number-input.ts';
import { checkCardNumber, checkCode, checkExpiry, checkName, type Problem } from '../fields/validate.ts';
import type { Texts } from '../messages/en.ts';
import type { ElementField } from './visit.ts';

/** A field of a group. `number` is the card number of the group, for the length of the verification code. */
export interface ElementKind {
  /** The posted member. */
  readonly name: 'card_number' | 'expiry' | 'cvv' | 'card_holder' | 'account_number';
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Placeholder text that has words or depends on the card. */
  readonly hint?: (texts: Texts) => string;
  readonly digits?: boolean;
  readonly edit?: Edit;
  readonly paste?: (text: string) => string | undefined;
  readonly label: 'card_number' | 'expiry' | 'cvv' | 'card_holder' | 'iban';
  readonly problem: (value: string, number: string) => Problem | undefined;
  readonly posted: (value: string) => Readonly<Record<string, string>>;
}

const IBAN = /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/;
const IBAN_MODULUS = 97;
/** Letters stand for 10 to 35. */
const LETTER_BASE = 36;

/** An IBAN without its spaces, in capital letters. */
export function plainIban(value: string): string {
  return asciiDigits(value).replace(/\s+/g, '').toUpperCase();
}

/** The check of ISO 13616: country and check digits, moved to the end and read as a number, leave 1 modulo 97. */
export function checkIban(value: string): Problem | undefined {
  const iban = plainIban(value);
  const moved = iban.slice(4) + iban.slice(0, 4);
  const digits = moved.replace(/[A-Z]/g, (letter) => String(Number.parseInt(letter, LETTER_BASE)));
  const rest = [...digits].reduce((sum, digit) => (sum * 10 + Number(digit)) % IBAN_MODULUS, 0);
  return IBAN.test(iban) && rest === 1 ? undefined : 'iban_bad';
}

/** An IBAN in groups of four, as banks print it. */
function groupIban(value: string): string {
  return plainIban(value)
    .slice(0, 34)
    .replace(/(.{4})(?=.)/g, '$1 ');
}

const CODE_DIGITS_MAX = 4;

export const KINDS: Readonly<Record<ElementField, ElementKind>> = {
  'card-number': {
    name: 'card_number',
    label: 'card_number',
    digits: true,
    attributes: CARD_ATTRIBUTES.card_number,
    edit: editNumber,
    paste: pickNumber,
    problem: checkCardNumber,
    posted: (value) => {
      const digits = digitsOf(value);
      return { card_number: digits, card_type: brandOf(digits), last_four: digits.slice(-4) };
    },
  },
  'card-expiry': {
    name: 'expiry',
    label: 'expiry',
    digits: true,
    attributes: CARD_ATTRIBUTES.expiry,
    hint: ({ date }) => date,
    edit: editExpiry,
    problem: (value) => checkExpiry(value, new Date()),
    posted: expiryParts,
  },
  'card-cvc': {
    name: 'cvv',
    label: 'cvv',
    digits: true,
    attributes: CARD_ATTRIBUTES.cvv,
    hint: () => codePlaceholder(''),
    edit: plainDigits(() => CODE_DIGITS_MAX),
    problem: (value, number) => checkCode(value, number),
    posted: (value) => ({ cvv: value }),
  },
  'card-holder': {
    name: 'card_holder',
    label: 'card_holder',
    attributes: CARD_ATTRIBUTES.card_holder,
    problem: checkName,
    posted: (value) => ({ card_holder: value }),
  },
  iban: {
    name: 'account_number',
    label: 'iban',
    // `autocomplete` has no word for it: programs that fill recognise it by its name.
    attributes: {
      ...{ id: 'vf-iban', name: 'iban', autocapitalize: 'characters' },
      ...{ maxlength: 42, placeholder: 'DE00 0000 0000 0000 0000 00' },
    },
    edit: ({ value }) => ({ value: groupIban(value), caret: groupIban(value).length }),
    problem: checkIban,
    posted: (value) => ({ account_number: plainIban(value) }),
  },
};

/** The placeholder of a verification code: as many digits as the card has. */
export function codePlaceholder(number: string): string {
  return '1234'.slice(0, codeLengthsOf(brandOf(digitsOf(number)))[0] ?? 3);
}
