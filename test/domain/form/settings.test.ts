import { describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import { VaultError } from '../../../server/core/errors.ts';
import { FormSettings } from '../../../server/form/schema.ts';
import {
  checkFormSettings,
  decodeFormText,
  isFormAncestor,
  logoUrl,
  parseFormLink,
} from '../../../server/form/settings.ts';
import { HOSTILE } from './hostile.ts';

function base64(text: string | Uint8Array): string {
  return Buffer.from(text).toString('base64');
}
function check(settings: FormSettings, type: 'pcd' | 'ach' | 'custom' = 'pcd', env = 'staging' as const) {
  return checkFormSettings(type, settings, env);
}
/** The place that is refused. */
function placeOf(settings: FormSettings, type?: 'pcd' | 'ach' | 'custom'): string | undefined {
  try {
    check(settings, type);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(VaultError);
    expect(error).toMatchObject({ code: 'invalid_request' });
    return (error as VaultError).field;
  }
}

describe('a link', () => {
  const hash = `sha512-${'A'.repeat(86)}==`;
  test.each([
    ['https://cdn.example/a.css', 'https://cdn.example/a.css', 'https://cdn.example', undefined],
    [
      `https://CDN.example:8443/a b?c="#${hash}`,
      'https://cdn.example:8443/a%20b?c=%22',
      'https://cdn.example:8443',
      hash,
    ],
    ['https://cdn.example:443', 'https://cdn.example/', 'https://cdn.example', undefined],
    [
      'https://bücher.example/ä',
      'https://xn--bcher-kva.example/%C3%A4',
      'https://xn--bcher-kva.example',
      undefined,
    ],
    ['https://192.0.2.1/', 'https://192.0.2.1/', 'https://192.0.2.1', undefined],
  ])('%s', (text, href, origin, integrity) => {
    expect(parseFormLink(text)).toEqual({ href, origin, integrity });
  });

  test.each([
    '',
    'a.css',
    'http://cdn.example/a.css',
    ' https://cdn.example/a.css',
    'data:text/css,p{}',
    'javascript:canary()',
    'https://',
    'https://:p@cdn.example/',
    "https://evil;script-src'unsafe-inline'/",
    'https://a,b.example/',
    "https://a'b.example/",
    'https://[::1]/',
    'https://cdn.example/a.css#',
    'https://cdn.example/a.css#md5-AAAAAAAAAAAAAAAAAAAAAA==',
    `https://cdn.example/a.css#sha384-${'A'.repeat(63)}`,
    `https://cdn.example/a.css#sha256-${'A'.repeat(43)}= sha256-${'B'.repeat(43)}=`,
  ])('not %j', (text) => {
    expect(parseFormLink(text)).toBeUndefined();
  });

  test('no hostile text is one', () => expect(HOSTILE.filter((text) => parseFormLink(text))).toEqual([]));

  test.each([
    ['sha256', Buffer.alloc(32, 1).toString('base64')],
    ['sha384', Buffer.alloc(48, 1).toString('base64')],
    ['sha512', Buffer.alloc(64, 1).toString('base64')],
  ])('has a hash of %s that is as long as it must be', (name, hash) => {
    const file = 'https://cdn.example/form.css';
    expect(parseFormLink(`${file}#${name}-${hash}`)).toEqual({
      href: file,
      origin: 'https://cdn.example',
      integrity: `${name}-${hash}`,
    });
    const digits = hash.replaceAll('=', '');
    const padding = hash.slice(digits.length);
    for (const wrong of [
      `${digits.slice(1)}${padding}`,
      `A${digits}${padding}`,
      `${digits}${padding}=`,
      `${digits.slice(1)}-${padding}`,
      '',
    ]) {
      expect(parseFormLink(`${file}#${name}-${wrong}`)).toBeUndefined();
    }
    for (const other of ['sha256', 'sha384', 'sha512', 'sha1', 'SHA256'].filter((each) => each !== name)) {
      expect(parseFormLink(`${file}#${other}-${hash}`)).toBeUndefined();
    }
  });

  test('that is none is refused with its place', () => {
    const good = 'https://cdn.example/a';
    expect(placeOf({ css_links: [good, good, 'http://cdn.example'] })).toBe('body.css_links[2]');
    expect(placeOf({ js_links: ['x', good] })).toBe('body.js_links[0]');
  });
});

describe('an origin that may embed', () => {
  test.each([
    ['https://shop.example', true, true],
    ['https://shop.example:8443', true, true],
    ['http://localhost:3000', true, false],
    ['http://127.0.0.1:3000', true, false],
    ['http://shop.example', false, false],
    ['https://shop.example/', false, false],
    ['https://shop.example:443', false, false],
    ['https://Shop.example', false, false],
    ['https://*.example', false, false],
    ['https://a.example https://b.example', false, false],
    ['https://a.example; sandbox', false, false],
    ['http://localhost.evil.example', false, false],
    ['*', false, false],
    ['', false, false],
  ])('%j: %p in staging, %p in production', (text, staging, production) => {
    expect(isFormAncestor(text, 'staging')).toBe(staging);
    expect(isFormAncestor(text, 'production')).toBe(production);
  });

  test('and no hostile text may', () => {
    expect(HOSTILE.filter((text) => isFormAncestor(text, 'staging'))).toEqual([]);
    expect(placeOf({ frame_ancestors: ['https://a.example', 'x'] })).toBe('body.frame_ancestors[1]');
  });
});

describe('code', () => {
  test('is base64 of UTF-8, line breaks allowed, decoded once', () => {
    expect(decodeFormText(base64('ä&<'))).toBe('ä&<');
    expect(decodeFormText('YW\r\nJj ')).toBe('abc');
    expect(decodeFormText(base64(base64('x')))).toBe(base64('x'));
    expect(decodeFormText('')).toBe('');
  });

  test.each([
    'YWJj*',
    'YWJ',
    'YW-_',
    '\u00e4',
    base64(new Uint8Array([0xff])),
    base64(new Uint8Array([0xed, 0xa0, 0x80])),
  ])('not %j', (text) => {
    expect(decodeFormText(text)).toBeUndefined();
  });

  test('of 64 KB and no more', () => {
    const fitting = base64('a'.repeat(65_536));
    const over = base64('a'.repeat(65_537));
    for (const name of ['embedded_css', 'embedded_js', 'success_callback', 'error_callback'] as const) {
      expect(placeOf({ [name]: fitting })).toBeUndefined();
      expect(placeOf({ [name]: over })).toBe(`body.${name}`);
      expect(placeOf({ [name]: 'no base64' })).toBe(`body.${name}`);
    }
  });
});

describe('a logo', () => {
  const bytes = (...codes: number[]): Uint8Array => new Uint8Array(codes);
  test.each([
    ['png', bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0)],
    ['jpeg', bytes(0xff, 0xd8, 0xff, 0xe0)],
    ['gif', Buffer.from('GIF87a..')],
    ['gif', Buffer.from('GIF89a..')],
    ['webp', Buffer.from('RIFF\0\0\0\0WEBPVP8 ')],
    ['svg+xml', Buffer.from('<svg/>')],
    [
      'svg+xml',
      Buffer.from(
        '\ufeff<?xml version="1.0"?>\n<!-- a - b --><!DOCTYPE svg PUBLIC "a" "b">\n<svg xmlns="x">',
      ),
    ],
  ])('of type %s', (type, image) => {
    expect(logoUrl(base64(image))).toBe(`data:image/${type};base64,${base64(image)}`);
  });

  test.each([
    ['nothing', bytes()],
    ['a page', Buffer.from('<!doctype html><svg>')],
    ['a script', Buffer.from('alert(1)')],
    ['a page in an SVG', Buffer.from('<html><svg></svg></html>')],
    ['half a PNG', bytes(0x89, 0x50)],
    ['another RIFF', Buffer.from('RIFF....WAVEfmt ')],
    ['an element that only begins so', Buffer.from('<svgx>')],
  ])('not %s', (_, image) => {
    expect(placeOf({ theme: { logo_image: base64(image) } })).toBe('body.theme.logo_image');
  });

  test('of 256 KB and no more', () => {
    const image = (length: number): string =>
      base64(Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(length - 6)]));
    expect(placeOf({ theme: { logo_image: image(262_144) } })).toBeUndefined();
    expect(placeOf({ theme: { logo_image: image(262_145) } })).toBe('body.theme.logo_image');
  });
});

