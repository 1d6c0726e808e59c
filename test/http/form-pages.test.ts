import { describe, expect, test } from 'bun:test';
import { FormPages, type FormPagesOptions } from '../../server/form/pages/render.ts';
import { parsePage } from '../domain/form/hostile.ts';
import { SMALL_BUNDLES } from '../helpers/forms.ts';
import { type Answer, createClient } from './client.ts';
import { ENDPOINT } from './stub-endpoints.ts';
import { createStubParts } from './stub-parts.ts';

const FORMS = 'https://forms.test';
const NOBODY = { headers: { authorization: '' } };

function pagesWith(options: Partial<FormPagesOptions> = {}) {
  let made = 0;
  const newNonce = (): string => {
    made += 1;
    return `nonce-${made}`;
  };
  const common = { bundles: SMALL_BUNDLES, publicUrl: 'https://vault.test', gallery: true, newNonce };
  return new FormPages({ ...common, ...options });
}

describe('bundles', () => {
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    createClient().send('GET', path, { headers: { authorization: '', ...headers } });

  test.each(SMALL_BUNDLES.files.map(({ name, text, integrity }) => [name, text, integrity] as const))(
    '%s is there for every origin, under its version for ever',
    async (name, text, integrity) => {
      const kept = await get(`/forms/${SMALL_BUNDLES.version}/${name}`);
      const newest = await get(`/forms/${name}`);
      expect(kept.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
      expect(newest.headers.get('Cache-Control')).toBe('no-cache');
      for (const answer of [kept, newest]) {
        expect(answer).toMatchObject({ status: 200, text });
        expect(answer.headers.get('Content-Type')).toBe('text/javascript; charset=utf-8');
        expect(answer.headers.get('Access-Control-Allow-Origin')).toBe('*');
        expect(answer.headers.get('Cross-Origin-Resource-Policy')).toBe('cross-origin');
        expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff');
        const digest = new Bun.CryptoHasher('sha384').update(answer.text).digest('base64');
        expect(`sha384-${digest}`).toBe(integrity);
      }
    },
  );

  test('are packed for those who take them so', async () => {
    const app = createClient();
    const response = await app.send('GET', '/forms/vault-forms.js', {
      headers: { authorization: '', 'Accept-Encoding': 'br, gzip' },
    });
    expect(response.headers.get('Content-Encoding')).toBe('gzip');
    expect(response.headers.get('Vary')).toBe('Accept-Encoding');
  });

  test('are not sent again to who has them', async () => {
    const tag = (await get('/forms/vault-forms.js')).headers.get('ETag') ?? '';
    for (const held of [tag, `"x", ${tag}`, tag.slice(2)]) {
      const answer = await get('/forms/vault-forms.js', { 'If-None-Match': held, 'Accept-Encoding': 'gzip' });
      expect(answer).toMatchObject({ status: 304, text: '' });
      expect(answer.headers.get('ETag')).toBe(tag);
      expect(answer.headers.get('Access-Control-Allow-Origin')).toBe('*');
      expect(answer.headers.get('Content-Encoding')).toBeNull();
    }
    expect((await get('/forms/vault-forms.js', { 'If-None-Match': '"x"' })).status).toBe(200);
  });

  test('are in the inventory with their hashes', async () => {
    const answer = await get('/forms/sri.json');
    expect(JSON.parse(answer.text)).toEqual({
      version: SMALL_BUNDLES.version,
      integrity: Object.fromEntries(SMALL_BUNDLES.files.map((file) => [file.name, file.integrity])),
    });
  });

  test('of another version or name are not there', async () => {
    for (const path of [
      '/forms/0.0.0-00000000/vault-forms.js',
      '/forms/x.js',
      `/forms/${SMALL_BUNDLES.version}/x.js`,
    ]) {
      expect((await get(path)).status).toBe(404);
    }
    expect((await createClient().send('POST', '/forms/vault-forms.js')).status).toBe(405);
  });
});

describe('a page', () => {
  const form = { form_type: 'pcd', settings: {} } as const;
  const visit = { onFormsHost: false, testing: false } as const;

  test('knows its script by where it lies and by what it is', () => {
    const { html, headers } = pagesWith().render(form, visit);
    const src = `https://vault.test/forms/${SMALL_BUNDLES.version}/vault-form-page.js`;
    expect(headers['Content-Security-Policy']).toContain(`script-src ${src} 'sha256-`);
    expect(headers['Content-Security-Policy']).toContain(`style-src ${SMALL_BUNDLES.styles};`);
    const script = parsePage(html).elements.find(({ attributes }) => 'src' in attributes)?.attributes;
    const integrity = SMALL_BUNDLES.files.find(({ name }) => name === 'vault-form-page.js')?.integrity;
    expect(script).toEqual({ src, integrity: integrity ?? '', crossorigin: 'anonymous' });
  });

  test.each([
    ['https://staging.test', 'https://staging.test', 'connect-src https://vault.test https://staging.test;'],
    [undefined, 'https://vault.test', 'connect-src https://vault.test;'],
  ])('for testing uses %p', (stagingUrl, api, policy) => {
    const { html, headers } = pagesWith({ stagingUrl }).render(form, { ...visit, testing: true });
    expect(html).toContain(`"api":"${api}","testing":true`);
    expect(headers['Content-Security-Policy']).toContain(policy);
    const plain = pagesWith({ stagingUrl }).render(form, visit);
    expect(plain.html).toContain('"api":"https://vault.test","testing":false');
    expect(plain.headers['Content-Security-Policy']).toContain('connect-src https://vault.test;');
  });

  test('on the forms host has no sandbox, and its scripts from there', () => {
    const pages = pagesWith({ formsUrl: FORMS });
    const there = pages.render(form, { ...visit, onFormsHost: true });
    expect(there.headers['Content-Security-Policy']).not.toContain('sandbox');
    expect(there.headers['Content-Security-Policy']).toContain(`script-src ${FORMS}/forms/`);
    expect(there.html).toContain(`src="${FORMS}/forms/`);
    expect(there.html).toContain('"api":"https://vault.test"');
    const here = pages.render(form, visit);
    expect(here.headers['Content-Security-Policy']).toContain('sandbox allow-scripts allow-forms');
  });

  test('has a digest that only what it holds can change', () => {
    const pages = pagesWith();
    const digestOf = (...given: Parameters<typeof pages.render>) =>
      pages.render(...given).headers['X-Vault-Form-Digest'];
    const first = digestOf(form, visit);
    expect(first).toMatch(/^sha384-[A-Za-z0-9+/]{64}$/);
    const others = [
      { ...visit, title: 'another' },
      { ...visit, visit: { unique_id: 'u', secret: 's' } },
    ];
    for (const other of others) {
      expect(digestOf(form, other)).toBe(first as string);
    }
    const changed = [
      digestOf({ ...form, form_type: 'ach' }, visit),
      digestOf({ ...form, settings: { require_corp: true } }, visit),
      digestOf(form, { ...visit, testing: true }),
      digestOf(form, { ...visit, onFormsHost: true }),
      pagesWith({ bundles: { ...SMALL_BUNDLES, version: '2' } }).render(form, visit).headers[
        'X-Vault-Form-Digest'
      ],
    ];
    // On a host that has no name of its own the only difference is the sandbox.
    expect(new Set([first, ...changed]).size).toBe(6);
  });
});

describe('the gallery', () => {
  test('shows every look, under a policy that lets nothing else in', async () => {
    const answer = await createClient().send('GET', '/forms', NOBODY);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Security-Policy')).toBe(
      "default-src 'none'; script-src 'nonce-a-fresh-nonce'; style-src 'nonce-a-fresh-nonce'; img-src data:; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(answer.text).not.toMatch(/https?:|\/\/\w/);
    const { texts } = parsePage(answer.text);
    const [, looks = ''] = /const LOOKS = (\[.*?\]);/.exec(texts.at(-1) ?? '') ?? [];
    expect(JSON.parse(looks)).toHaveLength(18);
    expect(() => new Bun.Transpiler({ loader: 'js' }).transformSync(texts.at(-1) ?? '')).not.toThrow();
  });

  test('has a preview of each', async () => {
    for (const [look, part] of [
      ['', '"form_type":"pcd"'],
      ['/form_type=custom', '"name":"full_name"'],
      ['?form_type=ach', '"form_type":"pcd"'],
      ['/style=modern', 'data-style="modern"'],
      ['/locale=ar', 'dir="rtl"'],
      ['/force_keypad=true&hide_card=t', '"force_keypad":true,"hide_card":true'],
      ['/embedded_js=YQ%3D%3D&title=x', '<title>Secure form</title>'],
    ]) {
      const answer = await createClient().send('GET', `/forms/preview${look}`, NOBODY);
      expect(answer.status).toBe(200);
      expect(answer.text).toContain(part as string);
      expect(answer.headers.get('Content-Security-Policy')).toContain('sandbox');
      expect(answer.headers.get('Cache-Control')).toBe('no-store');
    }
    const wrong = await createClient().send('GET', '/forms/preview/style=%22%3E', NOBODY);
    expect(wrong).toMatchObject({ status: 400, error: { field: 'query.style' } });
  });

  test('is not there in production', async () => {
    const client = createClient({ formPages: pagesWith({ gallery: false }) });
    for (const path of ['/forms', '/forms/preview', '/forms/preview/style=vault']) {
      expect((await client.send('GET', path, NOBODY)).status).toBe(404);
    }
    expect((await client.send('GET', '/forms/sri.json', NOBODY)).status).toBe(200);
  });
});

describe('a host for forms alone', () => {
  const http = { ...createStubParts().http, formsUrl: FORMS };
  const client = createClient({ http, formPages: pagesWith({ formsUrl: FORMS }) });
  const send = (method: string, target: string, host = 'forms.test', init: RequestInit = {}) =>
    client.send(method, target, { ...init, headers: { ...init.headers, 'x-test-host': host } });
  const capture = { headers: { authorization: '', 'X-Vault-Capture-Secret': ENDPOINT.secret }, body: '{}' };
  const retrieve = { headers: { authorization: '', 'X-Vault-Retrieve-Secret': ENDPOINT.secret } };

  const served: readonly (readonly [string, string, RequestInit])[] = [
    ['GET', '/v1/retrieve/iframe/shop', NOBODY],
    ['HEAD', '/v1/retrieve/iframe/shop', NOBODY],
    ['GET', '/v1/capture/iframe/shop/', NOBODY],
    ['POST', '/v1/capture/shop', capture],
    ['GET', '/v1/retrieve/shop', retrieve],
    ['GET', '/forms/sri.json', NOBODY],
    ['GET', '/forms/vault-forms.js', NOBODY],
    ['GET', `/forms/${SMALL_BUNDLES.version}/vault-form-page.js`, NOBODY],
    ['GET', '/health/live', NOBODY],
    ['GET', '/health/ready', NOBODY],
  ];
  const hidden: readonly (readonly [string, string])[] = [
    ['GET', '/v1/whoami'],
    ['POST', '/v1/capture'],
    ['GET', '/v1/capture'],
    ['DELETE', '/v1/capture/shop'],
    ['GET', '/v1/vault'],
    ['PATCH', '/v1/capture/shop'],
    ['GET', '/docs'],
    ['GET', '/metrics'],
    ['GET', '/forms'],
    ['GET', '/forms/preview/style=vault'],
    ['GET', '/forms/element?field'],
    ['GET', '/'],
  ];

  test.each(served)('serves %s %s, and so does the main host', async (method, path, init) => {
    expect((await send(method, path, 'forms.test', init)).status).toBe(200);
    expect((await send(method, path, 'vault.test', init)).status).toBe(200);
  });

  test.each(hidden)('has no %s %s, whoever asks', async (method, path) => {
    client.parts.asked.length = 0;
    for (const host of ['forms.test', 'forms.test:443', 'FORMS.test']) {
      const answer = await client.send(method, path, { headers: { 'x-test-host': host } });
      expect(answer).toMatchObject({ status: 404, error: { code: 'not_found' } });
      expect(answer.headers.get('WWW-Authenticate')).toBeNull();
    }
    expect(client.parts.asked).toEqual([]);
  });

  test('leaves single fields to the main host, where no script of an owner runs unsandboxed', async () => {
    const answer = await send('GET', '/forms/element?field', 'vault.test', NOBODY);
    expect(answer.status).toBe(200);
    const { elements } = parsePage(answer.text);
    const script = elements.find(({ attributes }) => 'src' in attributes)?.attributes;
    // Under any name of the server: a field trusts the origin that it came from.
    const src = `/forms/${SMALL_BUNDLES.version}/vault-element.js`;
    const integrity = SMALL_BUNDLES.files.find(({ name }) => name === 'vault-element.js')?.integrity ?? '';
    expect(script).toEqual({ src, integrity, crossorigin: '' });
    expect(answer.headers.get('Content-Security-Policy')).toBe(
      "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
  });

  test('answers preflights of what it serves alone', async () => {
    expect((await send('OPTIONS', '/v1/capture/shop')).status).toBe(204);
    expect((await send('OPTIONS', '/v1/retrieve/iframe')).status).toBe(404);
  });

  test('is where forms are said to be', async () => {
    const answer = await send('POST', '/v1/capture/iframe', 'vault.test');
    expect(JSON.parse(answer.text).url).toBe(`${FORMS}/v1/capture/iframe/shop`);
  });

  test('is another one without a sandbox', async () => {
    const policies = await Promise.all(
      ['forms.test', 'vault.test'].map(async (host) =>
        (await send('GET', '/v1/retrieve/iframe/shop', host, NOBODY)).headers.get('Content-Security-Policy'),
      ),
    );
    expect(policies.map((policy) => policy?.includes('sandbox'))).toEqual([false, true]);
  });
});
