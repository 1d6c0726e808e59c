import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { FORM_LOCALES, type FormSettings, type FormTypeName } from '../../server/form/schema.ts';
import { axeFaults } from './axe.ts';
import { type Shown, showForm } from './forms-shop.ts';
import { openFormsWorld, USER } from './forms-world.ts';
import { cutOff, overflow } from './layout.ts';
import { useWorld } from './use-world.ts';

const STYLES = ['vault', 'modern'] as const;
const DISPLAYS = ['standalone', 'embedded'] as const;
const LOOKS = STYLES.flatMap((style) => DISPLAYS.map((display) => [style, display] as const));
const CARD = { card_number: '4111 1111 1111 1111', card_holder: 'Ada Lovelace', expiry: '12/40', cvv: '123' };
const TYPED: NonNullable<FormSettings['additional_fields']> = [
  { name: 'email', label: 'E-mail', type: 'email', required: true },
  { name: 'country', label: 'Country', type: 'country', required: true },
  { name: 'size', label: 'Size', type: 'select', options: ['S', 'M'.repeat(99)] },
  { name: 'terms', label: 'I agree to the terms. '.repeat(5), type: 'checkbox', required: true },
];
declare function getComputedStyle(
  element: unknown,
): Readonly<Record<'paddingRight' | 'outlineStyle' | 'borderBottomWidth', string>>;

/** What a page has beside the frame, to its left and right together. */
const MARGINS = 16;

const world = useWorld(openFormsWorld);
let page: Page;

/** A shop's page whose frame has a width. */
async function openShop(width: number, options: object = {}): Promise<void> {
  const viewport = { width: width + MARGINS, height: 1200 };
  page = await world.page({ viewport, reducedMotion: 'reduce', ...options });
}

async function capture(type: FormTypeName, settings: FormSettings): Promise<Shown> {
  const own = type === 'custom' ? { additional_fields: TYPED } : {};
  const form = await world.form(type, { ...own, ...settings });
  const shown = await showForm(world, page, { way: 'element', form, endpoint: await world.capture() });
  return settled(shown);
}

async function retrieve(settings: FormSettings, query: Record<string, string> = {}): Promise<Shown> {
  const item = { ...CARD, note: 'A long text. '.repeat(20), code: 'Donaudampfschifffahrt'.repeat(5) };
  const token = await world.owner.store(USER, item, { reference: 'r' });
  const additional_fields = [{ name: 'note', label: 'A label that is long. '.repeat(5) }, { name: 'code' }];
  const form = await world.form('pcd', { additional_fields, ...settings });
  const endpoint = await world.retrieve(query);
  const shown = await showForm(world, page, { way: 'element', form, endpoint, token, reference: 'r' });
  await shown.form.locator('.vf-value').first().waitFor();
  return settled(shown);
}

/** The frame has its width, and is as high as its form. The policy of the form's page lets nothing wait inside of it. */
async function settled(shown: Shown): Promise<Shown> {
  const width = (page.viewportSize()?.width ?? 0) - MARGINS;
  const isSettled = `innerWidth === ${width}
    && innerHeight === Math.ceil(document.querySelector('vault-form').getBoundingClientRect().height)`;
  while (!(await shown.inside.evaluate(isSettled))) {
    await Bun.sleep(20);
  }
  return shown;
}

/** Gives the frame of a form another width. */
async function resize(shown: Shown, width: number): Promise<void> {
  await page.setViewportSize({ width: width + MARGINS, height: 1200 });
  await settled(shown);
}

describe.each(LOOKS)('in style %s, %s', (style, display_mode) => {
  const settings = { theme: { style }, display_mode };

  test('no shadow and no outline is cut off by a frame of 320 or 720, whatever has the focus', async () => {
    await openShop(720);
    for (const show of [() => capture('pcd', settings), () => retrieve(settings)]) {
      const shown = await show();
      const { inside } = shown;
      const stops = await inside.locator('input, button').count();
      const faults = await cutOff(inside);
      // To the last in the one width, and from there back to the first in the other.
      for (let at = 0; at < stops; at += 1) {
        await page.keyboard.press('Tab');
        expect(await inside.evaluate('document.activeElement !== document.body')).toBe(true);
        faults.push(...(await cutOff(inside)));
      }
      await resize(shown, 320);
      faults.push(...(await cutOff(inside)));
      for (let at = 1; at < stops; at += 1) {
        await page.keyboard.press('Shift+Tab');
        expect(await inside.evaluate('document.activeElement !== document.body')).toBe(true);
        faults.push(...(await cutOff(inside)));
      }
      await inside.evaluate('document.activeElement.blur()');
      faults.push(...(await cutOff(inside)));
      expect(faults).toEqual([]);
      await page.setViewportSize({ width: 720 + MARGINS, height: 1200 });
    }
  });

  test('a frame of 1280 has a form of at most 720, in its middle', async () => {
    await openShop(1280);
    const { form } = await capture('pcd', settings);
    const { x = 0, width = 0 } = (await form.locator('.vf-panel').boundingBox()) ?? {};
    expect(width).toBeGreaterThan(400);
    expect(width).toBeLessThanOrEqual(720);
    expect(x + width / 2).toBeCloseTo((1280 + MARGINS) / 2, 0);
  });
});

/** What sticks out of a form in each style: they differ in one attribute of the page alone. */
async function overflowOfStyles({ inside }: Shown): Promise<string[]> {
  const found: string[] = [];
  for (const style of STYLES) {
    await inside.evaluate(`document.documentElement.dataset.style = '${style}'; void 0`);
    found.push(...(await overflow(inside)).map((each) => `${style}: ${each}`));
  }
  return found;
}

