import { describe, expect, test } from 'bun:test';
import { binOf, checkNumber, findNumber } from '../../../server/domain/card/number.ts';
import { parseStoredObject } from '../../../server/domain/json/json.ts';
import { utf8 } from '../json/arbitrary.ts';

function find(body: string, query?: string): string | undefined {
  return findNumber(parseStoredObject(utf8(body)), query);
}

describe('findNumber', () => {
  test.each([
    ['{"number":"4","n":"3","account_number":"2","card_number":"1"}', '1'],
    ['{"number":"4","n":"3","account_number":"2"}', '2'],
    ['{"number":"4","n":"3"}', '3'],
    ['{"number":"4"}', '4'],
    ['{"card_number":" 4111 1111 "}', ' 4111 1111 '],
    ['{"card_number":4111111111111111}', '4111111111111111'],
    [
      '{"card_number":12345678901234567890123456789012345678901}',
      '12345678901234567890123456789012345678901',
    ],
    ['{"account_number":-5}', '-5'],
    ['{"card_number":"","n":"7"}', '7'],
    ['{"card_number":"٣","n":"7"}', '7'],
    ['{"card_number":1.5,"n":"7"}', '7'],
    ['{"card_number":null,"account_number":true,"n":["1"],"number":{"n":"1"}}', undefined],
    ['{"Card_Number":"1","pan":"2","card":{"number":"3"}}', undefined],
    ['{}', undefined],
  ])('%s gives %j', (body, expected) => {
    expect(find(body)).toBe(expected);
  });

  test('the body wins over the query, and the query needs a digit too', () => {
    expect(find('{"n":"1"}', '2')).toBe('1');
    expect(find('{"n":"x"}', '2 2')).toBe('2 2');
    expect(find('{}', 'abc')).toBeUndefined();
    expect(find('{}', '')).toBeUndefined();
    expect(find('{"__proto__":{"n":"1"}}')).toBeUndefined();
  });
});

describe('checkNumber', () => {
  test.each([
    ['4111 1111-1111 1111', { valid: true, brand: 'visa' }],
    ['4111111111111112', { valid: false, brand: 'visa' }],
    ['79927398713', { valid: true }],
    ['00', { valid: true }],
    ['0', { valid: false }],
    ['', { valid: false }],
    ['4111x1111', { valid: false }],
    ['４１１１', { valid: false }],
  ])('%j', (number, expected) => {
    expect(checkNumber(number)).toEqual(expected);
  });
});

describe('binOf', () => {
  test.each([
    ['4111 1111 1111 1111', '41111111'],
    ['4111111111111111111', '41111111'],
    ['378282246310005', '378282'],
    ['3782-8224-6310', '378282'],
    ['37828224631', undefined],
    ['41111111111111111111', undefined],
    ['DE89370400440532013000', undefined],
    ['', undefined],
  ])('%j: %j', (number, bin) => {
    expect(binOf(number)).toBe(bin);
  });
});
