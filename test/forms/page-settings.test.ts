import { describe, expect, test } from 'bun:test';
import { readableOn } from '../../forms/base/color.ts';
import { readConfig } from '../../forms/base/config.ts';
import { readVisit } from '../../forms/page/visit.ts';

const EMPTY = readConfig('{}');

describe('the configuration', () => {
  test.each(['', 'null', '[]', '7', '{', '{"settings":[]}', '{"settings":{"theme":"x","field_options":3}}'])(
    '%j gives a form all the same',
    (json) => {
      expect(readConfig(json)).toEqual(EMPTY);
    },
  );

  test('defaults', () => {
    expect(EMPTY).toEqual({
      form_type: 'pcd',
      api: '',
      testing: false,
      settings: {
        display_mode: 'standalone',
        force_keypad: false,
        hide_card: false,
        highlight_fields: false,
        disable_luhn: false,
        strip_spaces: false,
        field_options: {},
        additional_fields: [],
        theme: { style: 'vault' },
        color_mode: 'light',
        locale: null,
        frame_ancestors: [],
        success_url: '',
      },
    });
  });

  test('takes what is given', () => {
    const settings = {
      display_mode: 'embedded',
      force_keypad: true,
      hide_card: true,
      highlight_fields: true,
      disable_luhn: true,
      strip_spaces: true,
      field_options: { cvv: { validate: false, visible: true } },
      additional_fields: [
        {
          name: 'note',
          label: 'Note',
          required: true,
          type: 'select',
          options: [{ value: 'a', label: 'A' }],
        },
      ],
      theme: { style: 'modern', primary_color: '#123456', logo_image: 'data:image/png;base64,AAAA' },
      color_mode: 'dark',
      locale: 'ar',
      frame_ancestors: ['https://shop.example'],
      success_url: 'https://shop.example/thanks',
    };
    const given = { form_type: 'ach', api: 'https://vault.example', testing: true, title: 'Pay', settings };
    expect(readConfig(JSON.stringify(given)) as unknown).toEqual(given);
  });

  test('null options mean true, and labels default to names', () => {
    const { settings } = readConfig(
      JSON.stringify({
        settings: {
          field_options: { cvv: null, expiry: { visible: null } },
          additional_fields: [{ name: 'a' }, 3],
        },
      }),
    );
    expect(settings.field_options).toEqual({
      cvv: { validate: true, visible: true },
      expiry: { validate: true, visible: true },
    });
    expect(settings.additional_fields).toEqual([
      { name: 'a', label: 'a', required: false, type: 'text', options: [] },
    ]);
  });

  test.each(['https://evil.example/x.png', 'data:text/html;base64,AAAA', 'javascript:alert(1)'])(
    'no logo from %s',
    (logo_image) => {
      expect(readConfig(JSON.stringify({ settings: { theme: { logo_image } } })).settings.theme).toEqual({
        style: 'vault',
      });
    },
  );
});

describe('the visit', () => {
  test('comes from query and fragment, and the fragment wins', () => {
    expect(
      readVisit(
        '?unique_id=a&secret=vcs1_q&testing=true&title=',
        '#secret=vcs1_f&reference=r%201&order=7&empty=',
        EMPTY,
      ),
    ).toEqual({
      unique_id: 'a',
      secret: 'vcs1_f',
      reference: 'r 1',
      extra: { order: '7' },
    });
  });

  test('may be in the page, and the address wins', () => {
    const config = readConfig('{"visit":{"unique_id":"a","secret":"vrs1_s","token":"t"}}');
    expect(readVisit('', '', config)).toEqual({ unique_id: 'a', secret: 'vrs1_s', token: 't', extra: {} });
    expect(readVisit('', '#token=u', config).token).toBe('u');
  });

  test('is that of a preview without storing so', () => {
    expect(readVisit('', '#preview=true', EMPTY)).toEqual({ preview: 'true', extra: {} });
  });

  test('takes no name that an object has by itself', () => {
    const { extra } = readVisit('', '#__proto__=1&constructor=2&prototype=3&ok=4', EMPTY);
    expect(Object.entries(extra)).toEqual([['ok', '4']]);
    expect(Object.getPrototypeOf(extra)).toBe(Object.prototype);
  });
});

test.each([
  ['rgb(255, 255, 255)', '#10131a'],
  ['rgb(255, 204, 0)', '#10131a'],
  ['rgb(58, 74, 217)', '#fff'],
  ['rgba(0, 0, 0, 0.5)', '#fff'],
])('on %s the text is %s', (background, text) => {
  expect(readableOn(background)).toBe(text);
});
