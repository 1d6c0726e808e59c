import { describe, expect, test } from 'bun:test';
import { escapeHtml, type FormPage, renderFormPage } from '../../../server/form/html.ts';
import type { ShownFormSettings } from '../../../server/form/schema.ts';
import { startCpuClock } from '../../helpers/cpu-clock.ts';
import { HOSTILE, type PageElement, parsePage } from './hostile.ts';

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function render(settings: unknown = {}, parts: Partial<FormPage> = {}): string {
  return renderFormPage({
    form_type: 'pcd',
    // What no schema would let through must not get out of its place either.
    settings: settings as ShownFormSettings,
    script: { src: 'https://vault.test/forms/1/vault-form-page.js', integrity: 'sha384-abc' },
    files: "script-src 'unsafe-inline'",
    api: 'https://vault.test',
    testing: false,
    ...parts,
  });
}

function outlineOf(html: string): readonly string[] {
  return parsePage(html).elements.map(({ tag, attributes }) => [tag, ...Object.keys(attributes)].join(' '));
}

const HEAD = [
  'head',
  'meta charset',
  'meta http-equiv content',
  'meta name content',
  'link rel href',
  'title',
];
const SHEET = 'link rel href';
const OWN_STYLE = 'style';
const OURS = ['script type id', 'script src integrity crossorigin'];
const CODE = 'script';
/** The last script reports that ours did not load. */
const BODY = ['body', 'main id', 'noscript', CODE];
const HTML = 'html lang dir data-style data-mode';
const PLAIN = [HTML, ...HEAD, ...OURS, ...BODY];

/** The configuration as the page will read it. */
function configOf(html: string): Record<string, unknown> {
  const { texts } = parsePage(html);
  return JSON.parse(texts.find((text) => text.startsWith('{"form_type"')) ?? '');
}

