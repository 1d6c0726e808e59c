/** Single fields in a shop's page, each in a frame of its own: typed by keyboard, stored, and hidden from the page. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { axeFaults } from './axe.ts';
import { type Endpoint, type FormsWorld, openFormsWorld } from './forms-world.ts';

const NUMBER = '4111111111111111';
const FIELDS = ['card-number', 'card-expiry', 'card-cvc', 'card-holder'] as const;

declare const window: {
  heard: [string, unknown][];
  messages: unknown[];
  card: { submit(): Promise<unknown>; destroy(): void };
  length: number;
};

setDefaultTimeout(120_000);
let world: FormsWorld;
let endpoint: Endpoint;
beforeAll(async () => {
  world = await openFormsWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  endpoint = await world.capture();
});

/** A page of the shop whose policy allows the vault's scripts and frames alone, and which hears all that it can. */
function pageOf(body: string, script: string): string {
  return world.serve(
    `/page-${Math.trunc(performance.now() * 1000)}`,
    `<!doctype html><html lang="en"><head><title>Shop</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-shop' ${world.url}; frame-src ${world.url}; style-src 'nonce-shop'">
<style nonce="shop">.field { height: 40px; border: 1px solid #888; }</style></head>
<body><main><h1>Pay</h1>${body}</main>
<script nonce="shop">window.heard = []; window.messages = []; addEventListener('message', ({ data }) => messages.push(data));</script>
<script type="module" nonce="shop">${script}</script></body></html>`,
  );
}

function groupOf(options: Record<string, unknown> = {}, fields: readonly string[] = FIELDS): string {
  const given = {
    url: endpoint.url,
    secret: endpoint.secret,
    reference: 'order-1',
    locale: 'en',
    ...options,
  };
  return pageOf(
    `${fields.map((_, at) => `<div class="field" id="f${at}"></div>`).join('')}<button>Pay</button>`,
    `import { elements } from '${world.url}/forms/vault-forms.js';
const card = window.card = elements(${JSON.stringify(given)});
for (const name of ['ready', 'change', 'focus', 'blur', 'submit', 'error']) card.on(name, (detail) => heard.push([name, detail]));
window.handles = ${JSON.stringify(fields)}.map((field, at) => card.mount('#f' + at, field));
document.querySelector('button').onclick = () => card.submit().then((reply) => heard.push(['reply', reply]), (error) => heard.push(['failed', error]));`,
  );
}

async function open(url: string): Promise<{ readonly page: Page; readonly faults: string[] }> {
  const page = await world.page();
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(url);
  return { page, faults };
}

async function heard(page: Page, name: string): Promise<Record<string, unknown>> {
  const found = async () =>
    (await page.evaluate(() => window.heard)).filter(([event]) => event === name).at(-1);
  for (let tries = 0; tries < 600; tries++) {
    const event = await found();
    if (event !== undefined) {
      return event[1] as Record<string, unknown>;
    }
    await Bun.sleep(50);
  }
  throw new Error(`no ${name}: ${JSON.stringify(await page.evaluate(() => window.heard))}`);
}

async function allReady(page: Page, count: number = FIELDS.length): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const ready = (await page.evaluate(() => window.heard)).filter(([event]) => event === 'ready');
    if (ready.length >= count) {
      return;
    }
    await Bun.sleep(50);
  }
  throw new Error('the fields are not ready');
}

/** Types a whole card with the keyboard alone, from the first field on. */
async function typeCard(page: Page): Promise<void> {
  const fields = FIELDS.map((_, at) => page.frameLocator(`#f${at} iframe`).getByRole('textbox'));
  await fields[0]?.focus();
  for (const [at, text] of [NUMBER, '1239', '123', 'Ada Lovelace'].entries()) {
    // The focus goes from process to process, and a key may be faster.
    await page.frameLocator(`#f${at} iframe`).locator('input:focus').waitFor();
    await page.keyboard.type(text);
    await page.keyboard.press('Tab');
  }
  await page.locator('button:focus').waitFor();
}

