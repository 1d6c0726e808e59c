import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { openGuideWorld } from './guide-world.ts';
import { useWorld } from './use-world.ts';

const world = useWorld(openGuideWorld);
let page: Page;

const DESKTOP = { viewport: { width: 1280, height: 900 } };
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

function input() {
  return page.getByRole('combobox', { name: 'Search guide and API' });
}
function options() {
  return page.getByRole('dialog').getByRole('option');
}

/** Opens the search as a person does, who presses again when the page was not ready yet. */
async function openSearch(): Promise<void> {
  for (let presses = 0; presses < 20 && !(await input().isVisible()); presses++) {
    await page.keyboard.press('/');
    await input()
      .waitFor({ timeout: 1_000 })
      .catch(() => undefined);
  }
}

/** The places that are found, best first, once the list is that of this query. */
async function find(query: string): Promise<string[]> {
  await input().fill('');
  await page.waitForFunction(`document.querySelectorAll('[role=option]').length === 0`);
  await input().fill(query);
  await options().first().waitFor();
  return page.locator('.search-where').allTextContents();
}

describe('search', () => {
  test('is loaded when it is first opened, and opens by key and by press', async () => {
    ({ page } = await world.open('/guide/capture', DESKTOP));
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.endsWith('.json')) {
        asked.push(pathname);
      }
    });
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(asked).toEqual([]);
    for (const open of [
      () => page.keyboard.press('/'),
      () => page.keyboard.press('Control+k'),
      () => page.getByRole('button', { name: 'Search' }).filter({ visible: true }).click(),
    ]) {
      await open();
      await input().waitFor();
      expect(await input().evaluate((element) => element.matches(':focus'))).toBe(true);
      await page.keyboard.press('Escape');
      await input().waitFor({ state: 'hidden' });
    }
    expect(asked).toEqual(['/guide/search.json']);
  });

  test('takes a slash in the text as a slash', async () => {
    await page.keyboard.press('/');
    await page.keyboard.type('a/b');
    expect(await input().inputValue()).toBe('a/b');
  });

  test.each([
    ['endpoint_gone', /^Errors›.*endpoint_gone$/],
    ['VAULT_DRAIN_SECONDS', /^Settings›.*VAULT_DRAIN_SECONDS$/],
    ['vault_drain_seconds', /^Settings›.*VAULT_DRAIN_SECONDS$/],
    ['test_card', /^Errors›.*test_card$/],
    ['decryptAll', /^SDK›.*decryptAll$/],
    ['VaultTimeoutError', /^SDK›.*VaultTimeoutError$/],
  ] as const)('finds the name %s first where it is explained', async (query, place) => {
    expect((await find(query))[0]).toMatch(place);
  });

  test.each([
    ['the beginning of a word', 'passph', 'Keys'],
    ['a word with a letter missing', 'passphase', 'Keys'],
    ['a word with two letters changed round', 'certifciates', 'Client certificates'],
    ['a part of a name', 'drain', 'Settings'],
    ['several words', 'webhook signature', 'Webhooks'],
    ['a question', 'how do I delete a card', 'Items›Delet'],
    ['a word in another form', 'deleting cards', 'Items›Delet'],
    ['a payment service', 'stripe', 'Relay'],
    ['what pages ask for', 'pagination', 'Items›Listing'],
    ['a language', 'spanish', 'Hosted forms'],
    ['a picture', 'logo', 'Hosted forms›Themes'],
    ['a certificate', 'self-signed', 'Settings'],
    ['who did it', 'who accessed', 'Security log'],
  ])('finds %s: %s', async (_what, query, expected) => {
    expect((await find(query)).slice(0, 5).some((place) => place.startsWith(expected))).toBe(true);
  });

  test.each([
    ['rotate', /^Rotate a passphrase$/],
    ['backup', /^Backups$/],
    ['mask', /^Settings›Masking$/],
    ['idempotency', /^(?!Errors|SDK)[^›]+(?:›[^›_]+)*$/],
    ['how do I change a passphrase', /passphrase/],
  ])('finds what is told about %s before names that hold the word', async (query, place) => {
    expect((await find(query))[0]).toMatch(place);
  });

  test('shows a piece of the text with the words marked, and no markup of it', async () => {
    await find('webhook signature');
    expect(await page.locator('.search-text mark').first().textContent()).toMatch(/^(?:webhook|signature)/i);
    // The guide to forms has script tags in its examples.
    await find('vault-forms.js script');
    expect(await page.locator('.search-results script').count()).toBe(0);
    expect((await page.locator('.search-text').allTextContents()).join(' ')).toContain('<script');
  });

  test('is moved through with the arrow keys, and Enter opens', async () => {
    const places = await find('endpoint_gone');
    const chosen = () => page.locator('[role=option][aria-selected=true]');
    expect(await chosen().count()).toBe(1);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    expect(await chosen().locator('.search-where').textContent()).toBe(places[1] ?? '');
    expect(await input().getAttribute('aria-activedescendant')).toBe(await chosen().getAttribute('id'));
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await chosen().locator('.search-where').textContent()).toBe(places.at(-1) ?? '');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/guide\/errors#.*endpoint_gone$/);
    expect(await page.locator(':target').count()).toBe(1);
    // There at once, however far it is.
    expect(await page.evaluate(`document.querySelector(':target').getBoundingClientRect().top`)).toBeWithin(
      0,
      900,
    );
  });

  test('is closed by one press of Escape, with words in it', async () => {
    await openSearch();
    await find('token');
    await page.keyboard.press('Escape');
    await input().waitFor({ state: 'hidden' });
  });

  test('closes when what was found is on this page', async () => {
    await openSearch();
    await find('key_not_empty');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/guide\/errors#.*key_not_empty$/);
    await input().waitFor({ state: 'hidden' });
  });

  test('says that nothing was found, in the words that were typed', async () => {
    await openSearch();
    await input().fill('<zzqqzzqq>');
    await page.getByText('Nothing found for “<zzqqzzqq>”.').waitFor();
    expect(await options().count()).toBe(0);
  });

  test('says so when its index does not come, and tries again', async () => {
    ({ page } = await world.open('/guide', DESKTOP));
    await page.route('**/guide/search.json', (route) => route.abort());
    await openSearch();
    await input().fill('token');
    await page.getByText('The search could not be loaded.').waitFor();
    await page.unroute('**/guide/search.json');
    await input().fill('tokens');
    await options().first().waitFor();
    expect(await page.getByText('The search could not be loaded.').count()).toBe(0);
  });

  test('works on a phone, by touch', async () => {
    ({ page } = await world.open('/guide', PHONE));
    await page.getByRole('button', { name: 'Search' }).filter({ visible: true }).tap();
    const [first = ''] = await find('VAULT_DRAIN_SECONDS');
    expect(first).toMatch(/^Settings›/);
    expect(await page.evaluate('document.documentElement.scrollWidth <= 320')).toBe(true);
    await options().first().tap();
    await page.waitForURL(/\/guide\/settings#vault_drain_seconds$/);
  });
});