describe('the page', () => {
  test('has the elements of an owner in their places', () => {
    const html = render({
      css_links: ['https://cdn.example/a.css', `https://cdn.example/b.css#sha256-${'A'.repeat(43)}=`],
      js_links: [`https://cdn.example/a.js#sha384-${'A'.repeat(64)}`],
      embedded_css: base64('p{}'),
      embedded_js: base64('go()'),
      success_callback: base64('function (r) { done(r) }; // done'),
      error_callback: base64('(e) => e;\n'),
    });
    expect(outlineOf(html)).toEqual([
      HTML,
      ...HEAD,
      ...OURS,
      SHEET,
      'link rel href integrity crossorigin',
      OWN_STYLE,
      ...BODY,
      CODE,
      CODE,
      'script src integrity crossorigin',
      CODE,
    ]);
    const { elements, texts } = parsePage(html);
    expect(elements.find(({ attributes }) => attributes['src']?.endsWith('a.js'))?.attributes).toMatchObject({
      src: 'https://cdn.example/a.js',
      integrity: `sha384-${'A'.repeat(64)}`,
      crossorigin: 'anonymous',
    });
    expect(texts).toContain('go()');
    expect(texts).toContain('p{}');
  });

  test('has callbacks that work, whatever ends them', () => {
    const codes = [
      'function named(r) { return r.token };',
      '(r) => r.token // done',
      'async (r) => r.token ;;\n\n',
    ];
    for (const code of codes) {
      const { texts } = parsePage(render({ success_callback: base64(code) }));
      const script = texts.find((text) => text.includes('vaultCallbacks')) ?? '';
      expect(() => new Bun.Transpiler({ loader: 'js' }).transformSync(script)).not.toThrow();
      expect(script).toStartWith('(window.vaultCallbacks??={}).success=(');
    }
  });

  test.each([
    ['ar', 'ar', 'rtl'],
    ['de', 'de', 'ltr'],
    [undefined, 'en', 'ltr'],
  ])('in the language %p', (locale, lang, dir) => {
    const [html] = parsePage(render(locale === undefined ? {} : { locale })).elements;
    expect(html?.attributes).toEqual({ lang, dir, 'data-style': 'vault', 'data-mode': 'light' });
  });

  test('is told every setting, with what was left out filled in', () => {
    expect(configOf(render())).toEqual({
      form_type: 'pcd',
      api: 'https://vault.test',
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
    const theme = { style: 'modern', primary_color: '#fff' } as const;
    const settings = {
      display_mode: 'embedded',
      force_keypad: true,
      field_options: { cvv: { visible: false } },
      additional_fields: [{ name: 'note' }, { name: 'b', label: 'B', required: true }],
      theme: { ...theme, logo_image: base64('GIF89a.') },
      color_mode: 'dark',
      locale: 'fr',
      frame_ancestors: ['https://shop.example'],
      success_url: 'https://shop.example/done',
      css_links: ['https://cdn.example/a.css'],
      embedded_js: base64('x'),
      require_corp: true,
    };
    const visit = { unique_id: 'u', secret: 's', token: 't' };
    const config = configOf(render(settings, { form_type: 'ach', testing: true, title: 'T', visit }));
    expect(config).toMatchObject({ form_type: 'ach', testing: true, title: 'T', visit });
    expect(config['settings']).toEqual({
      display_mode: 'embedded',
      force_keypad: true,
      hide_card: false,
      highlight_fields: false,
      disable_luhn: false,
      strip_spaces: false,
      field_options: { cvv: { visible: false } },
      additional_fields: [
        { name: 'note', label: 'note', required: false, type: 'text', options: [] },
        { name: 'b', label: 'B', required: true, type: 'text', options: [] },
      ],
      theme: { ...theme, logo_image: `data:image/gif;base64,${base64('GIF89a.')}` },
      color_mode: 'dark',
      locale: 'fr',
      frame_ancestors: ['https://shop.example'],
      success_url: 'https://shop.example/done',
    });
  });
});

describe('no text gets out of its place', () => {
  const svg = (text: string): string => base64(`<svg xmlns="http://www.w3.org/2000/svg">${text}</svg>`);
  const places: readonly (readonly [string, (text: string) => [unknown, Partial<FormPage>?], string[]?])[] = [
    ['title', (title) => [{}, { title }]],
    ['api', (api) => [{}, { api }]],
    ['unique_id', (unique_id) => [{}, { visit: { unique_id, secret: 's' } }]],
    ['label', (label) => [{ additional_fields: [{ name: 'n', label }] }]],
    ['field_options', (name) => [{ field_options: { [name]: { visible: false } } }]],
    ['primary_color', (primary_color) => [{ theme: { primary_color } }]],
    ['style', (style) => [{ theme: { style } }]],
    ['logo_image', (text) => [{ theme: { logo_image: svg(text) } }]],
    ['logo_image that is no image', (text) => [{ theme: { logo_image: base64(text) } }]],
    ['logo_image that is no base64', (logo_image) => [{ theme: { logo_image } }]],
    ['color_mode', (color_mode) => [{ color_mode }]],
    ['locale', (locale) => [{ locale }]],
    ['frame_ancestors', (origin) => [{ frame_ancestors: [origin] }]],
    ['css_links that are no links', (link) => [{ css_links: [link] }]],
    ['embedded_css that is no base64', (embedded_css) => [{ embedded_css }]],
    ['path of css_links', (text) => [{ css_links: [`https://cdn.example/${text.replaceAll('#', '')}`] }]],
    ['query of css_links', (text) => [{ css_links: [`https://cdn.example/?${text.replaceAll('#', '')}`] }]],
  ];
  test.each(places)('%s', (place, write) => {
    for (const text of HOSTILE) {
      const outline = outlineOf(render(...write(text)));
      const expected = place.includes('css_links') && outline.length > PLAIN.length ? [...PLAIN] : PLAIN;
      if (expected !== PLAIN) {
        expected.splice(9, 0, SHEET);
      }
      expect(outline).toEqual(expected);
    }
  });

  test('and what is shown is what was written', () => {
    for (const text of HOSTILE) {
      const settings = { additional_fields: [{ name: 'n', label: text }] };
      const html = render(settings, { title: text });
      expect(configOf(html)).toMatchObject({
        title: text,
        settings: { additional_fields: [{ label: text }] },
      });
      expect(html).toContain(`<title>${escapeHtml(text)}</title>`);
    }
  });

  const codes: readonly (readonly [string, number, string])[] = [
    ['embedded_css', 9, OWN_STYLE],
    ['embedded_js', PLAIN.length, CODE],
    ['success_callback', PLAIN.length, CODE],
    ['error_callback', PLAIN.length, CODE],
  ];
  test.each(codes)('nor code out of %s', (name, at, element) => {
    for (const text of HOSTILE) {
      const outline = outlineOf(render({ [name]: base64(text) }));
      const expected = [...PLAIN];
      expected.splice(at, 0, element);
      expect(outline).toEqual(expected);
    }
  });

  test('nor anything out of a link with a path or a query of js_links', () => {
    for (const text of HOSTILE) {
      for (const before of ['', '?']) {
        const js_links = [`https://cdn.example/${before}${text.replaceAll('#', '')}`];
        const { elements } = parsePage(render({ js_links }));
        const last: PageElement | undefined = elements.at(-1);
        expect(elements).toHaveLength(PLAIN.length + 1);
        expect(Object.keys(last?.attributes ?? {})).toEqual(['src']);
      }
    }
  });
});

test('an owner’s code takes no longer than its length', () => {
  for (const filler of [';', ' ', '\n', '; ']) {
    const code = base64(`()=>{}${filler.repeat(30_000)}//`);
    const cpuMs = startCpuClock();
    render({ success_callback: code, error_callback: code });
    expect(cpuMs()).toBeLessThan(500);
  }
});

test('an owner’s code means the same inside its element', () => {
  const codes = [
    ['const a = "</script>";', 'const a = "<\\/script>";'],
    ["const b = '<!-- x';", "const b = '\\x3c!-- x';"],
    ['a < b / script', 'a < b / script'],
    ['`</ScRiPt>` + "</style>"', '`<\\/ScRiPt>` + "</style>"'],
  ] as const;
  for (const [code, inside] of codes) {
    expect(parsePage(render({ embedded_js: base64(code) })).texts.at(-1)).toBe(inside);
  }
  const { texts } = parsePage(render({ embedded_css: base64('a::after{content:"</style></STYLE>"}') }));
  expect(texts).toContain('a::after{content:"<\\/style><\\/STYLE>"}');
});
