import { NUMBER_NAMES } from './number.ts';

/** Usual first and last parts of names. Names are as `plainName` gives them. */
const CARD = ['', 'card', 'cc', 'creditcard', 'debitcard', 'paymentcard'];
const NUMBER = ['number', 'no', 'num', 'nr'];
const CODE = ['cvv', 'cvc', 'cvn', 'cvv2', 'cvc2', 'cvn2', 'csc', 'securitycode'];
const TRACK = ['track1', 'track2', 'track3'];

function compounds(heads: readonly string[], tails: readonly string[]): string[] {
  return heads.flatMap((head) => tails.map((tail) => head + tail));
}

/** A name without case, `-`, `_`, `.` and spaces: `cardNumber`, `card-number` and `CARD_NUMBER` are one. */
function plainName(name: string): string {
  return (/[-_. ]/.test(name) ? name.replaceAll(/[-_. ]/g, '') : name).toLowerCase();
}

/** Members that contain a card or account number: masked except for the last four characters. */
const MASKED_NUMBER_NAMES: ReadonlySet<string> = new Set([
  ...NUMBER_NAMES.map(plainName),
  ...compounds(CARD.slice(1), [...NUMBER, 'pan']),
  ...compounds(['account', 'acct', 'bankaccount', 'primaryaccount', 'pan'], NUMBER),
  ...['pan', 'fpan', 'dpan'],
]);

/**
 * Members that contain sensitive authentication data (PCI DSS 3.3.1): masked completely, and stored in a separate part
 * that can expire.
 */
export const SAD_NAMES: ReadonlySet<string> = new Set([
  ...compounds(CARD, CODE),
  ...compounds(compounds(CARD, CODE), ['code', 'value', ...NUMBER]),
  ...compounds(CARD.slice(1), ['verificationcode', 'verificationvalue', 'validationcode']),
  ...compounds(CARD, ['cid', 'pin', 'pinblock']),
  ...['encryptedpin', 'encryptedpinblock'],
  ...compounds(CARD, TRACK),
  ...compounds([...TRACK, 'track', 'magstripe'], ['data']),
  ...[
    'magstripe',
    'magneticstripe',
    'track1discretionarydata',
    'track2discretionarydata',
    'track2equivalentdata',
  ],
]);

/** Matches a part of each of these names. */
const SAD_PART = /c(?:vv|vc|vn|sc|id)|pin|securitycode|verification|validation|track|m(?:ag|agnetic)stripe/;

/** Tells whether a text may contain one of these names; a fast check before a search. */
export function mayHaveSadName(text: string): boolean {
  return SAD_PART.test(plainName(text));
}

/** Tells whether a member contains a card or account number, by its name. */
export function isMaskedNumberName(name: string): boolean {
  return MASKED_NUMBER_NAMES.has(plainName(name));
}

/** Tells whether a member contains sensitive authentication data, by its name. */
export function isSadName(name: string): boolean {
  return SAD_NAMES.has(plainName(name));
}
