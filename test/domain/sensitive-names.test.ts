import { expect, test } from 'bun:test';
import {
  isMaskedNumberName,
  isSadName,
  MASKED_NUMBER_NAMES,
  SAD_NAMES,
} from '../../server/domain/card/sensitive-names.ts';

test('the two lists are the documented ones', () => {
  expect([...MASKED_NUMBER_NAMES].sort()).toEqual(['account_number', 'card_number', 'n', 'number', 'pan']);
  expect([...SAD_NAMES].sort()).toEqual(
    'card_cvv cid cvc cvc2 cvn cvv cvv2 pin pin_block security_code track1 track2'.split(' '),
  );
});

test('names compare without regard to case and otherwise exactly', () => {
  for (const name of ['cvv', 'CVV', 'Cvv', 'Security_Code', 'PIN_BLOCK']) {
    expect(isSadName(name)).toBe(true);
  }
  for (const name of ['', 'cvv ', 'cvv3', 'pincode', 'x.cvv', '__proto__']) {
    expect(isSadName(name)).toBe(false);
  }
  for (const name of ['pan', 'PAN', 'Card_Number', 'N']) {
    expect(isMaskedNumberName(name)).toBe(true);
  }
  for (const name of ['', 'pan2', 'card number', 'cardNumber']) {
    expect(isMaskedNumberName(name)).toBe(false);
  }
});
