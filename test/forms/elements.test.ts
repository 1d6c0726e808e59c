/** What stands behind single fields: their style and their group. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { KINDS } from '../../forms/elements/fields.ts';
import { type Around, attemptsOf, collect, type Member, membersBeside } from '../../forms/elements/group.ts';
import { cssOf, parseTheme, wrongIn } from '../../forms/elements/theme.ts';

/** As much as a browser says of these colours. */
const BROWSER = {
  supports: (_: string, text: string) => /^(?:#|rgb|(?:white|gray|red|inherit)$)/.test(text),
};

describe('a theme', () => {
  beforeAll(() => void Object.assign(globalThis, { CSS: BROWSER }));
  afterAll(() => void Reflect.deleteProperty(globalThis, 'CSS'));

  test.each([
    { color: '#123' },
    { color: 'rgb(1, 2, 3)', backgroundColor: 'white', caretColor: '#000000' },
    { fontFamily: 'Inter, Segoe UI, sans-serif', fontSize: '16px', fontWeight: '600' },
    {
      letterSpacing: '0.5px',
      lineHeight: '24px',
      padding: '0px',
      textAlign: 'end',
      placeholderColor: 'gray',
    },
  ])('%p is allowed', (theme) => {
    expect(wrongIn(theme)).toBeUndefined();
    expect(cssOf(theme).split('\n')).toHaveLength(Object.keys(theme).length);
  });

  test.each([
    ['color', 'transparent'],
    ['color', 'hsl(0 0% 0% / 0)'],
    ['color', 'url(https://evil.example/)'],
    ['color', 'red } body { display: none'],
    ['color', 'blurple'],
    ['errorColor', 'inherit'],
    ['backgroundColor', 'var(--x)'],
    ['fontSize', '1px'],
    ['fontSize', '100px'],
    ['fontFamily', 'x; } @import url(//evil.example/a.css)'],
    ['letterSpacing', '-20px'],
    ['padding', '100px'],
    ['__proto__', 'red'],
    ['color', 1],
  ])('%s: %p is refused, and makes no rule', (name, value) => {
    const theme = JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);
    expect(wrongIn(theme)).toBe(name);
    expect(cssOf(theme)).toBe('');
  });
});

describe('a theme in an attribute', () => {
  test('is a JSON object', () => {
    expect(parseTheme('{"color":"#222"}')).toEqual({ color: '#222' });
  });
  test.each(['color: red', '{color:"red"}', '"red"', '[]', 'null', '7', '{'])('not %s', (text) => {
    expect(() => parseTheme(text)).toThrow('The attribute "theme" must be a JSON object');
  });
});

test.each(['GB29 NWBK 6016 1331 9268 19', 'no9386011117947'])('the IBAN %s is posted plain', (iban) => {
  expect(KINDS.iban.problem(iban, '')).toBeUndefined();
  expect(KINDS.iban.posted(iban)).toEqual({ account_number: iban.replaceAll(' ', '').toUpperCase() });
});

function member(field: string, more: Partial<Member> = {}): Member {
  return {
    ...{ group: 'g', unique_id: 'shop', secret: 's', field },
    read: () => '',
    posted: () => ({ [field]: 'value' }),
    check: () => true,
    clear: () => undefined,
    isAdmitted: false,
    isSending: false,
    attempt: undefined,
    ...more,
  };
}

function around(...windows: unknown[]): Around {
  return windows as unknown as Around;
}

/** A window of another origin: whoever looks into it gets an error. */
const FOREIGN = new Proxy(
  {},
  {
    get: () => {
      throw new Error('SecurityError');
    },
  },
);

describe('a group', () => {
  test('has the fields of the same group, endpoint and secret, and no foreign window', () => {
    const own = member('card-number');
    const beside = member('card-cvc');
    const others = [
      member('iban', { group: 'other' }),
      member('iban', { unique_id: 'other' }),
      member('iban', { secret: 'other' }),
    ].map((vaultElement) => ({ vaultElement }));
    const windows = [FOREIGN, { vaultElement: own }, {}, { vaultElement: beside }, ...others];
    expect(membersBeside(own, around(...windows))).toEqual([own, beside]);
  });

  test('looks into 64 windows at most', () => {
    const own = member('card-number');
    const windows = Array.from({ length: 100_000 }, () => ({ vaultElement: own }));
    expect(membersBeside(own, around(...windows))).toHaveLength(64);
  });

  test('posts what all fields hold, unless one is wrong, there twice, or sending', () => {
    const fields = [member('card-number'), member('card-cvc')];
    const names = ['card-cvc', 'card-number'];
    expect(collect(fields, names)).toEqual({ posted: { 'card-number': 'value', 'card-cvc': 'value' } });
    let checked = 0;
    const check = () => {
      checked += 1;
      return false;
    };
    const wrong = [member('card-holder', { check }), member('iban', { check })];
    expect(collect([...wrong, ...fields], [...names, 'card-holder', 'iban'])).toEqual({
      code: 'form_invalid',
    });
    expect(checked).toBe(2);
    expect(collect([...fields, member('card-cvc')], [...names, 'card-cvc'])).toEqual({
      code: 'elements_duplicate',
    });
    expect(collect([...fields, member('iban', { isSending: true })], [...names, 'iban'])).toEqual({
      code: 'elements_sending',
    });
  });

  test.each([
    ['card-number'],
    ['card-number card-cvc card-expiry'],
    ['card-number card-cvc card-cvc'],
    [''],
    ['card-number,card-cvc'],
    ['toString'],
  ])('posts nothing when the page expects %p', (expected) => {
    let checked = 0;
    const check = (): boolean => {
      checked += 1;
      return true;
    };
    const fields = [member('card-number', { check }), member('card-cvc', { check })];
    expect(collect(fields, expected.split(' '))).toEqual({ code: 'elements_incomplete' });
    expect(checked).toBe(0);
  });

  test('has one key for one body, whichever field sends, as long as one remembers it', () => {
    const [number, code] = [member('card-number'), member('card-cvc')];
    const key = attemptsOf([number, code]).keyFor('a body');
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    // The frame of one was reloaded, and it sends.
    expect(attemptsOf([member('card-number'), code]).keyFor('a body')).toBe(key);
    expect(attemptsOf([code]).keyFor('another body')).not.toBe(key);
    for (const each of [number, code]) {
      each.attempt = undefined;
    }
    expect(attemptsOf([number, code]).keyFor('a body')).not.toBe(key);
  });
});