describe('a group', () => {
  test('is typed by keyboard, and stored; the page gets a token, and never a digit', async () => {
    const { page, faults } = await open(groupOf({ metadata: { campaign: 'spring' } }));
    await allReady(page);
    expect(await axeFaults(page)).toEqual([]);
    await typeCard(page);
    // The focus has come to the button of the page.
    await page.keyboard.press('Enter');
    const reply = await heard(page, 'reply');
    expect(reply).toEqual({ token: expect.any(String), reference: 'order-1', user: 'shop' });
    expect(await world.stored(String(reply['token']), 'order-1')).toEqual({
      ...{ card_number: NUMBER, card_type: 'visa', last_four: '1111', cvv: '123' },
      ...{ expiry: '12/39', expiry_month: '12', expiry_year: '2039', expiry_year_short: '39' },
      card_holder: 'Ada Lovelace',
    });
    const [events, messages] = await page.evaluate(() => [window.heard, window.messages]);
    const seen = JSON.stringify([events, messages]);
    expect(seen).toContain('"brand":"visa"');
    for (const part of ['4111', '1239', '12/39', 'Ada', endpoint.secret]) {
      expect(seen).not.toContain(part);
    }
    // The address of a frame holds the secret only until the frame has read it.
    expect(await page.locator('iframe').first().getAttribute('src')).toBeNull();
    expect(events).toContainEqual(['change', { field: 'card-cvc', state: 'complete', brand: '', error: '' }]);
    const first = page.frameLocator('iframe').first().getByRole('textbox');
    expect(await first.inputValue()).toBe('');
    expect(faults).toEqual([]);
  });

  test('says which field is wrong, in the field and to the page', async () => {
    const { page } = await open(groupOf());
    await allReady(page);
    await page.frameLocator('#f0 iframe').getByRole('textbox').fill('4111 1111 1111 1112');
    await page.getByRole('button').click();
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
    expect(await page.evaluate(() => window.heard)).toContainEqual([
      'change',
      { field: 'card-number', state: 'invalid', brand: 'visa', error: 'number_bad' },
    ]);
    const frame = page.frameLocator('#f0 iframe');
    expect(await frame.getByRole('textbox').getAttribute('aria-invalid')).toBe('true');
    expect(await frame.getByRole('alert').textContent()).toBe('This card number is not valid.');
    expect(await frame.locator('html').getAttribute('lang')).toBe('en');
    expect(await axeFaults(page)).toEqual([]);
  });

  test('tells the vault’s own refusal by its code', async () => {
    endpoint = { ...endpoint, secret: `vcs1_${'A'.repeat(43)}` };
    const { page } = await open(groupOf());
    await allReady(page);
    await typeCard(page);
    await page.keyboard.press('Enter');
    expect(await heard(page, 'failed')).toEqual({ status: 403, code: 'endpoint_refused' });
    expect(await page.frameLocator('#f0 iframe').getByRole('textbox').inputValue()).toContain('4111');
  });

  test('has the style of the page as far as it is harmless, and refuses any other', async () => {
    const theme = {
      color: '#123456',
      fontSize: '20px',
      fontFamily: 'Georgia, serif',
      placeholderColor: '#667788',
    };
    const { page } = await open(groupOf({ theme }));
    await allReady(page);
    const style = await page
      .frameLocator('#f0 iframe')
      .getByRole('textbox')
      .evaluate((element) => {
        const { color, fontSize, fontFamily } = Object(globalThis).getComputedStyle(element);
        return { color, fontSize, fontFamily };
      });
    expect(style).toEqual({ color: 'rgb(18, 52, 86)', fontSize: '20px', fontFamily: 'Georgia, serif' });
    const refused = await open(groupOf({ theme: { color: 'transparent' } }));
    await refused.page.waitForTimeout(300);
    expect(refused.faults.join()).toContain('The member "color" of the option "theme" is not allowed');
  });

  test('that does not load says so', async () => {
    const page = await world.page();
    await page.route('**/forms/element', (route) => route.abort());
    await page.goto(groupOf({}, ['card-number']));
    expect(await heard(page, 'error')).toMatchObject({ status: 0, code: 'elements_unavailable' });
  });
});

