import { describe, expect, test } from 'bun:test';
import { passesLuhn } from '../../server/domain/card/luhn.ts';
import { encodeJson } from '../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../server/domain/json/json.ts';
import { readTokenReply, simulateToken, tokenRequest } from '../../server/domain/proxy/network-token.ts';

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
function objectOf(value: unknown): JsonObject {
  return parseStoredObject(encode(value));
}

function asked(card: unknown): unknown {
  const request = tokenRequest(objectOf(card));
  return request && JSON.parse(Buffer.from(encodeJson(request)).toString());
}

describe('what a requester is asked', () => {
  const number = '4242424242424242';
  const whole = { number, expiry_month: '04', expiry_year: '2031', card_holder: 'Ada Lovelace', cvv: '012' };

  test.each([
    [
      {
        card_number: number,
        expiry_month: '04',
        expiry_year: '2031',
        card_holder: 'Ada Lovelace',
        cvv: '012',
      },
    ],
    [{ card_number: '4242 4242 4242 4242', exp_month: 4, exp_year: 31, holder: 'Ada Lovelace', cvc: '012' }],
    [{ number, expiry: '04/31', name: 'Ada Lovelace', security_code: '012' }],
    [{ n: number, expiration_date: '2031-04', cardholderName: 'Ada Lovelace', card_cvv: '012' }],
  ])('%j', (card) => {
    expect(asked(card)).toEqual(whole);
  });

  test('leaves out what the card has not, and what cannot be read as an expiry', () => {
    expect(asked({ card_number: number })).toEqual({ number });
    expect(asked({ card_number: number, expiry: 'soon', code: '999', deep: { cvv: '012' } })).toEqual({
      number,
    });
    expect(asked({ card_number: number, expiry_month: '13', expiry_year: '2031' })).toEqual({ number });
  });

  test('nothing without a number', () => {
    expect(asked({ card_holder: 'Ada Lovelace' })).toBeUndefined();
  });
});

describe('what a requester answers', () => {
  const good = { token: '4000001234567899', expiry_month: '04', expiry_year: '2031', status: 'active' };

  test('is read with or without cryptogram and ECI', () => {
    expect(readTokenReply(JSON.stringify(good))).toEqual(good);
    const more = { ...good, cryptogram: 'AgAAAAAABk4DWZ4C28yUQAAAAAA=', eci: '05' };
    expect(readTokenReply(JSON.stringify({ ...more, other: [1] }))).toEqual(more);
    expect(readTokenReply(JSON.stringify({ ...good, expiry_month: 4, expiry_year: 31 }))).toEqual(good);
  });

  test.each([
    ['', 'no text'],
    ['[]', 'a list'],
    [JSON.stringify({ ...good, token: undefined }), 'no token'],
    [JSON.stringify({ ...good, token: '{{x}}' }), 'a token that is no number'],
    [JSON.stringify({ ...good, expiry_month: '13' }), 'a month that is none'],
    [JSON.stringify({ ...good, expiry_year: '1999' }), 'a year that is none'],
    [JSON.stringify({ ...good, status: 'a\nb' }), 'a status with a control character'],
    [JSON.stringify({ ...good, status: 'a'.repeat(257) }), 'a status that is too long'],
    [JSON.stringify({ ...good, status: {} }), 'a status that is no text'],
  ])('%s is refused: %s', (reply) => {
    expect(readTokenReply(reply)).toBeUndefined();
  });

  test('a bad cryptogram is left out', () => {
    expect(readTokenReply(JSON.stringify({ ...good, cryptogram: 'a\u0000', eci: 'é' }))).toEqual(good);
  });
});

test('the simulated token is read like any other and passes Luhn', () => {
  const reply = readTokenReply(Buffer.from(simulateToken('123456789', Date.UTC(2026, 10, 21))).toString());
  expect(reply).toMatchObject({ expiry_month: '11', expiry_year: '2029', status: 'active' });
  expect(reply?.token).toStartWith('400000123456789');
  expect(passesLuhn(reply?.token ?? '')).toBe(true);
});