describe('a colour', () => {
  const isColour = (colour: string): boolean =>
    Value.Check(FormSettings, { theme: { primary_color: colour } }) &&
    placeOf({ theme: { primary_color: colour } }) === undefined;
  test.each([
    '#abc',
    '#a1b2c3d4',
    'rgb(1,2,3)',
    'rgba(1, 2, 3, 0.5)',
    'rgb(1 2 3 / 50%)',
    'hsl(120deg 50% 50% / 0.5)',
    'hsla(-30,1%,2%,.5)',
    'rgb(10%, 20%, 30%, 50%)',
    'rgb(1 20% 3)',
    'rebeccapurple',
    'ReD',
    'transparent',
    'CanvasText',
    'currentColor',
  ])('%s', (colour) => expect(isColour(colour)).toBe(true));

  test.each([
    '',
    '#12345',
    '123456',
    'rgb(1,2,3',
    'rgb(var(--x),2,3)',
    'url(https://evil.example)',
    'red;background:url(x)',
    'var(--x)',
    '#fff</style>',
    '#fff\n',
    'blurple',
    'darkrebeccapurple',
    'inherit',
    'currentcolour',
    'constructor',
    'rgb(1.2.3, 4, 5)',
    'rgb(., ., .)',
    'rgb(1 2, 3)',
    'rgb(10%, 2, 3)',
    'rgb(1deg 2 3)',
    'hsl(1, 2, 3)',
    'hsl(1% 2% 3%)',
  ])('not %j', (colour) => expect(isColour(colour)).toBe(false));

  test.each(['primary_color', 'card_primary_color', 'card_shadow_color', 'success_color', 'error_color'])(
    'that is none is named as theme.%s',
    (name) => expect(placeOf({ theme: { [name]: 'blurple' } })).toBe(`body.theme.${name}`),
  );

  test('no hostile text is one', () => expect(HOSTILE.filter(isColour)).toEqual([]));
});

