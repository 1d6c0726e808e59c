import { JsonNumber, type JsonValue } from '../json/json.ts';
import { remembered } from '../text/remembered.ts';
import {
  PUBLISHED_CODES,
  PUBLISHED_CODES_OR_OTHERS,
  PUBLISHED_PINS,
  PUBLISHED_TRACKS,
  PUBLISHED_TRACKS_OR_OTHERS,
  type PublishedNames,
} from './gateway-names.ts';
import { NUMBER_NAMES } from './number.ts';

/** Prefixes that vendors give to all their names; `UM` is one in this case alone. */
const VENDOR = /^(?:(?:x|ssl|vpc|vads|ds[-_. ]merchant)[-_. ]|eway[-_. ]?)(?=[a-z0-9])/i;
const VENDOR_UM = /^UM(?=[a-z])/;

/** A name's letters and digits in lower case, without one prefix of a vendor: `x_card_code` is `cardcode`. */
export function bareName(name: string): string {
  return name
    .normalize('NFKD')
    .replace(VENDOR, '')
    .replace(VENDOR_UM, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
}

export function compounds(heads: readonly string[], tails: readonly string[]): string[] {
  return heads.flatMap((head) => tails.map((tail) => head + tail));
}

function published(tables: readonly PublishedNames[]): string[] {
  return tables.flatMap(({ names }) => names.split(' ').map(bareName));
}

/** Usual first and last parts of names, as {@link bareName} gives them. */
export const CARD = [
  ...['card', 'cc', 'creditcard', 'debitcard', 'paymentcard', 'bankcard'],
  ...['virtualcard', 'vcc', 'plaincard'],
];
const OR_CARD = ['', ...CARD];
const NUMBER = ['number', 'no', 'num', 'nr'];
const VALUE = ['', 'code', 'value', 'val', 'data', ...NUMBER];
const ENCRYPTED = ['', 'encrypted', 'enc'];
/** The networks' names of verification codes: printed, on the stripe, and dynamic ones. */
const CODE = [
  ...['cvv', 'cvv1', 'cvv2', 'cvv3', 'cvc', 'cvc1', 'cvc2', 'cvc3', 'cvn', 'cvn2', 'csc', 'cvd', 'cvx'],
  ...['cv2', 'cav2', 'ccv', 'ccv2', 'icvv', 'dcvv', 'dcvv2', 'dcvc', 'dcvc2', 'cvv2cvc2', 'securitycode'],
];
const TRACK = ['track1', 'track2', 'track3', 'magstripe', 'magneticstripe'];

/** Members that contain a card or account number: masked except for the last four characters. */
const MASKED_NUMBER_NAMES: ReadonlySet<string> = new Set([
  ...NUMBER_NAMES.map(bareName),
  ...compounds(CARD, [...NUMBER, 'pan']),
  ...compounds(['account', 'acct', 'bankaccount', 'primaryaccount', 'pan'], NUMBER),
  ...['pan', 'fpan', 'dpan'],
]);

/** Verification codes under names that are also used for something else. */
const CODES_OR_OTHERS: ReadonlySet<string> = new Set([
  ...published(PUBLISHED_CODES_OR_OTHERS),
  ...compounds(CARD, ['code', 'identifier', 'verification']),
  ...['verification', 'verificationcode', 'verificationnumber', 'verificationnum', 'validationcode'],
  ...['securitynumber', 'securitynum', 'securityvalue'],
  // In the languages of the names of numbers.
  ...['kartenprufnummer', 'kartenpruefnummer', 'prufziffer', 'pruefziffer'],
  ...compounds(['codigo', 'codigode'], ['seguridad', 'seguridadtarjeta', 'verificacion', 'seguranca']),
  ...['cryptogramme', 'cryptogrammevisuel', 'codesecurite', 'codedesecurite'],
  ...['codicesicurezza', 'codicedisicurezza', 'beveiligingscode'],
]);

/** Members that contain a verification code. */
const CODE_NAMES: ReadonlySet<string> = new Set([
  ...compounds(compounds(OR_CARD, CODE), VALUE),
  ...compounds(ENCRYPTED, compounds(OR_CARD, CODE)),
  ...compounds(OR_CARD, ['cid']),
  ...compounds(
    compounds(CARD, ['verification', 'validation', 'security', 'sec']),
    ['code', 'value', 'val', 'number', 'num'].flatMap((tail) => [tail, `${tail}2`]),
  ),
  ...['verificationvalue2', 'verificationcode2'],
  ...published(PUBLISHED_CODES),
  ...CODES_OR_OTHERS,
]);

/** Tracks under names that are also used for something else. */
const TRACKS_OR_OTHERS: ReadonlySet<string> = new Set(published(PUBLISHED_TRACKS_OR_OTHERS));

/**
 * Members that contain sensitive authentication data (PCI DSS 3.3.1): masked completely, and stored in a separate part
 * that can expire.
 */
export const SAD_NAMES: ReadonlySet<string> = new Set([
  ...CODE_NAMES,
  ...compounds(ENCRYPTED, compounds(OR_CARD, ['pin', 'pinblock', 'pindata'])),
  ...['pvv', 'pinverificationvalue'],
  ...published(PUBLISHED_PINS),
  ...compounds(compounds(ENCRYPTED, compounds(OR_CARD, TRACK)), [
    '',
    'data',
    'discretionarydata',
    'equivalentdata',
  ]),
  ...compounds(ENCRYPTED, compounds(OR_CARD, ['trackdata', 'trackdata1', 'trackdata2', 'trackdata3'])),
  ...published(PUBLISHED_TRACKS),
  ...TRACKS_OR_OTHERS,
]);

const HASH_START = 5381;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;

/** Kind of an ASCII character in a name: 0 needs a closer look, 1 belongs to it, 2 is set aside. */
const KINDS = Uint8Array.from({ length: 0x80 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  return /[A-Za-z0-9]/.test(character) ? 1 : /[-_ ]/.test(character) ? 2 : 0;
});
/** The hash of a name that needs a closer look. */
const UNUSUAL = -1;
/** First letters of prefixes: 1 of those with a separator, 2 of `UM` and `eway`, which need none. */
const STARTS = Uint8Array.from({ length: 0x80 }, (_, unit) => {
  const letter = String.fromCharCode(unit);
  return /[xsvd]/i.test(letter) ? 1 : /[ue]/i.test(letter) ? 2 : 0;
});

/** The longest prefix of a vendor, up to its first separator. */
const VENDOR_MAX = 4;
const VENDOR_HASHES: ReadonlySet<number> = new Set(['x', 'ssl', 'vpc', 'vads', 'ds'].map(plainHash));

/** A hash that is equal for names with the same letters and digits; {@link UNUSUAL} for other characters and for prefixes. */
function plainHash(name: string): number {
  const start = STARTS[name.charCodeAt(0)];
  if (start === 2) {
    const second = name.charCodeAt(1) | 0x20;
    if (second === 0x6d || second === 0x77) {
      return UNUSUAL;
    }
  }
  let hash = HASH_START;
  for (let at = 0; at < name.length; at++) {
    const unit = name.charCodeAt(at);
    const kind = KINDS[unit];
    if (kind === 1) {
      hash = Math.imul(hash, 33) ^ (unit >= UPPER_A && unit <= UPPER_Z ? unit | 0x20 : unit);
    } else if (kind !== 2 || (start === 1 && at <= VENDOR_MAX && VENDOR_HASHES.has(hash))) {
      return UNUSUAL;
    }
  }
  return hash;
}

/** The last part of a path that is no index: `cc_cid` in `payment[cc_cid]`. */
function lastPart(name: string): string {
  return name.split(/[.[\]:/]+/).findLast((part) => /\D/.test(part)) ?? '';
}

/**
 * A test for these names in any spelling, with the prefix of a vendor, and as the end of a path. Every member of every
 * item is tested: almost none has one of the hashes.
 */
function matcherOf(names: ReadonlySet<string>): (name: string) => boolean {
  // Made when it is needed: most threads need few of these tests.
  let hashes: ReadonlySet<number> | undefined;
  const isOne = remembered((name) => names.has(bareName(name)) || names.has(bareName(lastPart(name))));
  return (name) => {
    hashes ??= new Set([...names].map(plainHash)).add(UNUSUAL);
    return hashes.has(plainHash(name)) && isOne(name);
  };
}

/** Tells whether a member may contain sensitive authentication data, by its name. */
export const isSadName = matcherOf(SAD_NAMES);

const isNumberName = matcherOf(MASKED_NUMBER_NAMES);

/** Tells whether a member contains a card or account number, by its name; `cvv.number` is none. */
export function isMaskedNumberName(name: string): boolean {
  return isNumberName(name) && !isSadName(name);
}

/** Tells whether a member may contain a verification code, by its name: no PIN and no track. */
export const isCodeName = matcherOf(CODE_NAMES);

const isCodeOrOther = matcherOf(CODES_OR_OTHERS);
const isTrackOrOther = matcherOf(TRACKS_OR_OTHERS);

function isLike(pattern: RegExp, value: JsonValue): boolean {
  return Array.isArray(value)
    ? value.some((item) => isLike(pattern, item))
    : pattern.test(value instanceof JsonNumber ? value.text : typeof value === 'string' ? value : '');
}

/** Tells whether a member contains sensitive authentication data, by its name, and by its value if that can be another. */
export function isSad(name: string, value: JsonValue): boolean {
  if (!isSadName(name)) {
    return false;
  }
  return isCodeOrOther(name)
    ? isLike(/^\s*\p{Nd}{3,4}\s*$/u, value)
    : !isTrackOrOther(name) || isLike(/\p{Nd}/u, value);
}

/** Matches a part of each of these names. */
const SAD_PART =
  /c(?:v[vcndx2m]|sc|cv|av2|id|code|sec|verif|ard(?:code|sec|verif|identifier|pass))|pin|pvv|security(?:code|num|value)|segur(?:idad|an)|verificac|pr(?:u|ue)?f(?:ziffer|nummer)|cryptogramme|codese?curit|codedes|sicurezza|beveiliging|verification|validation|track|trck|stripe|swipe|seriescode/;

/** Tells whether a text may contain one of these names; a fast check before a search. */
export function mayHaveSadName(text: string): boolean {
  return SAD_PART.test(text.replaceAll(/[-_. \u0080-\uffff]/g, '').toLowerCase());
}
