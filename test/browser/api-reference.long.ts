import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import api from '../../sdk/openapi.json' with { type: 'json' };
import { axeFaults } from './axe.ts';
import { type GuideWorld, openGuideWorld } from './guide-world.ts';
import { useWorld } from './use-world.ts';

const DESKTOP = { viewport: { width: 1280, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const PAGES = ['/docs', ...api.tags.map(({ name }) => `/docs/${name}`)];
/** All kinds of them. */
const KINDS = ['/docs', '/docs/capture', '/docs/webhook'];
/** It takes a small part of that: more says that something is waited for, and not that the machine is busy. */
const USABLE_MS_MAX = 10_000;

const world = useWorld(openGuideWorld);

/** Opens the first page, and gathers the hosts that it and all after it ask. */
async function open(path: string, options: Parameters<GuideWorld['open']>[1]) {
  const { page, faults } = await world.open(path, options);
  const hosts = new Set<string>();
  page.on('request', (request) => hosts.add(new URL(request.url()).origin));
  return { page, faults, hosts };
}

function focused<Result>(page: Page, expression: string): Promise<Result> {
  return page.evaluate<Result>(`((focus) => ${expression})(document.activeElement)`);
}

/** How many pixels of the page lie outside of the window, to the side. */
function outside(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

describe('axe and the browser find nothing, and no other host is asked', () => {
  test.each(PAGES)('%s, on a desk', async (path) => {
    const { page, faults, hosts } = await open('/docs', { ...DESKTOP, colorScheme: 'light' });
    await page.goto(`${world.url}${path}`);
    faults.push(...(await axeFaults(page)));
    expect(await outside(page)).toBe(0);
    if (KINDS.includes(path)) {
      await page.emulateMedia({ colorScheme: 'dark' });
      faults.push(...(await axeFaults(page, 'contrast')).map((fault) => `dark: ${fault}`));
    }
    expect({ faults, hosts: [...hosts] }).toEqual({ faults: [], hosts: [world.url] });
  });

  // Colours do not depend on the width; what only a phone shows of them is the same as in the guide.
  test.each(KINDS)('%s, on a phone', async (path) => {
    const { page, faults, hosts } = await open('/docs', { ...PHONE, colorScheme: 'light' });
    await page.goto(`${world.url}${path}`);
    faults.push(...(await axeFaults(page, 'all but contrast')));
    expect(await outside(page)).toBe(0);
    expect({ faults, hosts: [...hosts] }).toEqual({ faults: [], hosts: [world.url] });
  });
});

test('an operation is there at once, and a link of the contents leads to the next', async () => {
  const { page } = await open('/guide', DESKTOP);
  const begin = performance.now();
  await page.goto(`${world.url}/docs/vault#readItems`);
  expect(await page.locator(':target').textContent()).toStartWith('Decrypt an item, or list items');
  await page.locator('#_contents').getByRole('link', { name: 'Update an item' }).click();
  await page.locator('#updateItem:target').waitFor();
  expect(performance.now() - begin).toBeLessThan(USABLE_MS_MAX);
  await page.locator('#_contents [aria-current]', { hasText: 'Update an item' }).waitFor();
});

test('without a script all is there, and leads on', async () => {
  const { page } = await open('/docs', { ...PHONE, javaScriptEnabled: false });
  await page.getByRole('link', { name: 'Store an object', exact: true }).first().click();
  expect(page.url()).toBe(`${world.url}/docs/vault#storeItem`);
  expect(await page.getByText('http://127.0.0.1:8080/v1/vault?key=customers-2026').first().isVisible()).toBe(
    true,
  );
  await page.getByRole('button', { name: 'Contents', exact: true }).click();
  await page.locator('#_contents').getByRole('link', { name: 'Keys', exact: true }).click();
  expect(page.url()).toBe(`${world.url}/docs/key`);
});

test('the keyboard passes over the contents, and what it reaches is marked', async () => {
  const { page } = await open('/docs/key', DESKTOP);
  await page.keyboard.press('Tab');
  expect(await focused(page, 'focus.textContent')).toBe('Skip to the page');
  expect(await focused<number>(page, 'focus.getBoundingClientRect().left')).toBeGreaterThanOrEqual(0);
  await page.keyboard.press('Enter');
  expect(await focused(page, 'focus.id')).toBe('_page');
  await page.keyboard.press('Tab');
  expect(await focused(page, "focus.closest('article') !== null")).toBe(true);
  expect(await focused(page, 'getComputedStyle(focus).outlineStyle')).toBe('solid');
});

test('the colours are those that were chosen in the guide', async () => {
  const { page } = await open('/guide', { ...DESKTOP, colorScheme: 'light' });
  const back = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  await page.getByLabel('Colours').selectOption('dark');
  await page.goto(`${world.url}/docs`);
  expect(await back()).toBe('rgb(15, 15, 15)');
  expect(await page.getByLabel('Colours').inputValue()).toBe('dark');
});

test('the search finds an operation by its name and by its path', async () => {
  const { page } = await open('/docs', DESKTOP);
  for (const words of ['decryptItems', '/v1/vault/batch/decrypt']) {
    await page.getByRole('button', { name: 'Search' }).filter({ visible: true }).click();
    await page.getByRole('combobox', { name: 'Search guide and API' }).fill(words);
    await page.getByRole('option', { name: 'API›Items›Decrypt many items' }).first().click();
    await page.waitForURL(`${world.url}/docs/vault#decryptItems`);
  }
});

test.each([
  ['a desk', DESKTOP, 'beside'],
  ['a phone', PHONE, 'below'],
] as const)(
  'on %s no line of an example is cut off, and TypeScript has its place',
  async (_name, options, place) => {
    const { page } = await open('/docs/vault', options);
    const cut = await page.evaluate<number>(
      "[...document.querySelectorAll('.example pre')].filter((pre) => pre.scrollWidth > pre.clientWidth).length",
    );
    expect(cut).toBe(0);
    const [curl, typescript] = await page.evaluate<readonly [number, number][]>(
      "[...document.querySelectorAll('#storeItem ~ .example > div')].slice(0, 2).map((div) => { const { x, y } = div.getBoundingClientRect(); return [x, y]; })",
    );
    expect(place === 'beside' ? curl?.[1] : curl?.[0]).toBe(
      place === 'beside' ? typescript?.[1] : typescript?.[0],
    );
    expect(curl).toHaveLength(2);
    expect(curl).not.toEqual(typescript);
  },
);
