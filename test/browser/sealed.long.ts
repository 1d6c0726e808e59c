/** What forms and elements put on the wire: nothing that anything between them and the vault could read. */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Page, Request } from 'playwright-core';
import { heard, pageOf } from './elements-page.ts';
import { type Shown, showForm, WAYS } from './forms-shop.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const NUMBER = '4111111111111111';
const CARD = {
  card_number: '4111 1111 1111 1111',
  card_holder: 'Ada Lovelace',
  expiry: '12/40',
  cvv: '737',
};
const SEALED = 'application/vnd.cardvault.sealed+json';

const world = useWorld(openFormsWorld);
let page: Page;
let requests: Request[] = [];

beforeEach(async () => {
  page = await world.page();
  requests = [];
  page.on('request', (request) => requests.push(request));
});

async function fillIn({ form }: Shown): Promise<void> {
  for (const [name, value] of Object.entries(CARD)) {
    await form.locator(`[name="${name}"]`).fill(value);
  }
}
async function send(endpoint: Endpoint, way: (typeof WAYS)[number] = 'function'): Promise<Shown> {
  const shown = await showForm(world, page, { way, form: 'pcd', endpoint });
  await fillIn(shown);
  await shown.form.locator('.vf-button').click();
  return shown;
}
function posts(): Request[] {
  return requests.filter((request) => request.method() === 'POST');
}
/** Everything that left the browser. */
function sent(): string {
  return requests
    .map((request) => `${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ''}`)
    .join('\n');
}
function expectSealed(): void {
  expect(posts().map((request) => request.headers()['content-type'])).toEqual([SEALED]);
  expect(Object.keys(posts()[0]?.postDataJSON() as object)).toEqual(['kid', 'enc', 'ct']);
  expect(sent()).not.toMatch(/4111 ?1111|Lovelace/);
}

describe('a form', () => {
  test.each(WAYS)('as %s seals, also for an endpoint that takes nothing else', async (way) => {
    const shown = await send(await world.capture({ require_sealed: true }), way);
    const { token, reference } = await shown.hear('vault.success');
    expect(await world.stored(String(token), String(reference))).toMatchObject(CARD);
    expectSealed();
  });

  test('fetches its key once more when that has expired', async () => {
    let fetched = 0;
    await page.route('**/sealing-key', async (route) => {
      fetched += 1;
      const response = await route.fetch();
      const key = (await response.json()) as object;
      await route.fulfill({ response, json: fetched === 1 ? { ...key, kid: '1-0123456789abcdef' } : key });
    });
    const shown = await send(await world.capture());
    await shown.hear('vault.success');
    expect(fetched).toBe(2);
    expect(posts()).toHaveLength(2);
    expect(sent()).not.toMatch(/4111 ?1111/);
    await page.unrouteAll();
  });

  test('sends nothing when it gets no key', async () => {
    await page.route('**/sealing-key', (route) => route.fulfill({ json: { kid: 'k', public_key: 'none' } }));
    const shown = await send(await world.capture());
    expect(await shown.hear('vault.error')).toMatchObject({ status: 0, code: 'sealing_failed' });
    expect(posts()).toEqual([]);
    await page.unrouteAll();
  });
});

describe('without WebCrypto, as under plain http', () => {
  beforeEach(() =>
    page.addInitScript(() => Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined })),
  );

  test('a form sends what was typed as it is', async () => {
    const shown = await send(await world.capture());
    const { token, reference } = await shown.hear('vault.success');
    expect(await world.stored(String(token), String(reference))).toMatchObject(CARD);
    expect(posts().map((request) => request.headers()['content-type'])).not.toContain(SEALED);
  });

  test('and nothing where the endpoint takes sealed bodies alone', async () => {
    const shown = await send(await world.capture({ require_sealed: true }));
    expect(await shown.hear('vault.error')).toMatchObject({ status: 400, code: 'sealing_required' });
    expect(posts()).toEqual([]);
    expect(sent()).not.toMatch(/4111 ?1111/);
  });
});

