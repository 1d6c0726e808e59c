import { beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { FormSettings, FormTypeName } from '../../server/form/schema.ts';
import { axeFaults } from './axe.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { overflow, small } from './layout.ts';
import { useWorld } from './use-world.ts';

const TYPES = ['pcd', 'ach', 'custom'] as const;
const STYLES = ['vault', 'modern'] as const;
const MODES = ['light', 'dark'] as const;
const LOOKS = STYLES.flatMap((style) => MODES.map((scheme) => ({ style, scheme })));
const OWN_FIELDS = [
  { name: 'card_number', label: 'Number', required: true },
  { name: 'note', label: 'Note' },
];
const VALUES: Readonly<Record<FormTypeName, Readonly<Record<string, string>>>> = {
  pcd: { card_number: '4111111111111111', card_holder: 'Ada Lovelace', expiry: '12/40', cvv: '123' },
  ach: { account_number: '000123456789', routing_number: '110000000', account_holder: 'Ada Lovelace' },
  custom: { card_number: '4111111111111111' },
};

const world = useWorld(openFormsWorld);
let page: Page;
let endpoint: Endpoint;

beforeAll(async () => {
  endpoint = await world.capture();
  page = await world.page({ reducedMotion: 'reduce', viewport: { width: 480, height: 900 } });
});

async function open(
  type: FormTypeName,
  settings: FormSettings = {},
  visit: object = endpoint,
): Promise<void> {
  const own = type === 'custom' ? { additional_fields: OWN_FIELDS } : {};
  const form = await world.form(type, { ...own, ...settings });
  await page.goto(`${world.url}/v1/capture/iframe/${form}#${new URLSearchParams({ ...visit })}`);
  await page.locator('.vf-panel').waitFor();
}

/** What axe finds in every look: they differ in two attributes of the page alone. */
async function faultsOfLooks(): Promise<string[]> {
  const found: string[] = [];
  for (const look of LOOKS) {
    await page.evaluate(`Object.assign(document.documentElement.dataset, ${JSON.stringify(look)})`);
    found.push(...(await axeFaults(page)).map((fault) => `${look.style} ${look.scheme}: ${fault}`));
  }
  return found;
}

async function fillIn(type: FormTypeName): Promise<void> {
  for (const [name, value] of Object.entries(VALUES[type])) {
    await page.locator(`[name=${name}]`).fill(value);
  }
  if (type === 'ach') {
    await page.locator('.vf-choice').first().click();
  }
}

test.each(LOOKS)('the look $style, $scheme is what the page says of itself', async ({ style, scheme }) => {
  await open('pcd', { theme: { style }, color_mode: scheme });
  const root = page.locator(`html[data-style=${style}][data-scheme=${scheme}]`);
  expect(await root.count()).toBe(1);
});

describe('axe finds nothing', () => {
  test.each(TYPES)('in a form of type %s', async (type) => {
    await open(type);
    const empty = await faultsOfLooks();
    await page.locator('.vf-button').click();
    await page.locator('.vf-error:visible').first().waitFor();
    const errors = await faultsOfLooks();
    await fillIn(type);
    await page.locator('.vf-button').click();
    await page.locator('.vf-success').waitFor();
    const saved = await faultsOfLooks();
    expect({ empty, errors, saved }).toEqual({ empty: [], errors: [], saved: [] });
  });

  test('that it would not find if it were there', async () => {
    const css = '.vf-label { color: #ddd !important }';
    await open('pcd', { color_mode: 'light', embedded_css: Buffer.from(css).toString('base64') });
    const found = (await axeFaults(page)).map((fault) => fault.split(':')[0]);
    expect(found).toEqual(Array.from({ length: 4 }, () => 'serious color-contrast'));
  });

  test('in a keypad, and in an alert', async () => {
    await open('pcd', { force_keypad: true }, {});
    await page.locator('.vf-input').first().click();
    expect(await faultsOfLooks()).toEqual([]);
    await open('custom', {}, {});
    await fillIn('custom');
    await page.locator('.vf-button').click();
    await page.locator('.vf-alert:visible').waitFor();
    expect(await faultsOfLooks()).toEqual([]);
  });

  test('in a stored item', async () => {
    const { unique_id, secret } = await world.retrieve();
    const token = await world.owner.store('shop', VALUES.pcd, { reference: 'r' });
    const visit = { unique_id, secret, token, reference: 'r' };
    await open('pcd', {}, visit);
    const asked = await faultsOfLooks();
    await page.getByRole('button', { name: 'Show details' }).click();
    await page.locator('.vf-value').first().waitFor();
    const hidden = await faultsOfLooks();
    await page.locator('.vf-show').click();
    const shown = await faultsOfLooks();
    await open('pcd', {}, { ...visit, token: 'f'.repeat(64) });
    await page.getByRole('button', { name: 'Show details' }).click();
    await page.locator('.vf-alert').waitFor();
    const refused = await faultsOfLooks();
    expect({ asked, hidden, shown, refused }).toEqual({ asked: [], hidden: [], shown: [], refused: [] });
  });

  test.each([
    ['light', '#ffeb3b', '#cddc39'],
    ['light', '#0a0a0a', '#000'],
    ['dark', '#1a237e', '#4a0000'],
    ['dark', '#ffeb3b', '#fff'],
    ['light', 'hsl(200 90% 60%)', 'hotpink'],
  ] as const)('in the %s with the colours %s and %s', async (scheme, primary, error) => {
    const theme = {
      primary_color: primary,
      card_primary_color: primary,
      error_color: error,
      success_color: primary,
    };
    await open('pcd', { theme, color_mode: scheme });
    await page.locator('.vf-button').click();
    await page.locator('.vf-error:visible').first().waitFor();
    const errors = await axeFaults(page);
    await fillIn('pcd');
    await page.locator('.vf-button').click();
    await page.locator('.vf-success').waitFor();
    expect([...errors, ...(await axeFaults(page))]).toEqual([]);
  });
});

/** The name, or the words, of what has the focus. */
function focused(): Promise<string> {
  return page.evaluate(
    'document.activeElement.name || document.activeElement.textContent || document.activeElement.tagName',
  );
}

describe('with the keyboard alone', () => {
  test('one gets through a form in its order, and to what is wrong', async () => {
    await open('pcd', { additional_fields: [{ name: 'note', label: 'Note' }] });
    const order: string[] = [];
    for (let at = 0; at < 6; at += 1) {
      await page.keyboard.press('Tab');
      order.push(await focused());
    }
    expect(order).toEqual(['card_number', 'card_holder', 'expiry', 'cvv', 'note', 'Save card']);
    await page.keyboard.press('Enter');
    await page.locator('[name=card_number]:focus').waitFor();
    await page.keyboard.press('Shift+Tab');
    expect(await focused()).not.toBe('card_holder');
  });

  test('one uses the keypad, and leaves it', async () => {
    await open('pcd', { force_keypad: true });
    await page.keyboard.press('Tab');
    await page.locator('.vf-keypad').waitFor();
    await page.keyboard.press('Tab');
    const digit = await focused();
    expect(digit).toMatch(/^\d$/);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Space');
    expect(await page.locator('[name=card_number]').inputValue()).toBe(digit + digit);
    await page.keyboard.press('Escape');
    expect(await page.locator('.vf-keypad').count()).toBe(0);
    expect(await focused()).toBe('card_number');
    await page.keyboard.press('ArrowDown');
    await page.locator('.vf-keypad').waitFor();
    await page.locator('.vf-key-done').focus();
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('card_number');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('card_holder');
  });

  test('one shows, copies and hides a stored item', async () => {
    const { unique_id, secret } = await world.retrieve();
    const token = await world.owner.store('shop', VALUES.pcd, { reference: 'r' });
    await open('pcd', {}, { unique_id, secret, token, reference: 'r' });
    await page.getByRole('button', { name: 'Show details' }).press('Enter');
    await page.locator('.vf-value').first().waitFor();
    await page.locator('.vf-copy').last().focus();
    await page.keyboard.press('Enter');
    await page.locator('.vf-copy', { hasText: 'Copied' }).waitFor();
    expect(await focused()).toBe('Copied');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    expect(await page.locator('.vf-value').first().textContent()).toBe('4111 1111 1111 1111');
    expect(await focused()).toBe('Hide');
    expect(await page.locator('.vf-show').getAttribute('aria-pressed')).toBe('true');
  });
});

describe('on a narrow screen', () => {
  const SMALL = { width: 320, height: 640 };
  beforeAll(() => page.setViewportSize(SMALL));

  test.each(STYLES)('everything of style %s fits, and can be hit with a finger', async (style) => {
    const long = 'Donaudampfschifffahrtsgesellschaftskapitän'.repeat(3);
    const additional_fields = [{ name: 'long', label: long }];
    for (const locale of ['de', 'fr', 'ar'] as const) {
      await open('pcd', { theme: { style }, locale, force_keypad: true, additional_fields });
      await page.locator('.vf-button').click();
      await page.locator('.vf-keypad').waitFor();
      expect(await overflow(page)).toEqual([]);
      expect(await small(page)).toEqual([]);
    }
    await open('ach', { theme: { style }, locale: 'es' });
    await page.locator('.vf-button').click();
    expect([...(await overflow(page)), ...(await small(page))]).toEqual([]);
  });
});
