import { describe, expect, test } from 'bun:test';
import { NOT_LOADED } from '../../../server/form/html.ts';
import { type FormPolicyOptions, filePolicy, formHeaders } from '../../../server/form/policy.ts';
import type { ShownFormSettings } from '../../../server/form/schema.ts';

const PUBLIC = 'https://vault.test';
const STAGING = 'https://staging.vault.test';
const FORMS = 'https://forms.test';
const SHEET = 'https://css.example:8443/a.css';
const SCRIPT = `https://js.example/a.js#sha384-${'A'.repeat(64)}`;
const OURS = `${PUBLIC}/forms/1/page.js`;
const STYLES = "'sha256-styles'";
const BOTH = 'https://both.example/x';

function headersOf(settings: ShownFormSettings, parts: Partial<FormPolicyOptions> = {}) {
  return formHeaders({
    settings,
    connect: [PUBLIC],
    script: OURS,
    styles: STYLES,
    sandboxed: true,
    ...parts,
  });
}

function sha256(text: string): string {
  return `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`;
}

/** The scripts of every page. */
const SCRIPTS = [OURS, sha256(NOT_LOADED)];

/** The directives of a policy; a name that stands twice, or nothing between two `;`, fails. */
function parsePolicy(policy: string): Readonly<Record<string, string[]>> {
  const directives = policy.split('; ').map((text) => {
    const [name = '', ...values] = text.split(' ');
    expect(name).toMatch(/^[a-z-]+$/);
    return [name, values] as const;
  });
  expect(new Set(directives.map(([name]) => name)).size).toBe(directives.length);
  return Object.fromEntries(directives);
}

const NONE = ["'none'"];
const COMMON = {
  'default-src': NONE,
  'script-src': SCRIPTS,
  'style-src': [STYLES],
  'img-src': ['data:'],
  'font-src': NONE,
  'connect-src': [PUBLIC],
  'object-src': NONE,
  'base-uri': NONE,
  'form-action': NONE,
  'frame-ancestors': ['*'],
  sandbox: ['allow-scripts', 'allow-forms'],
};
const { sandbox: _, ...UNBOXED } = COMMON;

const configurations: readonly (readonly [string, ShownFormSettings, Partial<FormPolicyOptions>, object])[] =
  [
    ['nothing', {}, {}, COMMON],
    [
      'a sheet',
      { css_links: [SHEET] },
      {},
      {
        ...COMMON,
        'style-src': [STYLES, 'https://css.example:8443'],
        'font-src': ['https://css.example:8443'],
      },
    ],
    ['a script', { js_links: [SCRIPT] }, {}, { ...COMMON, 'script-src': [...SCRIPTS, 'https://js.example'] }],
    [
      'both from one host, twice',
      { css_links: [BOTH, BOTH], js_links: [BOTH, `${BOTH}y`] },
      {},
      {
        ...COMMON,
        'script-src': [...SCRIPTS, 'https://both.example'],
        'style-src': [STYLES, 'https://both.example'],
        'font-src': ['https://both.example'],
      },
    ],
    [
      'links that are none',
      { css_links: ['x; script-src *'], js_links: ["https://a;script-src *'/"] },
      {},
      COMMON,
    ],
    [
      'one ancestor',
      { frame_ancestors: ['https://shop.example'] },
      {},
      { ...COMMON, 'frame-ancestors': ['https://shop.example'] },
    ],
    ['no ancestors', { frame_ancestors: [] }, {}, COMMON],
    [
      'embedded code',
      { embedded_css: 'eA==', embedded_js: 'eA==' },
      {},
      { ...COMMON, 'script-src': [...SCRIPTS, sha256('x')], 'style-src': [STYLES, sha256('x')] },
    ],
    [
      'callbacks',
      { success_callback: 'eA==', error_callback: 'eA==' },
      {},
      {
        ...COMMON,
        'script-src': [
          ...SCRIPTS,
          sha256('(window.vaultCallbacks??={}).success=(\nx\n);'),
          sha256('(window.vaultCallbacks??={}).error=(\nx\n);'),
        ],
      },
    ],
    ['require_corp', { require_corp: true }, {}, COMMON],
    [
      'a forms host',
      {},
      { sandboxed: false, script: `${FORMS}/page.js` },
      { ...UNBOXED, 'script-src': [`${FORMS}/page.js`, sha256(NOT_LOADED)] },
    ],
    [
      'staging elsewhere',
      {},
      { connect: [PUBLIC, STAGING] },
      { ...COMMON, 'connect-src': [PUBLIC, STAGING] },
    ],
    [
      'all kinds of code',
      { embedded_css: btoa('p{}\r\n'), embedded_js: btoa('</script>'), success_callback: btoa('f;') },
      {},
      {
        ...COMMON,
        'script-src': [
          ...SCRIPTS,
          sha256('(window.vaultCallbacks??={}).success=(\nf\n);'),
          sha256('<\\/script>'),
        ],
        'style-src': [STYLES, sha256('p{}\n')],
      },
    ],
  ];

describe('the policy of a form with', () => {
  test.each(configurations)('%s', (_, settings, parts, expected) => {
    const { 'Content-Security-Policy': policy = '', ...headers } = headersOf(settings, parts);
    expect<object>(parsePolicy(policy)).toEqual(expected);
    const corp = settings.require_corp === true ? { 'Cross-Origin-Embedder-Policy': 'require-corp' } : {};
    expect(headers).toEqual({
      'Content-Type': 'text/html; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'Permissions-Policy': expect.stringMatching(/^(?:[a-z-]+=\(\), ){25,}clipboard-write=\*$/),
      'Cross-Origin-Resource-Policy': 'cross-origin',
      ...corp,
    });
  });
});

test('files come from the hosts of the settings alone, whatever their integrity claims', () => {
  expect(parsePolicy(filePolicy({}, OURS))).toEqual({
    'script-src': ["'unsafe-inline'", OURS],
    'style-src': ["'unsafe-inline'"],
  });
  const settings = { css_links: [SHEET], js_links: [SCRIPT], embedded_js: 'eA==' };
  expect(parsePolicy(filePolicy(settings, OURS))).toEqual({
    'script-src': ["'unsafe-inline'", OURS, 'https://js.example'],
    'style-src': ["'unsafe-inline'", 'https://css.example:8443'],
  });
});
