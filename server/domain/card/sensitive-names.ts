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

const HASH_START = 5381;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const ASCII_MAX = 0x7f;

/** A hash that is the same for names with the same `plainName`; -1 for a name with other characters than ASCII. */
function plainHash(name: string): number {
  let hash = HASH_START;
  for (let at = 0; at < name.length; at++) {
    const unit = name.charCodeAt(at);
    if (unit > ASCII_MAX) {
      return -1;
    }
    // Not `-`, `_`, `.` and space.
    if (unit !== 0x2d && unit !== 0x5f && unit !== 0x2e && unit !== 0x20) {
      hash = (Math.imul(hash, 33) ^ (unit >= UPPER_A && unit <= UPPER_Z ? unit | 0x20 : unit)) >>> 0;
    }
  }
  return hash;
}

/** Every member of every item is looked up: almost none has one of these hashes. */
const SAD_HASHES: ReadonlySet<number> = new Set([-1, ...[...SAD_NAMES].map(plainHash)]);

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
  return SAD_HASHES.has(plainHash(name)) && SAD_NAMES.has(plainName(name));
}
