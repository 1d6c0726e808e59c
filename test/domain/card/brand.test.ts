import { describe, expect, test } from 'bun:test';
import creditCardType from 'credit-card-type';
import fc from 'fast-check';
import { cardBrand } from '../../../server/domain/card/brand.ts';

describe('cardBrand', () => {
  test.each([
    ['visa', '4111111111111111 4222222222222 4571000000000001 4917610000000000'],
    ['mastercard', '5555555555554444 5105105105105100 2221000000000009 2720990000000007 2223003122003222'],
    ['american-express', '378282246310005 343434343434343'],
    [
      'discover',
      '6011111111111117 6445644564456445 6500000000000002 6499990000000000 6520999999999999 6599999999999999',
    ],
    ['diners-club', '30569309025904 38520000023237 36227206271667 3056930009020004'],
    ['jcb', '3530111333300000 3566002020360505 3569990010095841 3538000000000000 2131000000000008'],
    ['unionpay', '6200000000000005 6205500000000000004 6243030000000001 8171999927660000 8100000000000000'],
    [
      'maestro',
      '6771798021000008 6304000000000000 6759649826438453 5018000000000009 5020620000000000 6799990100000000019 4936980000000000',
    ],
    ['dankort', '5019717010103742 5019555544445555'],
    [
      'rupay',
      '6074820000000007 6082015309577308 6521525912345678 6522000000000000 6530990000000000 5085000000000000 8172900000000000 8200000000000000 6000000000000000 6531499999999999',
    ],
    [
      'elo',
      '5066991111111118 4011780000000000 6363680000000000 6500310000000000 5041750000000000 6550000000000000',
    ],
    ['mir', '2200000000000053 2204999999999999'],
    ['hiper', '6370950000000005 6375680000000000'],
    ['hipercard', '6062826786276634'],
    ['troy', '9792000000000001'],
    ['naranja', '5895620000000000'],
    ['verve', '5060990000000000 5078650000000000'],
  ])('%s', (brand, numbers) => {
    for (const number of numbers.split(' ')) {
      expect([number, cardBrand(number)]).toEqual([number, brand]);
    }
  });

  test.each(['', ' ', '-', '0000000000000000', '1234567890123456'])('%j has none', (number) => {
    expect(cardBrand(number)).toBeUndefined();
  });

  test.each(['4111x', 'DE89370400440532013000', '４１１１', '4111.1111.1111.1111'])(
    '%j is no card number',
    (number) => {
      expect(cardBrand(number)).toBeUndefined();
    },
  );

  test('spaces and dashes are ignored', () => {
    expect(cardBrand(' 3782-822463 10005 ')).toBe('american-express');
  });

  test.each([
    ['4', 'visa'],
    ['34', 'american-express'],
    ['55', 'mastercard'],
    ['6', undefined],
    ['60', 'rupay'],
    ['6011', 'discover'],
    ['62', undefined],
    ['5019', 'dankort'],
    ['401178', 'elo'],
  ])('while typing, %s is %p', (typed, brand) => {
    expect(cardBrand(typed)).toBe(brand);
  });

  test('agrees with the package wherever it names one brand and no correction applies', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9]{16}$/), (number) => {
        const named = creditCardType(number);
        const own = cardBrand(number);
        if (own === 'rupay' || own === 'dankort') {
          return;
        }
        expect(own).toBe(named[0]?.type);
      }),
      { numRuns: 5_000 },
    );
  });

  test('eight digits decide: more never change the brand', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9]{8}$/), fc.stringMatching(/^[0-9]{0,11}$/), (lead, rest) => {
        expect(cardBrand(lead + rest)).toBe(cardBrand(lead));
      }),
    );
  });
});
