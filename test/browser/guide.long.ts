import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { ENTRIES } from '../../scripts/guide/contents.ts';
import { axeFaults } from './axe.ts';
import { openGuideWorld } from './guide-world.ts';
import { useWorld } from './use-world.ts';

const DESKTOP = { viewport: { width: 1280, height: 900 } };
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

const world = useWorld(openGuideWorld);

/** How many pixels of the page lie outside of the window, to the side. */
function outside(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}

describe('every page', () => {
  test('fits a phone and a desk, and the browser has nothing to complain of', async () => {
    const { page, faults } = await world.open('/guide', PHONE);
    const wide: string[] = [];
    // Each page in both widths, the next one beginning with the width that the one before has ended with.
    let viewports = [PHONE.viewport, DESKTOP.viewport];
    for (const path of ['/guide', ...ENTRIES.map(({ address }) => `/guide/${address}`)]) {
      await page.goto(`${world.url}${path}`);
      for (const viewport of viewports) {
        await page.setViewportSize(viewport);
        if ((await outside(page)) > 0) {
          wide.push(`${path} at ${viewport.width}`);
        }
      }
      viewports = viewports.toReversed();
    }
    expect(wide).toEqual([]);
    expect(faults).toEqual([]);
  });
});

describe('for everybody', () => {
  const PAGES = [
    '/guide',
    '/guide/capture',
    '/guide/forms',
    '/guide/settings',
    '/guide/decisions/backup',
    '/guide/nothing',
  ];

  /** Looks at every page, the search and, on a phone, the contents. */
  async function inspect(page: Page, look: (place: string) => Promise<void>): Promise<void> {
    for (const path of PAGES) {
      await page.goto(`${world.url}${path}`);
      await look(path);
    }
    if (page.viewportSize()?.width === PHONE.viewport.width) {
      await page.getByRole('button', { name: 'Contents', exact: true }).click();
      await look('contents');
      await page.keyboard.press('Escape');
    }
    await page.keyboard.press('/');
    await page.keyboard.type('endpoint_gone');
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    await look('search');
  }

  test('axe finds nothing on a desk, in light and in dark colours', async () => {
    const { page } = await world.open('/guide', { ...DESKTOP, colorScheme: 'light' });
    const faults: string[] = [];
    await inspect(page, async (place) => {
      faults.push(...(await axeFaults(page)).map((fault) => `${place}: ${fault}`));
      await page.emulateMedia({ colorScheme: 'dark' });
      faults.push(...(await axeFaults(page, 'contrast')).map((fault) => `${place}, dark: ${fault}`));
      await page.emulateMedia({ colorScheme: 'light' });
    });
    expect(faults).toEqual([]);
  });

  // The colours of a text are those of the desk, but for what only a phone has: a short page shows all of that.
  test('axe finds nothing on a phone, in light and in dark colours', async () => {
    const { page } = await world.open('/guide', { ...PHONE, colorScheme: 'light' });
    const faults: string[] = [];
    await inspect(page, async (place) => {
      const isLong = place.startsWith('/') && place !== '/guide/nothing';
      const rules = isLong ? 'all but contrast' : 'all';
      faults.push(...(await axeFaults(page, rules)).map((fault) => `${place}: ${fault}`));
      if (!isLong) {
        await page.emulateMedia({ colorScheme: 'dark' });
        faults.push(...(await axeFaults(page, 'contrast')).map((fault) => `${place}, dark: ${fault}`));
        await page.emulateMedia({ colorScheme: 'light' });
      }
    });
    expect(faults).toEqual([]);
  });

  test('the keyboard reaches the page past the contents, and boxes only where they scroll', async () => {
    const { page } = await world.open('/guide/capture', DESKTOP);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('_page');
    // The script looks at a box once the browser has laid it out.
    await page.waitForFunction(
      `[...document.querySelectorAll('.code pre, .table')].every((box) => box.hasAttribute('tabindex') === box.scrollWidth > box.clientWidth)`,
    );
  });

  test('paper has the page alone', async () => {
    const { page } = await world.open('/guide/capture', DESKTOP);
    await page.emulateMedia({ media: 'print' });
    expect(
      await page.locator('#_contents, .headings, .neighbours, .copy').filter({ visible: true }).count(),
    ).toBe(0);
    expect(await page.getByRole('heading', { level: 1 }).isVisible()).toBe(true);
  });
});

test('colours are those of the system until others are chosen, and the choice stays', async () => {
  const { page, faults } = await world.open('/guide', { ...DESKTOP, colorScheme: 'light' });
  const back = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  expect(await back()).toBe('rgb(255, 255, 255)');
  await page.getByLabel('Colours').selectOption('dark');
  expect(await back()).toBe('rgb(15, 15, 15)');
  expect(await axeFaults(page, 'contrast')).toEqual([]);
  await page.goto(`${world.url}/guide/items`);
  expect(await back()).toBe('rgb(15, 15, 15)');
  await page.getByLabel('Colours').selectOption('system');
  expect(await back()).toBe('rgb(255, 255, 255)');
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await back()).toBe('rgb(15, 15, 15)');
  expect(faults).toEqual([]);
});

describe('without a script', () => {
  test('contents, outline and links work, and nothing is offered that does not', async () => {
    const { page } = await world.open('/guide/capture', { ...PHONE, javaScriptEnabled: false });
    const rules = page.getByRole('link', { name: 'Rules', exact: true }).first();
    expect(await rules.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Contents', exact: true }).click();
    await rules.click();
    expect(page.url()).toBe(`${world.url}/guide/rules`);
    await page.getByText('On this page').first().click();
    await page.getByRole('link', { name: 'Templates' }).first().click();
    expect(page.url()).toBe(`${world.url}/guide/rules#templates`);
    expect(await page.locator('.search-open, .copy').filter({ visible: true }).count()).toBe(0);
  });
});

describe('on a page', () => {
  test('code is copied as it stands', async () => {
    const { page } = await world.open('/guide/capture', {
      ...DESKTOP,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const block = page.locator('figure.code').first();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toStartWith(`VAULT=${world.url}/v1\nAUTH=`);
    expect(copied).toBe((await block.locator('code').textContent())?.trimEnd());
  });

  test.each(['/guide/quick-start', '/guide/forms', '/guide/one-shop'])(
    'the examples of %s call the vault that shows them',
    async (path) => {
      const { page, faults } = await world.open(path, DESKTOP);
      const shown = (await page.locator('article').textContent()) ?? '';
      expect(shown).toContain(world.url);
      expect(shown).not.toContain('http://127.0.0.1:8080');
      expect(faults).toEqual([]);
    },
  );

  test('the outline follows the reader, and neighbours lead on', async () => {
    const { page } = await world.open('/guide/capture', DESKTOP);
    await page
      .getByRole('navigation', { name: 'On this page' })
      .getByRole('link', { name: 'Idempotency' })
      .click();
    await page.locator('.headings a[aria-current]', { hasText: 'Idempotency' }).waitFor();
    await page.getByRole('link', { name: 'Next' }).click();
    expect(page.url()).toBe(`${world.url}/guide/inbound`);
    expect(await page.locator('#_contents [aria-current]').textContent()).toBe('Inbounds');
  });

  test('the reference of the API is a step away, and leads back', async () => {
    const { page } = await world.open('/guide', DESKTOP);
    await page.getByRole('link', { name: 'API reference' }).first().click();
    await page.waitForURL(`${world.url}/docs`);
    await page.getByRole('link', { name: 'Guide', exact: true }).first().click();
    await page.waitForURL(`${world.url}/guide`);
  });
});
