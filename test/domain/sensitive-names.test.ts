import { expect, test } from 'bun:test';
import { isMaskedNumberName, isSadName } from '../../server/domain/card/sensitive-names.ts';

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** The same name as different systems write it. */
function spellings(name: string): string[] {
  const parts = name.split('_');
  const camel = parts
    .map((part, at) => (at === 0 ? part : part.charAt(0).toUpperCase() + part.slice(1)))
    .join('');
  return [name, name.toUpperCase(), parts.join('-'), parts.join('.'), parts.join(' '), parts.join(''), camel];
}

test.each(
  words(`cvv cvc cvv2 cvc2 cvn cid security_code card_cvv pin pin_block track1 track2 track_1 track_2 cvv_code cvc_code
    card_security_code cvv_number cvv_value csc card_cvc card_verification_value card_verification_code cc_cvv
    card_pin track_1_data track_2_data encrypted_pin_block magnetic_stripe`),
)('%s is sensitive authentication data, however it is written', (name) => {
  expect(spellings(name).filter((spelling) => !isSadName(spelling))).toEqual([]);
  expect(spellings(name).filter(isMaskedNumberName)).toEqual([]);
});

test.each(
  words(`card_number account_number n number pan card_no card_num cc_number credit_card_number debit_card_number card_pan
    account_no primary_account_number pan_number`),
)('%s is a number, however it is written', (name) => {
  expect(spellings(name).filter((spelling) => !isMaskedNumberName(spelling))).toEqual([]);
  expect(spellings(name).filter(isSadName)).toEqual([]);
});

test('a name may have letters that are of ASCII only in lower case', () => {
  expect(['pin_bloc\u212a', 'PIN-BLOC\u212a', '\u212apin'].map(isSadName)).toEqual([true, true, false]);
});

test('other names are not', () => {
  const others =
    words(`cvv3 pincode pin_code x.cvv __proto__ verification_code tracking track_id track spinblock
    security numbers phone_number order_number card_holder no num code value pan2 panel account card cc`);
  expect(['', ' ', '-', ...others].filter((name) => isSadName(name) || isMaskedNumberName(name))).toEqual([]);
});
