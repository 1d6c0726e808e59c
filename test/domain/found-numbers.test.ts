import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { luhnCheckDigit, passesLuhn } from '../../server/domain/card/luhn.ts';
import { parseStoredObject, stringifyJson } from '../../server/domain/json/json.ts';
import { maskNumberLiteral, maskNumbersIn } from '../../server/domain/mask/found-numbers.ts';
import { maskForced } from '../../server/domain/mask/mask.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';
import { utf8 } from './json/arbitrary.ts';

function forced(text: string): string {
  return stringifyJson(maskForced(parseStoredObject(utf8(text))));
}

describe('maskNumbersIn', () => {
  test.each([
    ['4111111111111111', '************1111'],
    ['card 4111 1111 1111 1111, thanks', 'card **** **** **** 1111, thanks'],
    ['4111-1111-1111-1111', '***************1111'],
    ['4111  1111 \u2013 1111 1111', '4111  1111 \u2013 1111 1111'],
    ['4111 \u2013 1111 \u2013 1111 - 1111', '**** * **** * **** * 1111'],
    ['4111\u00a01111\u20111111\u20131111', '***************1111'],
    ['4111111111111111 12/30', '************1111 12/30'],
    ['4111111111111111=30121010000012300000', '************1111=30121010000012300000'],
    ['4111111111111111 5555555555554444', '************1111 ************4444'],
    ['{"pan":"378282246310005"}', '{"pan":"***********0005"}'],
    ['%B4111111111111111^LOVELACE/ADA^3012', '%B************1111^LOVELACE/ADA^3012'],
    ['6304000000000000000', '***************0000'],
    ['4111.1111.1111.1111', '***************1111'],
    ['4111/1111/1111/1111', '***************1111'],
    ['4111_1111_1111_1111', '***************1111'],
    ['4111 | 1111 | 1111 | 1111', '**** * **** * **** * 1111'],
    ['3782\u00b7822463\u00b710005', '*************0005'],
    ['4.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1', '***************************.1.1'],
    ["4'111'111'111'111'111", "*****************'111"],
    ['4111\u200b1111\u20601111\ufeff1111', '***************1111'],
    ['4111\u00ad1111\u00ad1111\u00ad1111', '***************1111'],
    ['4111\u202f1111\u20091111\u30001111', '***************1111'],
    [
      '\u0664\u0661\u0661\u0661 \u0661\u0661\u0661\u0661 \u0661\u0661\u0661\u0661 \u0661\u0661\u0661\u0661',
      '**** **** **** \u0661\u0661\u0661\u0661',
    ],
    ['\uff14111111111111111', '************1111'],
    ['\u{1d7d2}11111111111111\u{1d7cf}', '************111\u{1d7cf}'],
    ['\u2463111111111111111', '************1111'],
    ['2026/11/28 03:49:20.123456', '2026/11/28 03:49:20.123456'],
    ['1,234,567,890,123,456', '1,234,567,890,123,456'],
    ['10.1.2.3 192.168.178.100', '10.1.2.3 192.168.178.100'],
    ['{"n":4111111111111111,"m":-4111111111111111.0}', '{"n":"************1111","m":"-************1111.0"}'],
    ['{"l":[4111111111111111, 5555555555554444]}', '{"l":["************1111", "************4444"]}'],
    [
      '{"l":["a",4111111111111111],"n" : 4111111111111111 }',
      '{"l":["a","************1111"],"n" : "************1111" }',
    ],
    ['4111111111111112', '4111111111111112'],
    ['00000000000000000000', '00000000000000000000'],
    ['', ''],
  ])('%j becomes %j', (text, masked) => {
    expect(maskNumbersIn(text)).toBe(masked);
  });

  test('finds every number of 13 to 19 digits, and none that is shorter or longer', () => {
    for (let length = 11; length <= 22; length++) {
      const head = '4'.padEnd(length - 1, '7210');
      const number = head + luhnCheckDigit(head);
      const isFound = length >= 13 && length <= 19;
      const masked = '*'.repeat(length - 4) + number.slice(-4);
      expect(maskNumbersIn(`no. ${number}!`)).toBe(`no. ${isFound ? masked : number}!`);
    }
  });

  test('agrees with a search through all runs of whole groups', () => {
    const separator = fc.constantFrom(' ', '-', '  ', '');
    const text = fc
      .array(fc.tuple(fc.stringMatching(/^\d{1,8}$/), separator), { minLength: 2, maxLength: 9 })
      .map((groups) => groups.flat().join(''));
    fc.assert(
      fc.property(text, (digits) => {
        const groups = [...digits.matchAll(/\d+/g)];
        const hasNumber = groups.some((first, from) =>
          groups.slice(from).some((last) => {
            const run = digits.slice(first.index, last.index + last[0].length).replaceAll(/\D/g, '');
            return run.length >= 13 && run.length <= 19 && passesLuhn(run);
          }),
        );
        expect(maskNumbersIn(digits) !== digits).toBe(hasNumber);
      }),
      { numRuns: 2_000 },
    );
  });
});

