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
] as const)('routing number %s: %p', (value, problem) => {
  expect(checkRouting(value)).toBe(problem);
});

test.each([
  ['000123456789', undefined],
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
