import { describe, expect, test } from 'bun:test';
import { checkIban, editIban, isIban, pickIban, plainIban } from '../../forms/fields/iban.ts';
import { changeIn, checkAnyChange } from './change.ts';

/** The examples of the SWIFT IBAN registry, one of each country. */
const EXAMPLES =
  `AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201
  AZ21NABZ00000000137010001944 BA391290079401028494 BE68539007547034 BG80BNBG96611020345678 BH67BMAG00001299123456
  BI1320001100010000123456789 BR9700360305000010009795493P1 BY13NBRB3600900000002Z00AB00 CH9300762011623852957
  CR05015202001026284066 CY17002001280000001200527600 CZ6508000000192000145399 DE89370400440532013000
  DJ2110002010010409943020008 DK5000400440116243 DO28BAGR00000001212453611324 EE382200221020145685
  EG380019000500000000263180002 ES9121000418450200051332 FI2112345600000785 FK12SC987654321098 FO2000400440116243
  FR1420041010050500013M02606 GB29NWBK60161331926819 GE29NB0000000101904917 GI75NWBK000000007099453 GL2000400440116243
  GR1601101250000000012300695 GT82TRAJ01020000001210029690 HN88CABF00000000000250005469 HR1210010051863000160
  HU42117730161111101800000000 IE29AIBK93115212345678 IL620108000000099999999 IQ98NBIQ850123456789012
  IS140159260076545510730339 IT60X0542811101000000123456 JO94CBJO0010000000000131000302
  KW81CBKU0000000000001234560101 KZ86125KZT5004100100 LB62099900000001001901229114 LC55HEMM000100010012001200023015
  LI21088100002324013AA LT121000011101001000 LU280019400644750000 LV80BANK0000435195001 LY38021001000000123456789
  MC5811222000010123456789030 MD24AG000225100013104168 ME25505000012345678951 MK07250120000058984 MN580050099123456789
  MR1300020001010000123456753 MT84MALT011000012345MTLCAST001S MU17BOMM0101101030300200000MUR
  NI79BAMC00000000000003123123 NL91ABNA0417164300 NO9386011117947 OM040280000012345678901 PK36SCBL0000001123456702
  PL61109010140000071219812874 PS92PALS000000000400123456702 PT50000201231234567890154 QA58DOHB00001234567890ABCDEFG
  RO49AAAA1B31007593840000 RS35260005601001611379 RU0204452560040702810412345678901 SA0380000000608010167519
  SC18SSCB11010000000000001497USD SD8811123456789012 SE4550000000058398257466 SI56191000000123438
  SK3112000000198742637541 SM86U0322509800000000270100 SO061000001123123456789 ST68000100010051845310112
  SV62CENR00000000000000700025 TL380080012345678910157 TN5910006035183598478831 TR330006100519786457841326
  UA213996220000026007233566001 VA59001123000012345678 VG96VPVG0000012345678901 XK051212012345678906
  YE15CBYE0001018861234567891234`.split(/\s+/);
const IBAN = 'DE89370400440532013000';

/** The number with check digits that fit. */
function withCheckDigits(country: string, rest: string): string {
  const digits = `${rest}${country}00`.replace(/[A-Z]/g, (letter) => String(Number.parseInt(letter, 36)));
  return `${country}${String(98n - (BigInt(digits) % 97n)).padStart(2, '0')}${rest}`;
}