test.each(['4111/', '4111.1111.1111.', '1\u200b', '4111 \u200b', '\u0664', '1./', '"a":1234567890123,'])(
  'a search in 256 KB of %j takes time linear in the length',
  (part) => {
    const text = part.repeat((256 * 1024) / part.length);
    const clock = startCpuClock();
    maskNumbersIn(text);
    // What grows with the square of this takes half a minute.
    expect(clock()).toBeLessThan(2_000);
  },
);

test.each([
  ['4111111111111111', '************1111'],
  ['-4111111111111111', '-************1111'],
  ['4111111111111111.0', '************1111.0'],
  ['4.111111111111111e15', '****************1e15'],
  ['6.304000000000000000e18', '*******************0e18'],
  ['6304000000000000001.7e0', '6304000000000000001.7e0'],
  ['4111111111111112', '4111111111111112'],
  ['4.1e2', '4.1e2'],
  ['0.4111111111111111', '0.************1111'],
])('the literal %s becomes %s', (literal, masked) => {
  expect(maskNumberLiteral(literal)).toBe(masked);
});

test.each([
  ['{"note":"paid with 4111 1111 1111 1111"}', '{"note":"paid with **** **** **** 1111"}'],
  ['{"id":4111111111111111,"ok":4111111111111112}', '{"id":"************1111","ok":4111111111111112}'],
  [
    '{"a":[["5555555555554444"],{"b":"x5555555555554444"}]}',
    '{"a":[["************4444"],{"b":"x************4444"}]}',
  ],
  ['{"4111111111111111":1,"z":2}', '{"************1111":1,"z":2}'],
  ['{"card_number":{"4111111111111111":"x"}}', '{"card_number":{"************1111":"*"}}'],
  [
    '{"4111111111111111":1,"z":2,"5105105105101111":3,"4012888888881111":4}',
    '{"************1111":1,"z":2,"5105105105101111":3,"4012888888881111":4}',
  ],
  [
    '{"cardNumber":"4111111111111112","CVV_CODE":"1234"}',
    '{"cardNumber":"************1112","CVV_CODE":"****"}',
  ],
])('without unmasked output %s is shown as %s', (text, masked) => {
  expect(forced(text)).toBe(masked);
});

test('two names that look alike when masked stay two members', () => {
  const [first, second] = ['4111111111111111', '6011111111111111'].map((head) => {
    const start = head.slice(0, 11);
    for (let at = 0; at < 10; at++) {
      const number = `${start}${at}1111`;
      if (passesLuhn(number)) {
        return number;
      }
    }
    return head;
  });
  expect(forced(JSON.stringify({ [`n${first}`]: 1, [`n${second}`]: 2, last: 3 }))).toBe(
    '{"n************1111":1,"n************1111*":2,"last":3}',
  );
});
