import { afterAll, beforeAll, expect, test } from 'bun:test';
import { buildForms, type FormBundles } from '../../forms/build.ts';
import { parsePage } from '../domain/form/hostile.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

let vault: TestVault;
let bundles: FormBundles;

beforeAll(async () => {
  bundles = await buildForms();
  vault = await openTestVault({ bundles });
});
afterAll(() => vault.close());

test('the server serves what is built, to a page that asks for exactly that', async () => {
  const page = await vault.handle(new Request('http://localhost/v1/capture/iframe/pcd'));
  const { elements } = parsePage(await page.text());
  const { src = '', integrity } = elements.find(({ attributes }) => 'src' in attributes)?.attributes ?? {};
  const script = await vault.handle(new Request(src));
  expect(script.status).toBe(200);
  const digest = new Bun.CryptoHasher('sha384').update(await script.bytes()).digest('base64');
  expect(integrity).toBe(`sha384-${digest}`);
  expect(bundles.files.map(({ name }) => name)).toContainValues([
    'vault-forms.js',
    'vault-forms.global.js',
    'vault-form-page.js',
  ]);
});

test('packed bytes are the same bytes', async () => {
  for (const { name, text } of bundles.files) {
    const headers = { 'Accept-Encoding': 'gzip' };
    const response = await vault.handle(new Request(`http://localhost/forms/${name}`, { headers }));
    expect(response.headers.get('Content-Encoding')).toBe('gzip');
    expect(new TextDecoder().decode(Bun.gunzipSync(new Uint8Array(await response.bytes())))).toBe(text);
  }
});