test.each(FORM_LOCALES)('nothing sticks out of a frame of 320, with all errors, in %s', async (locale) => {
  await openShop(320);
  for (const type of ['pcd', 'ach', 'custom'] as const) {
    const shown = await capture(type, { locale });
    await shown.form.locator('.vf-button').click();
    await shown.form.locator('.vf-error:visible').first().waitFor();
    expect(await overflowOfStyles(shown)).toEqual([]);
  }
  const shown = await retrieve({ locale });
  await shown.form.locator('.vf-show').click();
  expect(await overflowOfStyles(shown)).toEqual([]);
});

test('a list has an arrow, which leaves room for what is chosen', async () => {
  await openShop(320);
  const { form } = await capture('custom', { locale: 'en' });
  await form.locator('[name=size]').selectOption({ index: 2 });
  const list = await form.locator('[name=size]').boundingBox();
  const arrow = await form.locator('[data-field=size] .vf-adornment').boundingBox();
  const end = (box: typeof list): number => (box?.x ?? 0) + (box?.width ?? 0);
  const padding = await form.locator('[name=size]').evaluate((each) => {
    return Number.parseFloat(getComputedStyle(each).paddingRight);
  });
  expect(end(arrow)).toBeLessThan(end(list));
  expect(arrow?.x ?? 0).toBeGreaterThan(end(list) - padding);
});

test('what the service has masked looks as hidden, and there is nothing to show or copy of it', async () => {
  await openShop(320);
  const { form } = await retrieve({ additional_fields: [] }, { mask_fields: 'card_number,cvv' });
  expect(await form.locator('.vf-value').allTextContents()).toEqual([
    '•••• •••• •••• 1111',
    'Ada Lovelace',
    '12/40',
    '•••',
  ]);
  expect(await form.locator('.vf-row:has(.vf-copy)').count()).toBe(2);
  expect(await form.locator('.vf-show').count()).toBe(0);
});

test.each(STYLES)(
  'in colours of the user, style %s: the focus and what is wrong have lines',
  async (style) => {
    await openShop(390);
    await page.emulateMedia({ forcedColors: 'active' });
    const { form } = await capture('pcd', { theme: { style } });
    await form.locator('.vf-button').click();
    const input = form.locator('[name=card_number]:focus');
    expect(await input.evaluate((each) => getComputedStyle(each).outlineStyle)).toBe('solid');
    expect(await input.evaluate((each) => getComputedStyle(each).borderBottomWidth)).toBe('3px');
  },
);

test.each(['', '<meta name="color-scheme" content="dark">'])(
  'nothing white is behind a form of a dark page: %p',
  async (meta) => {
    await openShop(390, { colorScheme: 'dark' });
    const { iframe, corner } = await darkShop(meta);
    expect(iframe.equals(corner)).toBe(true);
  },
);

/** Pictures of a dark page: the corner of the form's frame, and the page beside it. */
async function darkShop(meta: string): Promise<{ iframe: Buffer; corner: Buffer }> {
  const form = await world.form('pcd', { color_mode: 'dark', display_mode: 'embedded', hide_card: true });
  const { url, secret } = await world.capture();
  const html = `<!doctype html><html lang="en">${meta}<title>Shop</title><body style="background:#234">
<script type="module" src="${world.url}/forms/vault-forms.js"></script>
<vault-card-form url="${url}" secret="${secret}" form="${form}"></vault-card-form>`;
  await page.goto(world.serve('/dark', html));
  await page.frameLocator('iframe').locator('.vf-panel').waitFor();
  const picture = (x: number) => page.screenshot({ clip: { x, y: 10, width: 2, height: 2 } });
  return { iframe: await picture(9), corner: await picture(2) };
}

test('a colour that the browser does not know is named in the console, and the others apply', async () => {
  await openShop(390);
  const form = await world.form('pcd', { theme: { primary_color: '#123456', error_color: '#654321' } });
  const warnings: string[] = [];
  page.on('console', (message) => warnings.push(message.text()));
  // As of a form that an earlier version has stored.
  const earlier = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const reply = await fetch(`${world.url}${pathname}${search}`, { headers: { accept: '*/*' } });
      const headers = new Headers(reply.headers);
      headers.delete('content-encoding');
      return new Response((await reply.text()).replace('#654321', 'blurple'), { headers });
    },
  });
  const behind = { ...world, url: `http://127.0.0.1:${earlier.port}` };
  const shown = await showForm(behind, page, { way: 'frame', form, endpoint: await world.capture() });
  expect(warnings).toEqual(["The form's theme.error_color is no colour that this browser knows."]);
  const style = await shown.form.locator('vault-form').getAttribute('style');
  expect(style).toContain('--vf-primary: #123456');
  expect(style).not.toContain('--vf-error');
  await earlier.stop(true);
});

test.each(['/', '/forms'])('the page %s of the server is for everybody', async (path) => {
  await openShop(1280 - MARGINS, { colorScheme: 'light' });
  await page.goto(`${world.url}${path}`);
  expect(await page.getByRole('main').count()).toBe(1);
  expect([...(await overflow(page)), ...(await axeFaults(page))]).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await axeFaults(page, 'contrast')).toEqual([]);
  await openShop(390 - MARGINS, { colorScheme: 'light' });
  await page.goto(`${world.url}${path}`);
  expect([...(await overflow(page)), ...(await axeFaults(page, 'all but contrast'))]).toEqual([]);
});
