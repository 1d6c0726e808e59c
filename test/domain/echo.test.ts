import { describe, expect, test } from 'bun:test';
import { parseStoredObject } from '../../server/domain/json/json.ts';
import { type Echoes, maskEchoes, namesBefore } from '../../server/domain/mask/echo.ts';
import { SHORT, secretsOf } from '../../server/domain/mask/echo-secrets.ts';
import { maskForced } from '../../server/domain/mask/mask.ts';
import { startCpuClock } from '../helpers/cpu-clock.ts';

const ECHOES: Echoes = {
  numbers: ['5204740009900014'],
  digits: ['520474000990'],
  texts: ['ab/c+de=', 'card 5204 7400 0990 0014 of Ada', 'Ü <"x\\y">'],
  names: ['amount'],
};

describe('a reply', () => {
  test.each([
    ['{"n":"5204740009900014"}', '{"n":"************0014"}'],
    ['5204-7400-0990-0014', '***************0014'],
    ['5204%207400%200990%200014', '*********************0014'],
    ['5204&nbsp;7400\\n0990\\u00a00014', '**************************0014'],
    ['100%5204740009900014', '100%************0014'],
    ['9520474000990001499', '9************001499'],
    ['5204740009901111', '********1111'],
    ['ab%2Fc%2bde%3D ab\\/c+de= ab_c-de', '********%3D ********= ********'],
    ['x card+5204+7400+0990+0014+of+Ada', 'x ********'],
    ['x CARD 5204-7400-0990-0014 of Ada', 'x CARD ***************0014 of Ada'],
    ['"\\u00dc <\\"x\\\\y\\">" \u00dc <"x\\y">', '"\\u00dc <\\"x\\\\y\\">" ********'],
    ['{"cvv":"739","cvv2":739}', '{"cvv":"********","cvv2":********}'],
    ['card[cvv]=739&card%5Bcvv%5D=739', 'card[cvv]=********&card%5Bcvv%5D=********'],
    ['{\\"cvv\\": \\"739\\"}\\ncvv: 739', '{\\"cvv\\": \\"********\\"}\\ncvv: ********'],
    ['<cvv>739</cvv>&lt;cvv&gt;739&lt;', '<cvv>********</cvv>&lt;cvv&gt;********&lt;'],
    ['<cvv><![CDATA[739]]>', '<cvv><![CDATA[********]]>'],
    ['"cvv":"match" "cvv_check":"739"', '"cvv":"match" "cvv_check":"739"'],
    ['amount=1.5&amounts=7', 'amount=********&amounts=7'],
    ['2026-03-01 12:00:00 0014 4111111111111111', '2026-03-01 12:00:00 0014 4111111111111111'],
  ])('%s is shown as %s', (reply, shown) => {
    expect(maskEchoes(reply, ECHOES)).toBe(shown);
  });

  test.each([
    ['a'.repeat(250_000)],
    ['1234567890'.repeat(25_000)],
    ['card 5204 7400 0990 0014 of Ad'.repeat(7_500)],
    [`a${'=\\%20&a;'.repeat(25_000)}`],
    ['1&nbsp;%20\\n'.repeat(20_000)],
  ])('that begins with %.12s takes no time out of proportion', (reply) => {
    const cpuMs = startCpuClock();
    expect(maskEchoes(reply, ECHOES).length).toBeGreaterThan(0);
    expect(cpuMs()).toBeLessThan(2000);
  });
});

test.each([
  ['{"cvc":"', ['cvc']],
  ['card%5Bcvc%5D=', ['cvc', '5bcvc']],
  ['X-Code: ', ['x-code']],
  ['[1, ', []],
  ['', []],
])('before a value behind %s stands %j', (text, names) => {
  expect(namesBefore(text)).toEqual(names);
});

test('secrets of an item are what masking changes, and what rules make of that', () => {
  function tree() {
    return parseStoredObject(
      Buffer.from(
        '{"card_number":5.204740009900014e15,"cvv":"739","exp":"12/31","note":"no. 4111111111111111","track2":";4111111111111111=3112"}',
      ),
    );
  }
  const ruled = tree().set('made', '520474').set('holder', 'Ada');
  const ruledMasked = maskForced(tree()).set('made', '******').set('holder', 'Ada');
  const { secrets, marked } = secretsOf({
    ...{ stored: tree(), storedMasked: maskForced(tree()), ruled, ruledMasked },
  });
  expect(secrets.numbers).toContain('5204740009900014');
  expect(secrets.numbers).toContain('4111111111111111');
  expect(secrets.texts).toEqual(['no. 4111111111111111']);
  expect(secrets.digits).toEqual(['41111111111111113112']);
  expect([marked.get('cvv'), marked.get('made'), marked.get('holder'), marked.get('exp')]).toEqual([
    SHORT,
    SHORT,
    'Ada',
    '12/31',
  ]);
});
