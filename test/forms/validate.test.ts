import { describe, expect, test } from 'bun:test';
import {
  checkAccount,
  checkCardNumber,
  checkCode,
  checkExpiry,
  checkName,
  checkRouting,
} from '../../forms/fields/validate.ts';

const NOW = new Date(2026, 6, 15);

describe('card number', () => {
  test.each([
    ['4111 1111 1111 1111', undefined],
    ['5555 5555 5555 4444', undefined],
    ['3782 822463 10005', undefined],
    ['4111 1111', 'number_short'],
    ['4111 1111 1111 1112', 'number_bad'],
    ['3782 822463 1000', 'number_short'],
  ] as const)('%s: %p', (value, problem) => {
    expect(checkCardNumber(value)).toBe(problem);
  });
});

describe('date', () => {
  test.each([
    ['07/26', undefined],
    ['06/26', 'expiry_past'],
    ['13/30', 'expiry_bad'],
    ['08/9', 'expiry_bad'],
    ['01/99', 'expiry_far'],
  ] as const)('%s: %p', (value, problem) => {
    expect(checkExpiry(value, NOW)).toBe(problem);
  });
});

describe('code', () => {
  test.each([
    ['123', '4111 1111 1111 1111', undefined],
    ['1234', '4111 1111 1111 1111', 'cvv_bad'],
    ['1234', '3782 822463 10005', undefined],
    ['123', '3782 822463 10005', 'cvv_bad'],
    ['123', '', undefined],
    ['1234', '', undefined],
    ['12', '', 'cvv_bad'],
    ['12345', '', 'cvv_bad'],
    ['12a', '', 'cvv_bad'],
  ] as const)('%s with %s: %p', (value, number, problem) => {
    expect(checkCode(value, number)).toBe(problem);
  });
});

test.each([
  ['021000021', undefined],
  ['011401533', undefined],
  ['021000022', 'routing_bad'],
  ['02100002', 'routing_bad'],
  ['000000000', 'routing_bad'],
  ['02100002a', 'routing_bad'],
  ['1100000001', 'routing_bad'],
  ['0210-0002 1', undefined],
] as const)('routing number %s: %p', (value, problem) => {
  expect(checkRouting(value)).toBe(problem);
});

/** The routing number of a prefix whose check digit fits. */
function routingOf(prefix: number): string {
  const digits = `${String(prefix).padStart(2, '0')}123456`;
  const sum = [...digits].reduce((all, digit, at) => all + Number(digit) * ([3, 7, 1][at % 3] ?? 0), 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

test('routing numbers of prefixes in use are accepted, and of no others', () => {
  const used = Array.from({ length: 100 }, (_, prefix) => prefix).filter(
    (prefix) => checkRouting(routingOf(prefix)) === undefined,
  );
  const from = (first: number, last: number): number[] =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at);
  expect(used).toEqual([...from(0, 12), ...from(21, 32), ...from(61, 72), 80]);
});

test.each([
  ['000123456789', undefined],
  ['0001-2345 6789', undefined],
  ['12345678X', 'account_bad'],
  ['DE89370400440532013000', 'account_bad'],
  ['12345678.0', 'account_bad'],
  ['1234', undefined],
  ['123', 'account_bad'],
  ['123456789012345678', 'account_bad'],
] as const)('account number %s: %p', (value, problem) => {
  expect(checkAccount(value)).toBe(problem);
});

test.each([
  ['Ada Lovelace', undefined],
  ['أحمد', undefined],
  ['John Smith 3rd', undefined],
  ['4111 1111 1111 1111', 'name_bad'],
] as const)('name %s: %p', (value, problem) => {
  expect(checkName(value)).toBe(problem);
});