describe.each(EXAMPLES)('%s', (example) => {
  const country = example.slice(0, 2);
  const rest = example.slice(4);

  test('is an IBAN, also as it is printed and in small letters', () => {
    const printed = example.replace(/(.{4})(?=.)/g, '$1 ');
    for (const text of [example, printed, example.toLowerCase()]) {
      expect(checkIban(text)).toBeUndefined();
      expect(plainIban(text)).toBe(example);
    }
  });

  test('is none with another check digit, length or form', () => {
    const other = example.endsWith('1') ? '2' : '1';
    expect(isIban(example.slice(0, -1) + other)).toBe(false);
    expect(isIban(withCheckDigits(country, `${rest}0`))).toBe(false);
    expect(isIban(withCheckDigits(country, rest.slice(0, -1)))).toBe(false);
    // No country has both at its first place.
    const first = /^\d/.test(rest) ? 'A' : '1';
    const free = ['GT', 'MD', 'BR', 'BY', 'DO'].includes(country);
    expect(isIban(withCheckDigits(country, first + rest.slice(1)))).toBe(free);
  });
});

test('there is an example of each of the 89 countries', () => {
  expect(new Set(EXAMPLES.map((example) => example.slice(0, 2))).size).toBe(89);
});

test.each([
  ['BR6699999A03000010009795493C1', 'letters in the bank of Brazil, since release 103'],
  ['FO2000400440116243', 'a territory with numbers of its own'],
])('%s is one: %s', (iban) => {
  expect(isIban(iban)).toBe(true);
});

test.each([
  ['', 'empty'],
  ['DE', 'a country alone'],
  ['DE89370400440532013001', 'a wrong check digit'],
  ['DE893704004405320130000', 'a digit too many'],
  ['4111111111111111', 'a card number'],
  ['\u00c4\u00d6', 'letters of other alphabets'],
  ['DE89 3704 0044 0532 0130 0O', 'a letter in place of a digit'],
  ['DE89370400440532013000!', 'a character that no IBAN has'],
  ['DE89 **** **** **** **30 00', 'a masked one'],
  [withCheckDigits('MA', '011519000001205000534921'), 'a country that is not in the registry'],
  [withCheckDigits('GF', '20041010050500013M02606'), 'a territory whose numbers begin with FR'],
  [withCheckDigits('US', '110000000123456789'), 'a country without IBANs'],
])('%j is none: %s', (text) => {
  expect(checkIban(text)).toBe('iban_bad');
});

test('check digits 00, 01 and 99, which fit as 97, 98 and 02 do, are none', () => {
  const found: string[] = [];
  for (let at = 0; found.length < 3 && at < 10_000; at++) {
    const iban = withCheckDigits('DE', String(370_400_440_532_010_000 + at));
    const twin = { '97': '00', '98': '01', '02': '99' }[iban.slice(2, 4)];
    if (twin !== undefined && !found.includes(twin)) {
      found.push(twin);
      expect(isIban(iban)).toBe(true);
      expect(isIban(`DE${twin}${iban.slice(4)}`)).toBe(false);
    }
  }
  expect(found.sort()).toEqual(['00', '01', '99']);
});

const change = changeIn(editIban);

describe('the caret', () => {
  test.each([
    ['at the end', 'DE8|', 'DE89|', 'insertText', 'DE89|'],
    ['over a gap', 'DE89|', 'DE893|', 'insertText', 'DE89 3|'],
    ['small letters', 'd|', 'de|', 'insertText', 'DE|'],
    ['in the middle', 'DE89 37|04', 'DE89 375|04', 'insertText', 'DE89 375|0 4'],
    ['before a gap, where it moves on', 'DE8|3 704', 'DE89|3 704', 'insertText', 'DE89 |3704'],
    ['deleting back', 'DE89 3|', 'DE89 |', 'deleteContentBackward', 'DE89|'],
    ['deleting in the middle', 'DE89 37|04', 'DE89 3|04', 'deleteContentBackward', 'DE89 3|04'],
    [
      'deleting a gap takes the character before it',
      'DE89 |3704',
      'DE89|3704',
      'deleteContentBackward',
      'DE8|3 704',
    ],
    [
      'deleting a gap forward takes the character after it',
      'DE89| 3704',
      'DE89|3704',
      'deleteContentForward',
      'DE89| 704',
    ],
  ])('%s', (_, before, replaced, kind, shown) => {
    expect(change(before, replaced, kind)).toBe(shown);
  });

  test('a character typed into a full number of its country is not taken', () => {
    const full = 'DE89 3704 0044 0532 0130 00';
    expect(change(`${full}|`, `${full}1|`, 'insertText')).toBe(`${full}|`);
    expect(change('DE89 3|704 0044 0532 0130 00', 'DE89 35|704 0044 0532 0130 00', 'insertText')).toBe(
      'DE89 3|704 0044 0532 0130 00',
    );
  });

  test('characters that no IBAN has are not taken', () => {
    for (const key of ['!', '\u00e4', '*', '/']) {
      expect(change('DE89|', `DE89${key}|`, 'insertText')).toBe('DE89|');
    }
  });
});

