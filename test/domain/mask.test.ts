import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseStoredObject, stringifyJson } from '../../server/domain/json/json.ts';
import { maskFields, maskForced } from '../../server/domain/mask/mask.ts';
import { maskText, maskWhole } from '../../server/domain/mask/mask-text.ts';
import { anyText, utf8 } from './json/arbitrary.ts';

function forced(text: string): string {
  return stringifyJson(maskForced(parseStoredObject(utf8(text))));
}
function fields(text: string, ...names: string[]): string {
  return stringifyJson(maskFields(parseStoredObject(utf8(text)), names));
}

/** The rule written down once more, slowly: walk the code points from the end. */
function oracle(text: string): string {
  let visible = 0;
  return [...text]
    .reverse()
    .map((character) => {
      if (character === ' ') {
        return ' ';
      }
      visible++;
      return visible > 4 ? '*' : character;
    })
    .reverse()
    .join('');
}

describe('maskText', () => {
  test.each([
    ['', ''],
    ['1234', '1234'],
    ['12345', '*2345'],
    ['1 2 3 4', '1 2 3 4'],
    ['4111 1111 1111 1111', '**** **** **** 1111'],
    ['4111111111111111 ', '************1111 '],
    ['  12345', '  *2345'],
    ['a\tb\ncdefg', '*****defg'],
    ['😀😁😂😃😄😅', '**😂😃😄😅'],
    ['\ud83412345', '**2345'],
    ['1234\ud834', '*234\ud834'],
    ['\udc00\udc001234', '**1234'],
  ])('%j becomes %j', (text, masked) => {
    expect(maskText(text)).toBe(masked);
  });

  test('agrees with the rule for any text, and masking twice changes nothing', () => {
    const text = fc.oneof(
      anyText,
      fc.stringMatching(/^[0-9 ]{0,40}$/),
      fc.string({ unit: 'binary', maxLength: 40 }),
    );
    fc.assert(
      fc.property(text, (value) => {
        const masked = maskText(value);
        expect(masked).toBe(oracle(value));
        expect(maskText(masked)).toBe(masked);
        expect(maskWhole(value)).toBe('*'.repeat([...value].length));
      }),
      { numRuns: 300 },
    );
  });
});

describe('maskForced', () => {
  test.each([
    ['{"card_number":"4111 1111 1111 1111"}', '{"card_number":"**** **** **** 1111"}'],
    ['{"PAN":"123456","Card_Number":"123456"}', '{"PAN":"**3456","Card_Number":"**3456"}'],
    [
      '{"number":4111111111111111,"n":true,"pan":null}',
      '{"number":"************1111","n":"true","pan":null}',
    ],
    ['{"account_number":false}', '{"account_number":"*alse"}'],
    [
      '{"cvv":"123","CVC":"1 3","pin":1234,"track1":null}',
      '{"cvv":"***","CVC":"***","pin":"****","track1":null}',
    ],
    ['{"cid":true,"cvn":""}', '{"cid":"****","cvn":""}'],
    ['{"a":[{"b":{"cvv":"12"}},[["x",{"n":"12345"}]]]}', '{"a":[{"b":{"cvv":"**"}},[["x",{"n":"*2345"}]]]}'],
    [
      '{"number":{"a":"12345","cvv":"1234","l":[12345,null]}}',
      '{"number":{"a":"*****","cvv":"****","l":["*****",null]}}',
    ],
    ['{"pin":{"number":"12345","x":["1",2]}}', '{"pin":{"number":"*****","x":["*","*"]}}'],
    ['{"__proto__":{"n":"12345"},"name":"12345"}', '{"__proto__":{"n":"*2345"},"name":"12345"}'],
  ])('%s becomes %s', (text, masked) => {
    expect(forced(text)).toBe(masked);
  });
});

describe('maskFields', () => {
  const card =
    '{"name":"Jane Doe","card":{"name":"12345","cvv":"123"},"l":[{"iban":"DE1234"},{"iban":"DE5678"}]}';

  test('no field: nothing is masked, not even numbers', () => {
    expect(fields('{"card_number":"12345","cvv":"123"}')).toBe('{"card_number":"12345","cvv":"123"}');
  });

  test('a name matches at any depth, exactly', () => {
    expect(fields(card, 'name', 'iban', 'Card')).toBe(
      '{"name":"***e Doe","card":{"name":"*2345","cvv":"123"},"l":[{"iban":"**1234"},{"iban":"**5678"}]}',
    );
  });

  test('a dotted path reaches one place', () => {
    expect(fields(card, 'card.name', 'l.1.iban')).toBe(
      '{"name":"Jane Doe","card":{"name":"*2345","cvv":"123"},"l":[{"iban":"DE1234"},{"iban":"**5678"}]}',
    );
    expect(fields('{"l":["12345","67890"]}', 'l.1')).toBe('{"l":["12345","*7890"]}');
    expect(fields('{"l":{"1":"12345"}}', 'l.1')).toBe('{"l":{"1":"*2345"}}');
  });

  test('a member whose own name has a dot is masked too', () => {
    expect(fields('{"x":{"card.name":"12345"}}', 'card.name')).toBe('{"x":{"card.name":"*2345"}}');
  });

  test('codes are masked whole: by name, by path, and below a masked member', () => {
    expect(fields('{"cvv":"123","CVV":"123"}', 'cvv')).toBe('{"cvv":"***","CVV":"123"}');
    expect(fields('{"CVV":"123"}', 'CVV')).toBe('{"CVV":"***"}');
    expect(fields(card, 'card.cvv')).toContain('"cvv":"***"');
    expect(fields(card, 'card')).toContain('"card":{"name":"*2345","cvv":"***"}');
    expect(fields('{"pin":{"a":"12345"}}', 'pin.a')).toBe('{"pin":{"a":"*****"}}');
    expect(fields('{"cvv":["12345"]}', 'cvv.0')).toBe('{"cvv":["*****"]}');
  });

  test.each(['', 'card.name.x', 'l.01.iban', 'l.9', 'l.length', '__proto__'])(
    'the unknown field %j is ignored',
    (field) => {
      expect(fields(card, field)).toBe(card);
    },
  );
});
