/** An IBAN (ISO 13616) that is typed or pasted: groups of four, with the length and form of its country. */
import { compact, createEdit, type Edit, findValue } from './digits.ts';
import type { Problem } from './validate.ts';

/**
 * The structures of the SWIFT IBAN registry, release 103 (September 2026, swift.com/standards/data-standards/iban), with
 * their countries. They describe the number after the check digits: `n` digits, `a` capital letters, `c` either.
 */
const REGISTRY =
  '10n11c2n:FRMC 11n:NO 12n:BE 14n:DKFIFOGLSD 14n15c:RU 15n:SI 16n:ATBAEELTMNXK 17n:HR 18n:CRDEMERSVA 19n:AEILSOTL 1a10n12c:ITSM 20c:MD 20n:CZESSESKTN 21n:LYPTST 22n:IS 23n:BIDJMR 24c:GT 24n:HUPL 25n:EG 2a12n:FK 2a16n:GE 2n18c:SA 3n10c2n:MK 3n13c:KZLU 3n16c:OM 4a10n:NL 4a13c:LV 4a14c:BH 4a14n:GBIE 4a15c:GI 4a15n:IQ 4a16c:PKRO 4a16n:VG 4a19n3a:MU 4a20c:AZ 4a20n:HNNISV 4a20n3a:SC 4a21c:PSQA 4a22c:KW 4a24c:LC 4a4n18c:JOYE 4a5n18c:MT 4a6n8c:BG 4c20n:DO 4c4n16c:BY 4n20c:LB 5n12c:CHLI 6n16c:TR 6n19c:UA 7n16c:GR 8c15n2c:BR 8n12c:AD 8n16c:ALCY';
const KINDS: Readonly<Record<string, string>> = { n: '\\d', a: '[A-Z]', c: '[A-Z\\d]' };
const COUNTRY = 2;
/** Country and check digits. */
const HEAD = 4;
const LENGTH_MAX = 34;
const MODULUS = 97;
/** Letters stand for 10 to 35. */
const LETTER_BASE = 36;

/** The structure of the country; undefined for a country without IBANs. */
function structureOf(iban: string): string | undefined {
  const country = iban.slice(0, COUNTRY);
  return REGISTRY.split(' ')
    .map((entry) => entry.split(':'))
    .find(([, countries]) => countries?.match(/../g)?.includes(country))?.[0];
}

/** The length of the country's numbers, the longest for an unknown country. */
function lengthOf(iban: string): number {
  const parts = structureOf(iban)?.match(/\d+/g);
  return parts ? parts.reduce((sum, part) => sum + Number(part), HEAD) : LENGTH_MAX;
}

/** Country and check digits, moved to the end and read as a number, leave 1 modulo 97. */
function hasCheckDigits(iban: string): boolean {
  const moved = iban.slice(HEAD) + iban.slice(0, HEAD);
  const digits = moved.replace(/[A-Z]/g, (letter) => String(Number.parseInt(letter, LETTER_BASE)));
  return [...digits].reduce((sum, digit) => (sum * 10 + Number(digit)) % MODULUS, 0) === 1;
}

/** True for a complete IBAN. Check digits are 02 to 98: others are congruent to one of these. */
export function isIban(iban: string): boolean {
  const pattern = structureOf(iban)?.replace(/(\d+)(\w)/g, (_, count, kind) => `${KINDS[kind]}{${count}}`);
  return (
    pattern !== undefined && new RegExp(`^..(?!0[01]|99)\\d\\d${pattern}$`).test(iban) && hasCheckDigits(iban)
  );
}

/** In capital letters, without the prefix `IBAN`, which is no country's. */
function tidy(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()).replace(/^IBAN/, '');
}

/** An IBAN as it is stored: without separators, in capital letters. */
export function plainIban(value: string): string {
  return tidy(compact(value));
}

/** An IBAN with the length, form and check digits of its country. */
export function checkIban(value: string): Problem | undefined {
  return isIban(plainIban(value)) ? undefined : 'iban_bad';
}

/** The IBAN in a pasted text, if it contains a complete one, with any separators and other text around it. */
export function pickIban(pasted: string): string | undefined {
  return findValue(pasted.normalize('NFKC'), (joined) => {
    const iban = tidy(joined);
    return isIban(iban) ? iban : undefined;
  });
}

/** Formats the IBAN field in groups of four, as banks print it. */
export const editIban: Edit = createEdit({
  foreign: /[^A-Z\d]/g,
  tidy,
  format: (iban) => iban.replace(/(.{4})(?=.)/g, '$1 '),
  lengthMax: lengthOf,
  pick: pickIban,
});