describe('what is pasted', () => {
  test.each([
    [IBAN],
    ['DE89 3704 0044 0532 0130 00'],
    [' de89 3704 0044 0532 0130 00\n'],
    ['DE89-3704-0044-0532-0130-00'],
    ['DE89.3704.0044.0532.0130.00'],
    ['DE89\u00a03704\u202f0044\u20090532\u00a00130\u00a000'],
    ['DE89\u20113704\u20110044\u20110532\u20110130\u201100'],
    ['IBAN DE89 3704 0044 0532 0130 00'],
    ['IBAN: DE89370400440532013000'],
    ['IBANDE89370400440532013000'],
    ['iban:de89370400440532013000'],
    ['\u200eDE89 3704 0044 0532 0130 00\u200e'],
    ['\u202aDE89\u202c \u20663704\u2069 0044 0532 0130 00\ufeff'],
    ['\u0622\u064a\u0628\u0627\u0646: \u202bDE89 3704 0044 0532 0130 00\u202c'],
    ['DE\u0668\u0669 3704 0044 0532 0130 00'],
    ['\uff24\uff25\uff18\uff19\u30003704 0044 0532 0130 00'],
    ['Konto: DE89 3704 0044 0532 0130 00, BIC COBADEFFXXX'],
    ['COBADEFFXXX / DE89 3704 0044 0532 0130 00'],
  ])('%j is the number in it', (text) => {
    expect(pickIban(text)).toBe(IBAN);
    expect(change('|', `${text}|`, 'insertFromPaste')).toBe('DE89 3704 0044 0532 0130 00|');
    expect(change('|', `${text}|`, '')).toBe('DE89 3704 0044 0532 0130 00|');
  });

  test.each(['DE893704004405320130001', 'DE89370400440532013000X', '1DE89370400440532013000'])(
    '%s is not made one by dropping what is too much',
    (text) => {
      const shown = change('|', `${text}|`, 'insertFromPaste').replace('|', '');
      expect(plainIban(shown)).toBe(text);
      expect(checkIban(shown)).toBe('iban_bad');
    },
  );

  test('what is none stays as it is', () => {
    expect(change('|', 'My account!|', 'insertFromPaste')).toBe('My account!|');
    expect(change('|', 'IBAN DE89 37|', 'insertFromPaste')).toBe('DE89 37|');
  });

  test('a book is searched at once', () => {
    expect(pickIban(`${IBAN} ${'word 12 '.repeat(200_000)}`)).toBe(IBAN);
  });
});

test('any change leaves groups of four, or a text that is an error', () => {
  checkAnyChange(editIban, (value, shown) => {
    if (!/^(?:[A-Z\d]{4} )*[A-Z\d]{0,4}$/.test(shown)) {
      expect(shown).toBe(value);
      expect(checkIban(value)).toBe('iban_bad');
    }
  });
});

test('typed key by key, every example is the same', () => {
  for (const example of EXAMPLES) {
    let held = '';
    for (const key of example) {
      const value = held + key;
      held = editIban({ before: held, value, caret: value.length, kind: 'insertText' }).value;
    }
    expect(plainIban(held)).toBe(example);
  }
});