test('an element seals, under a policy of the page that allows the vault alone', async () => {
  const { url, secret } = await world.capture({ require_sealed: true });
  const given = JSON.stringify({ url, secret, reference: 'order-1', locale: 'en' });
  const script = `import { elements } from '${world.url}/forms/vault-forms.js';
const card = elements(${given});
card.mount('#number', 'card-number');
card.mount('#cvc', 'card-cvc');
document.querySelector('button').onclick = () => card.submit().then((reply) => { window.reply = reply; }, (error) => { window.reply = error; });`;
  const policy = `default-src 'none'; script-src 'nonce-shop' ${world.url}; frame-src ${world.url}`;
  await page.goto(
    world.serve(
      '/sealed-elements',
      `<!doctype html><html lang="en"><head><title>Shop</title>
<meta http-equiv="Content-Security-Policy" content="${policy}"></head>
<body><div id="number"></div><div id="cvc"></div><button>Pay</button>
<script type="module" nonce="shop">${script}</script></body></html>`,
    ),
  );
  await page.frameLocator('#number iframe').locator('input').fill(NUMBER);
  await page.frameLocator('#cvc iframe').locator('input').fill('737');
  await page.locator('button').click();
  const reply = await page.waitForFunction(() => window.reply);
  const { token } = (await reply.jsonValue()) as { readonly token: string };
  expect(await world.stored(token, 'order-1')).toMatchObject({ card_number: NUMBER });
  expectSealed();
});

describe('an item', () => {
  const REFERENCE = 'sealed-item';

  /** An endpoint that takes sealed readers alone, for a stored card; and what the vault has sent since. */
  async function stored() {
    const token = await world.owner.store('shop', { card_number: NUMBER }, { reference: REFERENCE });
    const endpoint = await world.retrieve({ token, reference: REFERENCE, require_sealed: true });
    const replies: Promise<string>[] = [];
    page.on('response', (response) => {
      if (response.url().includes(`/v1/retrieve/${endpoint.unique_id}`)) {
        replies.push(response.text());
      }
    });
    return { token, endpoint, replies };
  }

  test.each(WAYS)('is read sealed by a form as %s', async (way) => {
    const { token, endpoint, replies } = await stored();
    const embedding = { way, form: 'pcd', endpoint, token, reference: REFERENCE };
    const { form } = await showForm(world, page, embedding);
    await form.locator('.vf-show').click();
    expect(await form.locator('.vf-value').first().textContent()).toBe('4111 1111 1111 1111');
    expect(replies.length).toBe(1);
    expect((await Promise.all(replies)).join('')).not.toMatch(/1111|card_number/);
  });

  test('is read sealed by an element that asks for it, and not at all without WebCrypto', async () => {
    const { token, endpoint, replies } = await stored();
    const markup = `<vault-reveal class="field" seal url="${endpoint.url}" secret="${endpoint.secret}" token="${token}" reference="${REFERENCE}" locale="en"></vault-reveal>`;
    const url = pageOf(
      world,
      markup,
      `import '${world.url}/forms/vault-forms.js';
document.querySelector('vault-reveal').addEventListener('vault-error', ({ detail }) => heard.push(['error', detail]));`,
    );
    await page.goto(url);
    const frame = page.frameLocator('iframe');
    await frame.getByRole('button', { name: 'Show' }).click();
    expect(await frame.locator('output').textContent()).toBe('4111 1111 1111 1111');
    expect((await Promise.all(replies)).join('')).not.toMatch(/1111|card_number/);
    await page.addInitScript(() => Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined }));
    await page.goto(`${url}?again`);
    expect(await heard(page, 'error')).toMatchObject({ status: 0, code: 'sealing_failed' });
    expect(replies.length).toBe(1);
  });
});

declare const window: { readonly reply?: unknown };
declare const Crypto: { readonly prototype: object };