describe('in markup', () => {
  test('fields with one URL are one group, and an IBAN is checked', async () => {
    const { url, secret } = endpoint;
    const { page, faults } = await open(
      pageOf(
        `<vault-iban class="field" url="${url}"></vault-iban>
<vault-card-holder class="field" url="${url}" secret="${secret}" reference="order-2" locale="de" metadata="plan=gold"></vault-card-holder>`,
        `import '${world.url}/forms/vault-forms.js';
for (const element of document.querySelectorAll('vault-iban, vault-card-holder')) {
  for (const name of ['ready', 'submit', 'error', 'change']) element.addEventListener('vault-' + name, ({ detail }) => heard.push([name, detail]));
}`,
      ),
    );
    await allReady(page, 2);
    expect(await page.locator('vault-card-holder').getAttribute('secret')).toBeNull();
    const iban = page.frameLocator('vault-iban iframe').getByRole('textbox', { name: 'IBAN' });
    await iban.fill('DE89 3704 0044 0532 0130 01');
    await iban.press('Enter');
    expect(await heard(page, 'error')).toMatchObject({ code: 'form_invalid' });
    await iban.fill('DE89370400440532013000');
    await page.frameLocator('vault-card-holder iframe').getByRole('textbox').fill('Ada');
    await iban.press('Enter');
    const reply = await heard(page, 'submit');
    expect(await world.stored(String(reply['token']), 'order-2')).toEqual({
      account_number: 'DE89370400440532013000',
      card_holder: 'Ada',
    });
    expect(faults).toEqual([]);
  });

  test('a value of an item is hidden until it is shown, and the page never has it', async () => {
    const token = await world.owner.store('shop', { card_number: NUMBER }, { reference: 'shown' });
    const { url, secret } = await world.retrieve({ token, reference: 'shown' });
    const { page, faults } = await open(
      pageOf(
        `<vault-reveal class="field" url="${url}" secret="${secret}" token="${token}" reference="shown" locale="en"></vault-reveal>`,
        `import '${world.url}/forms/vault-forms.js';`,
      ),
    );
    const frame = page.frameLocator('iframe');
    await frame.getByText('•••• •••• •••• 1111').waitFor();
    await frame.getByRole('button', { name: 'Show' }).click();
    await frame.getByText('4111 1111 1111 1111').waitFor();
    await frame.getByRole('button', { name: 'Copy' }).click();
    await frame.getByRole('button', { name: 'Copied' }).waitFor();
    await frame.getByRole('button', { name: 'Hide' }).click();
    expect(JSON.stringify(await page.evaluate(() => window.messages))).not.toContain('1111');
    expect(await page.content()).not.toContain('1111');
    expect(faults).toEqual([]);
  });
});

