/** Elements and forms behind a reverse proxy, under another name of the server than its public URL, or below a path. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { READY_MS } from '../../forms/frame/events.ts';
import { allReady, groupOf, heard, NUMBER, open, pageOf, revealOf, typeCard } from './elements-page.ts';
import { showForm } from './forms-shop.ts';
import { type Endpoint, type FormsWorld, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const world = useWorld(openFormsWorld);
let endpoint: Endpoint;
let proxy: ReturnType<typeof startProxy>;
/** The world as pages see it that know the proxy alone. */
let behind: FormsWorld;

/** A proxy under the name localhost that removes `/vault` from paths, and names the vault as its host, as nginx does. */
function startProxy() {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      const { pathname, search } = new URL(request.url);
      const url = `${world.url}${pathname.replace(/^\/vault/, '')}${search}`;
      const headers = new Headers(request.headers);
      headers.delete('host');
      headers.set('accept-encoding', 'identity');
      const { method, body } = request;
      return fetch(url, { method, headers, body, redirect: 'manual' });
    },
  });
  return { url: `http://localhost:${server.port}`, stop: () => server.stop(true) };
}

beforeAll(() => {
  proxy = startProxy();
  behind = { ...world, url: proxy.url };
});
afterAll(() => proxy?.stop());
beforeEach(async () => {
  endpoint = await world.capture();
});

/** A page with a whole form, and all that it hears. */
function formPage(base: string): string {
  return pageOf(
    { ...world, url: base },
    `<vault-card-form url="${endpoint.url}" secret="${endpoint.secret}" reference="r" locale="en"></vault-card-form>`,
    `for (const name of ['ready', 'error']) addEventListener('vault-' + name, ({ detail }) => heard.push([name, detail]), true);
import('${base}/forms/vault-forms.js');`,
  );
}

describe('under another name of the server', () => {
  test('elements store, and show a value, without the public URL', async () => {
    const { page, faults } = await open(behind, groupOf(behind, endpoint));
    await page.route(`${world.url}/**`, (route) => route.abort());
    await page.reload();
    await allReady(page);
    await typeCard(page);
    await page.keyboard.press('Enter');
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), 'order-1')).toMatchObject({ card_number: NUMBER });
    const shown = pageOf(
      behind,
      await revealOf(world, 'named'),
      `import '${proxy.url}/forms/vault-forms.js';`,
    );
    await page.goto(shown);
    await page.frameLocator('iframe').getByText('•••• •••• •••• 1111').waitFor();
    expect(faults).toEqual([]);
  });

  test.each([['name'], ['path']])('a form stores through the public URL, under another %s', async (kind) => {
    const page = await world.page();
    const url = kind === 'path' ? `${proxy.url}/vault` : proxy.url;
    const embedding = { way: 'frame', form: 'pcd', endpoint, reference: 'r' } as const;
    const { form, hear } = await showForm({ ...world, url }, page, embedding);
    const card = { card_number: NUMBER, card_holder: 'Ada', expiry: '12/40', cvv: '123' };
    for (const [name, value] of Object.entries(card)) {
      await form.locator(`[name="${name}"]`).fill(value);
    }
    await form.locator('.vf-button').click();
    expect(await hear('vault.success')).toMatchObject({ reference: 'r' });
  });

  test('a form whose public URL browsers do not reach says so at once, and names the setting', async () => {
    const page = await world.page();
    const faults: string[] = [];
    page.on('console', (message) => faults.push(message.text()));
    await page.route(`${world.url}/**`, (route) => route.abort());
    const startedAt = performance.now();
    await page.goto(formPage(proxy.url));
    expect(await heard(page, 'error')).toEqual({ status: 0, code: 'form_unavailable' });
    expect(performance.now() - startedAt).toBeLessThan(READY_MS);
    await page.frameLocator('iframe').getByText('This form could not be loaded.').waitFor();
    expect(await page.frameLocator('iframe').locator('input').count()).toBe(0);
    expect(faults.join('\n')).toContain(
      `did not load from ${world.url}: VAULT_PUBLIC_URL of the vault, or VAULT_FORMS_URL, must be the URL that browsers use, here ${proxy.url}.`,
    );
    // The address no longer has the secret, which scripts of the form's owner could read.
    expect(
      page
        .frames()
        .map((frame) => frame.url())
        .join(),
    ).not.toContain('vcs1_');
  });

  test('a form that gets no reply from its public URL says so before anybody types', async () => {
    const page = await world.page();
    const faults: string[] = [];
    page.on('console', (message) => faults.push(message.text()));
    await page.route(`${world.url}/v1/**`, (route) => route.abort());
    await page.goto(formPage(proxy.url));
    expect(await heard(page, 'error')).toEqual({ status: 0, code: 'network' });
    await page.frameLocator('iframe').getByText('No connection.').waitFor();
    expect(faults.join('\n')).toContain(
      `no reply from ${world.url}, which VAULT_PUBLIC_URL of the vault names`,
    );
  });
});

test('below a path nothing is mounted, since scripts of the same origin could read fields there', async () => {
  const base = `${proxy.url}/vault`;
  for (const url of [formPage(base), groupOf({ ...world, url: base }, endpoint)]) {
    const { page, faults } = await open(world, url);
    for (let tries = 0; tries < 100 && faults.length === 0; tries++) {
      await Bun.sleep(50);
    }
    expect(faults.join('\n')).toContain(
      `The service must have a host of its own, as in its VAULT_PUBLIC_URL: ${base} has a path.`,
    );
    expect(await page.locator('iframe').count()).toBe(0);
  }
});

test('a form that does not come names the setting in the console of its page', async () => {
  const page = await world.page();
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  await page.clock.install();
  await page.route('**/v1/capture/iframe/**', (route) => route.abort());
  await page.goto(formPage(world.url));
  await page.locator('iframe').waitFor({ state: 'attached' });
  await page.clock.runFor(READY_MS + 1000);
  expect(await heard(page, 'error')).toEqual({ status: 0, code: 'form_unavailable' });
  expect(faults.join('\n')).toContain(`No form came from ${world.url}: it must be the VAULT_PUBLIC_URL`);
});
