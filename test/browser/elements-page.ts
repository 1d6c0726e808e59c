/** A page of the shop with single fields, whose policy allows the vault alone, and which hears all that a page can. */
import type { Page } from 'playwright-core';
import type { Endpoint, FormsWorld } from './forms-world.ts';

export const NUMBER = '4111111111111111';
export const FIELDS = ['card-number', 'card-expiry', 'card-cvc', 'card-holder'] as const;

/** What the shop's page keeps for the tests. */
export interface ShopWindow {
  readonly heard: [string, unknown][];
  readonly messages: unknown[];
  readonly card: {
    submit(): Promise<unknown>;
    destroy(): void;
    mount(element: unknown, field: string): unknown;
  };
  readonly handles: {
    readonly iframe: { remove(): void };
    destroy(): void;
    clear(): void;
    validate(): void;
  }[];
  readonly length: number;
}

declare const window: ShopWindow;

/** Serves a page of the shop. */
export function pageOf(world: FormsWorld, body: string, script: string): string {
  return world.serve(
    `/page-${Math.trunc(performance.now() * 1000)}`,
    `<!doctype html><html lang="en"><head><title>Shop</title><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; script-src 'nonce-shop' ${world.url}; frame-src ${world.url}; style-src 'nonce-shop'">
<style nonce="shop">.field { height: 40px; border: 1px solid #888; }</style></head>
<body><main><h1>Pay</h1>${body}</main>
<script nonce="shop">window.heard = []; window.messages = []; addEventListener('message', ({ data }) => messages.push(data));</script>
<script type="module" nonce="shop">${script}</script></body></html>`,
  );
}

/** Stores a card under a reference; gives markup that shows its number, with these parameters of its endpoint. */
export async function revealOf(
  world: FormsWorld,
  reference: string,
  query: Readonly<Record<string, string>> = {},
): Promise<string> {
  const token = await world.owner.store('shop', { card_number: NUMBER }, { reference });
  const { url, secret } = await world.retrieve({ token, reference, ...query });
  return `<vault-reveal class="field" url="${url}" secret="${secret}" token="${token}" reference="${reference}" locale="en"></vault-reveal>`;
}

/** Serves a page with these elements of ours. */
export function elementsIn(world: FormsWorld, body: string): string {
  return pageOf(world, body, `import '${world.url}/forms/vault-forms.js';`);
}

/** Serves a page with a group of fields, and a button that sends it. */
export function groupOf(
  world: FormsWorld,
  { url, secret }: Endpoint,
  options: Record<string, unknown> = {},
  fields: readonly string[] = FIELDS,
): string {
  const given = { url, secret, reference: 'order-1', locale: 'en', ...options };
  return pageOf(
    world,
    `${fields.map((_, at) => `<div class="field" id="f${at}"></div>`).join('')}<button>Pay</button>`,
    `import { elements } from '${world.url}/forms/vault-forms.js';
const card = window.card = elements(${JSON.stringify(given)});
for (const name of ['ready', 'change', 'focus', 'blur', 'submit', 'error']) card.on(name, (detail) => heard.push([name, detail]));
window.handles = ${JSON.stringify(fields)}.map((field, at) => card.mount('#f' + at, field));
window.pay = () => card.submit().then((reply) => heard.push(['reply', reply]), (error) => heard.push(['failed', error]));
document.querySelector('button').onclick = pay;`,
  );
}

/** Opens a page, and notes all that it complains of. */
export async function open(
  world: FormsWorld,
  url: string,
): Promise<{ readonly page: Page; readonly faults: string[] }> {
  const page = await world.page();
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(url);
  return { page, faults };
}

/** Opens a page with this markup, which hears the events of its elements. */
export function openMarkup(
  world: FormsWorld,
  body: string,
): Promise<{ readonly page: Page; readonly faults: string[] }> {
  const script = `for (const name of ['ready', 'change', 'submit', 'error']) addEventListener('vault-' + name, ({ detail }) => heard.push([name, detail]), true);
import('${world.url}/forms/vault-forms.js');`;
  return open(world, pageOf(world, body, script));
}

/** All events with a name that the page has heard, once there are so many. */
export async function heardAll(
  page: Page,
  name: string,
  count: number,
): Promise<readonly Record<string, unknown>[]> {
  for (let tries = 0; tries < 600; tries++) {
    const found = (await page.evaluate(() => window.heard)).filter(([event]) => event === name);
    if (found.length >= count) {
      return found.map(([, detail]) => detail as Record<string, unknown>);
    }
    await Bun.sleep(50);
  }
  throw new Error(`no ${name}: ${JSON.stringify(await page.evaluate(() => window.heard))}`);
}

/** The last event with a name, once there is one. */
export async function heard(page: Page, name: string): Promise<Record<string, unknown>> {
  return (await heardAll(page, name, 1)).at(-1) ?? {};
}

/** Waits until so many fields have said that they are ready. */
export async function allReady(page: Page, count: number = FIELDS.length): Promise<void> {
  await heardAll(page, 'ready', count);
}

/** The input in a container of the page. */
export function input(page: Page, container: string) {
  return page.frameLocator(`${container} iframe`).locator('input');
}

/** Types a whole card with the keyboard alone, from the first field on. */
export async function typeCard(page: Page): Promise<void> {
  await input(page, '#f0').focus();
  for (const [at, text] of [NUMBER, '1239', '123', 'Ada Lovelace'].entries()) {
    // The focus goes from process to process, and a key may be faster.
    await page.frameLocator(`#f${at} iframe`).locator('input:focus').waitFor();
    await page.keyboard.type(text);
    await page.keyboard.press('Tab');
  }
  await page.locator('button:focus').waitFor();
}