describe('the names of fields', () => {
  test('are new ones', () => {
    const named = (...names: string[]): FormSettings => ({
      additional_fields: names.map((name) => ({ name })),
    });
    expect(placeOf(named('a', 'b', 'a'))).toBe('body.additional_fields[2].name');
    for (const name of [
      'card_number',
      'cvv',
      'expiry',
      'card_holder',
      'expiry_month',
      'last_four',
      'card_type',
    ]) {
      expect(placeOf(named(name))).toBe('body.additional_fields[0].name');
      expect(placeOf(named(name), 'custom')).toBeUndefined();
    }
    expect(placeOf(named('ok', 'routing_number'), 'ach')).toBe('body.additional_fields[1].name');
    expect(placeOf(named('routing_number'))).toBeUndefined();
  });

  test('are of few characters, and never those of a prototype', () => {
    const fits = (name: string): boolean =>
      Value.Check(FormSettings, { additional_fields: [{ name }] }) ||
      Value.Check(FormSettings, JSON.parse(`{"field_options":{${JSON.stringify(name)}:{}}}`));
    expect(['a', 'A.b-c_9', 'x'.repeat(64)].filter(fits)).toHaveLength(3);
    const wrong = [
      '',
      'x'.repeat(65),
      'a b',
      'ä',
      '__proto__',
      'constructor',
      'prototype',
      'a\n',
      ...HOSTILE,
    ];
    expect(wrong.filter(fits)).toEqual([]);
  });
});

describe('what is kept', () => {
  test('is what was given, in one order, without nulls and what no form knows', () => {
    const given = {
      theme: { error_color: 'red', style: 'modern', primary_color: null, other: 1 },
      hide_card: null,
      unknown: 'x',
      field_options: { cvv: { visible: false, validate: null, more: 1 }, expiry: null },
      additional_fields: [{ required: true, label: 'L', name: 'n', other: 2 }],
      css_links: [],
      strip_spaces: false,
      force_keypad: true,
    };
    expect(JSON.stringify(check(given as FormSettings))).toBe(
      JSON.stringify({
        css_links: [],
        force_keypad: true,
        strip_spaces: false,
        additional_fields: [{ name: 'n', label: 'L', required: true }],
        field_options: { cvv: { visible: false }, expiry: {} },
        theme: { style: 'modern', error_color: 'red' },
      }),
    );
    expect(check({})).toEqual({});
  });

  test('is not taken from a prototype', () => {
    const given = Object.create({ hide_card: true, theme: { style: 'modern' } });
    expect(check(given)).not.toHaveProperty('hide_card');
  });
});
