import { brandOf, codeLengthsOf } from '../fields/brand.ts';
import { CARD_ATTRIBUTES } from '../fields/card-attributes.ts';
import { digitsOf, type Edit, plainDigits } from '../fields/digits.ts';
import { editExpiry, expiryParts, pickExpiry } from '../fields/expiry-input.ts';
import { checkIban, editIban, pickIban, plainIban } from '../fields/iban.ts';
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
    paste: pickExpiry,
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
      placeholder: 'DE00 0000 0000 0000 0000 00',
    },
    digits: true,
    edit: editIban,
    paste: pickIban,
    problem: checkIban,
    posted: (value) => ({ account_number: plainIban(value) }),
  },
};

/** The placeholder of a verification code: as many digits as the card has. */
export function codePlaceholder(number: string): string {
  return '1234'.slice(0, codeLengthsOf(brandOf(digitsOf(number)))[0] ?? 3);
}