describe('a hostile page', () => {
  test('cannot look into a field, nor put it into a group of its own', async () => {
    const { page } = await open(groupOf());
    await allReady(page);
    await typeCard(page);
    const seen = await page.evaluate(() => {
      const tries: string[] = [];
      for (let at = 0; at < window.length; at++) {
        try {
          tries.push(JSON.stringify(Reflect.get(window, String(at)).vaultElement.read()));
        } catch (error) {
          tries.push(Object(error).name);
        }
      }
      return tries;
    });
    expect(seen).toEqual(FIELDS.map(() => 'SecurityError'));
  });

  test('with frames of another group, endpoint or place sends only what belongs together', async () => {
    const other = await world.capture();
    const { page } = await open(groupOf({}, ['card-number']));
    await allReady(page, 1);
    await page.evaluate(
      ([script, options]) => {
        const element = Object(globalThis).document.createElement('div');
        Object(globalThis).document.body.append(element);
        return import(String(script)).then(({ elements }) => {
          const group = elements(options);
          group.on('ready', (detail: unknown) => window.heard.push(['ready', detail]));
          group.mount(element, 'card-holder');
        });
      },
      [
        `${world.url}/forms/vault-forms.js`,
        { url: other.url, secret: other.secret, reference: 'stolen' },
      ] as const,
    );
    await allReady(page, 2);
    await page.frameLocator('#f0 iframe').getByRole('textbox').fill(NUMBER);
    await page.getByRole('button').click();
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), 'order-1')).toEqual({
      card_number: NUMBER,
      card_type: 'visa',
      last_four: '1111',
    });
  });

  test('cannot have one field twice, send twice at once, or open a field alone', async () => {
    const { page } = await open(groupOf({}, ['card-number', 'card-number']));
    await allReady(page, 2);
    await page.frameLocator('#f0 iframe').getByRole('textbox').fill(NUMBER);
    await page.getByRole('button').click();
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'elements_duplicate' });

    const before = await world.count();
    const twice = await open(groupOf({}, ['card-number']));
    await allReady(twice.page, 1);
    await twice.page.frameLocator('#f0 iframe').getByRole('textbox').fill(NUMBER);
    await twice.page.evaluate(() => {
      const frame = Object(Reflect.get(window, '0'));
      for (let n = 0; n < 50; n++) {
        frame.postMessage({ type: 'vault.submit' }, '*');
      }
    });
    await heard(twice.page, 'submit');
    await twice.page.waitForTimeout(300);
    expect((await world.count()) - before).toBeLessThanOrEqual(1);

    const alone = await world.page();
    const fragment = new URLSearchParams({ field: 'card-number', group: 'g', ...endpoint });
    await alone.goto(`${world.url}/forms/element#${fragment}`);
    await alone.waitForTimeout(300);
    expect(await alone.getByRole('textbox').count()).toBe(0);
    expect(alone.url()).toBe(`${world.url}/forms/element`);
  });

  test('that forges messages, wraps a frame, or takes its origin away changes nothing', async () => {
    const { page } = await open(groupOf({}, ['card-number']));
    await allReady(page, 1);
    await page.evaluate(() => {
      const frame = Object(Reflect.get(window, '0'));
      for (const data of [
        { type: 'vault.submit', extra: 1 },
        { type: 'vault.read' },
        { type: 'vault.success', token: 't', reference: 'r', user: 'u' },
        'vault.submit',
        null,
      ]) {
        frame.postMessage(data, '*');
      }
      // What a page tells itself is of no frame.
      Object(globalThis).postMessage(
        { type: 'vault.success', token: 'forged', reference: '', user: '' },
        '*',
      );
      const iframe = Object(globalThis).document.createElement('iframe');
      iframe.setAttribute('sandbox', 'allow-scripts');
      iframe.src = `${Object(globalThis)
        .document.querySelector('script[type=module]')
        .textContent.match(/https?:[^']+/)[0]
        .replace(/vault-forms.js$/, 'element')}#field=card-number&group=g&unique_id=x&secret=y`;
      Object(globalThis).document.body.append(iframe);
    });
    await page.waitForTimeout(500);
    const events = (await page.evaluate(() => window.heard)).map(([name]) => name);
    expect(events.filter((name) => name === 'submit' || name === 'error')).toEqual([]);
  });
});

describe('a hosted form', () => {
  test('has fields by type, and leads to where its owner wants, with the token', async () => {
    const types = ['email', 'tel', 'country', 'select', 'checkbox'] as const;
    const id = await world.form('custom', {
      frame_ancestors: [world.shop],
      success_url: world.serve('/thanks', '<h1>Thanks</h1>'),
      locale: 'de',
      additional_fields: [
        { name: 'number', label: 'Number', required: true },
        ...types.map((type) => ({ name: type, label: type, required: true, type })),
      ].map((field) => (field.name === 'select' ? { ...field, options: ['red', 'blue'] } : field)),
    });
    const page = await world.page();
    const { unique_id, secret } = endpoint;
    const fragment = new URLSearchParams({ unique_id, secret, reference: 'order-9' });
    await page.goto(`${world.url}/v1/capture/iframe/${id}#${fragment}`);
    await page.locator('[name=number]').fill('M-2');
    await page.locator('[name=email]').fill('ada');
    await page.locator('.vf-button').click();
    expect(await page.locator('#vf-email-error').textContent()).toBe('Vollständige E-Mail-Adresse eingeben.');
    expect(await axeFaults(page)).toEqual([]);
    await page.locator('[name=email]').fill('ada@shop.example');
    await page.locator('[name=tel]').fill('+44 20 7946 0000');
    await page.locator('[name=country]').selectOption({ label: 'Deutschland' });
    await page.locator('[name=select]').selectOption('blue');
    await page.locator('[name=checkbox]').check();
    await page.locator('.vf-button').click();
    await page.getByRole('heading', { name: 'Thanks' }).waitFor();
    const url = new URL(page.url());
    expect(page.url()).not.toContain(endpoint.secret);
    expect(await world.stored(url.searchParams.get('token') ?? '', 'order-9')).toEqual({
      ...{ number: 'M-2', email: 'ada@shop.example', tel: '+44 20 7946 0000' },
      ...{ country: 'DE', select: 'blue', checkbox: 'true' },
    });
  });
});
