import { describe, expect, test } from 'bun:test';
import type { FormSettings } from '../../server/form/schema.ts';
import { parsePage } from '../domain/form/hostile.ts';
import { type Answer, createClient } from './client.ts';
import { ENDPOINT } from './stub-endpoints.ts';

const NOBODY = { headers: { authorization: '' } };
const OTHER_SITE = { Origin: 'https://elsewhere.test', 'Sec-Fetch-Site': 'cross-site' };
const BASES = ['/v1/retrieve/iframe', '/v1/capture/iframe'] as const;

function corsOf({ headers }: Answer): string | null {
  return headers.get('Access-Control-Allow-Origin');
}

describe.each(BASES)('%s', (base) => {
  test('shows the page to anybody, also from elsewhere, and tells HEAD the same', async () => {
    const client = createClient();
    const answer = await client.send('GET', `${base}/shop?title=A+%3Cb%3E&unique_id=u&secret=s`, {
      headers: { authorization: '', ...OTHER_SITE },
    });
    expect(answer.status).toBe(200);
    expect(corsOf(answer)).toBe('*');
    expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect(answer.headers.get('Referrer-Policy')).toBe('no-referrer');
    expect(answer.headers.get('X-Request-Id')).toBe('fresh-request-id');
    expect(answer.text).toContain('<title>A &lt;b&gt;</title>');
    // What differs from visit to visit is for the page to read.
    expect(answer.text).not.toContain('unique_id');
    const head = await client.send('HEAD', `${base}/shop?title=A+%3Cb%3E`, NOBODY);
    expect(head.status).toBe(200);
    expect(Object.fromEntries(head.headers)).toMatchObject(
      Object.fromEntries([...answer.headers].filter(([name]) => name !== 'content-length')),
    );
    expect(client.parts.metered).toEqual([]);
    expect(client.parts.lines.map(({ route }) => route)).toEqual(Array(2).fill(`${base}/{form_id}`));
  });

  test('tells the page where to post to', async () => {
    const client = createClient();
    for (const [query, testing] of [
      ['', false],
      ['?testing=true', true],
      ['?testing=0', false],
    ] as const) {
      const { texts } = parsePage((await client.send('GET', `${base}/shop${query}`, NOBODY)).text);
      const config = JSON.parse(texts.find((text) => text.startsWith('{')) ?? '');
      expect(config).toMatchObject({ form_type: 'pcd', api: 'https://vault.test', testing });
      expect(config.settings.hide_card).toBe(true);
    }
  });

  const refused: readonly (readonly [string, string, RequestInit, number, string | undefined])[] = [
    ['GET', '/nothing', NOBODY, 404, undefined],
    ['GET', '/shop?testing=maybe', NOBODY, 400, 'query.testing'],
    ['GET', `/shop?title=${'x'.repeat(201)}`, NOBODY, 400, 'query.title'],
    ['GET', '/shop?a=1&a=2', NOBODY, 400, 'query'],
    ['POST', '?form_type=card', {}, 400, 'query.form_type'],
    ['POST', '?form_id=a%20b', {}, 400, 'query.form_id'],
    ['POST', `?form_id=${'x'.repeat(129)}`, {}, 400, 'query.form_id'],
    ['POST', '', { body: '[]' }, 400, 'body'],
    ['POST', '', { body: new Uint8Array(1_048_577) }, 413, 'body'],
    ['POST', '/shop', {}, 405, undefined],
  ];
  test.each(refused)('%s %s', async (method, rest, init, status, field) => {
    const answer = await createClient().send(method, `${base}${rest}`, init);
    expect(answer.status).toBe(status);
    expect(answer.error.field).toBe(field as string);
    if (method !== 'HEAD') {
      expect(answer.headers.get('Content-Type')).toBe('application/json');
    }
  });

  test('needs credentials for everything but the page, and takes none for another site', async () => {
    for (const [method, path] of [
      ['POST', base],
      ['GET', base],
      ['DELETE', `${base}/shop`],
    ] as const) {
      expect((await createClient().send(method, path, NOBODY)).status).toBe(401);
      for (const site of ['cross-site', 'same-site']) {
        const client = createClient();
        const answer = await client.send(method, path, {
          headers: { ...OTHER_SITE, 'Sec-Fetch-Site': site },
        });
        expect(answer).toMatchObject({ status: 403, error: { code: 'not_allowed' } });
        expect(corsOf(answer)).toBeNull();
        expect(client.parts.asked).toEqual([]);
      }
    }
    const preflight = await createClient().send('OPTIONS', `${base}/shop`, { headers: OTHER_SITE });
    expect(preflight.headers.get('Access-Control-Allow-Methods')).toBe('GET');
    expect((await createClient().send('OPTIONS', base, { headers: OTHER_SITE })).status).toBe(405);
    const wrong = await createClient().send('PATCH', `${base}/shop`);
    expect(wrong.headers.get('Allow')).toBe('GET, PUT, DELETE, HEAD, OPTIONS');
  });
});

