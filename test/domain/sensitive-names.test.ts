import { describe, expect, test } from 'bun:test';
import * as published from '../../server/domain/card/gateway-names.ts';
import {
  bareName,
  isCodeName,
  isMaskedNumberName,
  isSad,
  isSadName,
  SAD_NAMES,
} from '../../server/domain/card/sensitive-names.ts';
import { JsonNumber, type JsonValue } from '../../server/domain/json/json.ts';

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** The same name as different systems write it. */
function spellings(name: string): string[] {
  const parts = name.split('_');
  const camel = parts
    .map((part, at) => (at === 0 ? part : part.charAt(0).toUpperCase() + part.slice(1)))
    .join('');
  const written = [
    ...[name, name.toUpperCase(), parts.join('-'), parts.join('.'), parts.join(' '), parts.join(''), camel],
    ...[`payment[${name}]`, `payment[0][${name}][]`, `order.${name}`, `ns:${name}`, `@${name}`],
  ];
  return [
    ...written,
    `x_${name}`,
    `ssl_${name}`,
    `vpc_${camel}`,
    `DS_MERCHANT_${name.toUpperCase()}`,
    `UM${name}`,
  ];
}

const CODES =
  words(`cvv cvc cvv2 cvc2 cvn cid security_code card_cvv cvv_code cvc_code card_security_code cvv_number
  cvv_value csc card_cvc card_verification_value card_verification_code cc_cvv cvd cav2 cvc3 cvv3 dcvv icvv cv2 ccv cvx
  cv_number card_cv_number card_sec_val csc_val verification_value cc_cid card_validation_num cvv2cvc2 bank_card_cvv
  encrypted_security_code card_security_number trn_card_cvd cvd_value card_cvx cvv2_val ccvv card_code_value cvm_value`);
const CODES_OR_OTHERS = words(`card_code series_code credit_card_identifier cvm verification_code cc_code
  card_verification verification validation_code security_number codigo_seguranca
  codigo_seguridad codigo_de_seguridad kartenpruefnummer pruefziffer cryptogramme code_securite codice_sicurezza
  beveiligingscode`);
const REST =
  words(`pin pin_block track1 track2 track_1 track_2 card_pin track_1_data track_2_data encrypted_pin_block
  magnetic_stripe magstripe track_data pin_data card_track_2 pvv encrypted_pin_data card_password first_two_of_pin
  card_pass_phrase enc_track2 track2_equivalent_data trck_val track_value track_data_2`);
const TRACKS_OR_OTHERS = words('track swipe');

test.each([...CODES, ...CODES_OR_OTHERS, ...REST, ...TRACKS_OR_OTHERS])(
  '%s is sensitive authentication data, however it is written',
  (name) => {
    expect(spellings(name).filter((spelling) => !isSadName(spelling))).toEqual([]);
    expect(spellings(name).filter(isMaskedNumberName)).toEqual([]);
  },
);

const TABLES: readonly (readonly published.PublishedNames[])[] = Object.values(published);

test.each(TABLES.flat().map(({ source, names }) => [source, names]))('%s has %s', (source, names) => {
  expect(new URL(source).protocol).toMatch(/^https?:$/);
  expect(names.split(' ').filter((name) => !isSadName(name) || !SAD_NAMES.has(bareName(name)))).toEqual([]);
});

test('codes are those that are neither tracks nor PINs', () => {
  expect([...CODES, ...CODES_OR_OTHERS].flatMap(spellings).filter((name) => !isCodeName(name))).toEqual([]);
  expect([...REST, ...TRACKS_OR_OTHERS].flatMap(spellings).filter(isCodeName)).toEqual([]);
});

describe('a name that is also used for something else', () => {
  const cases: readonly (readonly [string, JsonValue, boolean])[] = [
    ['CardCode', 'VI', false],
    ['CardCode', '737', true],
    ['card_code', new JsonNumber('7373'), true],
    ['cardCode', ['737'], true],
    ['cardCode', 'GOLD-2026', false],
    ['series_code', ' 737 ', true],
    ['series_code', '\u0667\u0663\u0667', true],
    ['verification_code', '482913', false],
    ['card_verification', new Map([['status', 'ok']]), false],
    ['credit_card_identifier', 'card_8f41', false],
    ['cvm', 'signature', false],
    ['cvm', '123', true],
    ['track', true, false],
    ['track', null, false],
    ['track', ';4111111111111111=30121010000012300000?', true],
    ['track', ['%B4111^A/B^3012?', ''], true],
    ['SWIPE', 'no', false],
    ['cvv', 'no', true],
    ['magstripe', new Map(), true],
    ['holder', '737', false],
  ];
  test.each(cases)('%s with %j', (name, value, is) => {
    expect(isSad(name, value)).toBe(is);
  });
});

test.each(
  words(`card_number account_number n number pan card_no card_num cc_number credit_card_number debit_card_number card_pan
    account_no primary_account_number pan_number`),
)('%s is a number, however it is written', (name) => {
  expect(spellings(name).filter((spelling) => !isMaskedNumberName(spelling))).toEqual([]);
  expect(spellings(name).filter(isSadName)).toEqual([]);
});

test('a name may have letters that are of ASCII only in lower case, accents, and characters that are not seen', () => {
  const names = ['pin_bloc\u212a', 'PIN-BLOC\u212a', 'c\u200bvv', 'C\u00f3digo seguran\u00e7a', '\u212apin'];
  expect(names.map(isSadName)).toEqual([true, true, true, true, false]);
});

test('other names are not', () => {
  const others =
    words(`pincode pin_code pin_number __proto__ tracking tracking_number track_id trackpad spinblock security sec_code
    numbers phone_number order_number card_holder no num code value pan2 panel account card cc cvv_result cvv2match
    cvc_check security_code_indicator ssl_cvv2cvc2_indicator card_sec_val_ind merchant_verification_value cavv cvn_code_raw
    verified verification_status card_type card_code_type encoder encounter umbrella umsatz x vpc ssl_ ewaste cve`);
  const spelt = ['', ' ', '-', '[]', '[0]', ...others];
  expect(spelt.filter((name) => isSadName(name) || isMaskedNumberName(name))).toEqual([]);
});

test.each([
  ['x_card_code', 'cardcode'],
  ['ssl_cvv2cvc2', 'cvv2cvc2'],
  ['DS_MERCHANT_PAN', 'pan'],
  ['Ds_Merchant_Cvv2', 'cvv2'],
  ['UMcvv2', 'cvv2'],
  ['UMBRELLA', 'umbrella'],
  ['umsatz', 'umsatz'],
  ['vpc_CardSecurityCode', 'cardsecuritycode'],
  ['ewayCVN', 'cvn'],
  ['EWAY_CARDCVN', 'cardcvn'],
  ['x_ssl_pin', 'sslpin'],
  ['XpryDt', 'xprydt'],
  ['Stra\u00dfe Nr. 1', 'straenr1'],
  ['x_', 'x'],
  ['', ''],
])('the bare name of %j is %j', (name, bare) => {
  expect(bareName(name)).toBe(bare);
});