describe('a setting that does not fit is refused with its place', () => {
  const places: readonly (readonly [string, object])[] = [
    ['body.css_links', { css_links: Array(21).fill('https://a.example/') }],
    ['body.js_links[0]', { js_links: [`https://a.example/${'x'.repeat(2_048)}`] }],
    ['body.embedded_js', { embedded_js: 'A'.repeat(90_001) }],
    ['body.display_mode', { display_mode: 'popup' }],
    ['body.field_options', { field_options: { 'a b': {} } }],
    ['body.field_options.cvv.visible', { field_options: { cvv: { visible: 'no' } } }],
    [
      'body.field_options',
      { field_options: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`f${n}`, {}])) },
    ],
    ['body.additional_fields', { additional_fields: Array(33).fill({ name: 'x' }) }],
    ['body.additional_fields[1].label', { additional_fields: [{ name: 'a' }, { name: 'b', label: '' }] }],
    ['body.theme.primary_color', { theme: { primary_color: 'url(x)' } }],
    ['body.theme.logo_image', { theme: { logo_image: 'A'.repeat(360_001) } }],
    ['body.frame_ancestors', { frame_ancestors: Array(21).fill('https://a.example') }],
  ];
  test.each(places)('%s', async (field, settings) => {
    const client = createClient();
    const answer = await client.send('POST', BASES[0], { body: JSON.stringify(settings) });
    expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_request', field } });
    expect(client.parts.asked.filter(({ operation }) => operation === 'createForm')).toEqual([]);
  });

  test('but null is the same as nothing', async () => {
    const settings: FormSettings = {
      css_links: null,
      theme: { style: null, logo_image: null },
      field_options: { cvv: null, expiry: { visible: null } },
      locale: null,
      frame_ancestors: null,
    };
    const body = JSON.stringify({ ...settings, __proto__: null });
    expect((await createClient().send('POST', BASES[0], { body })).status).toBe(200);
  });
});

describe('a new endpoint as a page', () => {
  const PASSPHRASE = { 'X-Vault-Passphrase': 'pass' };
  const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const make = (kind: string, accept: string | undefined, query = '') =>
    createClient().send('POST', `/v1/${kind}?user=u1${query}`, {
      headers: { ...PASSPHRASE, ...(accept === undefined ? {} : { Accept: accept }) },
    });
  const configOf = ({ text }: Answer) =>
    JSON.parse(parsePage(text).texts.find((script) => script.startsWith('{')) ?? '');

  test.each(['capture', 'retrieve'])('of %s has the secret, and works as it stands', async (kind) => {
    const query = kind === 'capture' ? '' : '&token=t&reference=%3C%2Fscript%3E';
    const answer = await make(kind, HTML, query);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect(answer.headers.get('Content-Security-Policy')).toContain('sandbox allow-scripts allow-forms');
    expect(corsOf(answer)).toBeNull();
    const lock = kind === 'retrieve' ? { token: 't', reference: '</script>' } : {};
    expect(configOf(answer)).toMatchObject({
      form_type: 'pcd',
      visit: { unique_id: 'shop', secret: ENDPOINT.secret, ...lock },
    });
  });

  test.each([
    [undefined, false],
    ['*/*', false],
    ['', false],
    ['text/html;q=0', false],
    ['text/*;q=0.1', true],
    ['text/html', true],
    ['TEXT/HTML ; q=0.9, application/json;q=0.8', true],
    ['application/*;q=0.3, text/html;q=0.4, */*', true],
    ['text/*, text/html;q=0.1, application/json;q=0.2', false],
    [HTML, true],
  ])('for Accept: %s: %p', async (accept, isPage) => {
    const answer = await make('capture', accept);
    expect(answer.headers.get('Content-Type')).toStartWith(isPage ? 'text/html' : 'application/json');
    expect(answer.text.startsWith('<!doctype html>')).toBe(isPage);
  });

  test.each(['', '&reference=r'])(
    'of retrieval is of one token, so that there is none for %p',
    async (lock) => {
      const refused = await make('retrieve', HTML, lock);
      expect(refused).toMatchObject({
        status: 400,
        error: { code: 'invalid_request', field: 'query.token' },
      });
      expect((await make('retrieve', undefined, lock)).status).toBe(200);
    },
  );

  test('refusals are JSON for everybody', async () => {
    const answer = await createClient().send('POST', '/v1/capture?user=u1', { headers: { Accept: HTML } });
    expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_request' } });
  });
});
