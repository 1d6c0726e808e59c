/**
 * Shows a page of a guide in Chromium: one at a URL as a shop's server serves it, one in a file from an origin of its own,
 * with the shell's SECRET for THE_SECRET, and other variables likewise. Types a card into the fields that it finds empty,
 * in the page or in a form of the vault, presses the button and prints what the page then shows. The Chromium is the one
 * at the address in PAGE_BROWSER.
 */
import type { Frame, FrameLocator, Page } from 'playwright-core';
import { connectChromium } from '../browser/chromium.ts';

/** How long one step of a page may take, which on a busy machine is many times what it usually takes. */
const STEP_MS_MAX = 60_000;

const CARD: Readonly<Record<string, string>> = {
  card_number: '4111111111111111',
  card_holder: 'Ada Lovelace',
  expiry: '12/40',
  cvv: '123',
};

async function fill(place: Frame | FrameLocator): Promise<void> {
  for (const [name, value] of Object.entries(CARD)) {
    const input = place.locator(`input[name="${name}"]`);
    if ((await input.count()) > 0 && (await input.inputValue()) === '') {
      await input.fill(value);
    }
  }
}

/** A page's own button is pressed; the one of the vault's form where it has none. */
async function use(page: Page): Promise<void> {
  const own = page.locator('button');
  if ((await page.locator('iframe').count()) === 0) {
    await fill(page.mainFrame());
    if ((await own.count()) > 0) {
      await own.click();
    }
    return;
  }
  const frames = page.locator('iframe');
  if ((await frames.count()) > 1) {
    for (const frame of await frames.all()) {
      await frame.contentFrame().locator('input').waitFor();
      await fill(frame.contentFrame());
    }
    await own.click();
    return;
  }
  if ((await page.locator('vault-reveal').count()) > 0) {
    return;
  }
  const form = page.frameLocator('iframe');
  await form.locator('.vf-form, .vf-value').first().waitFor();
  if ((await form.locator('.vf-value').count()) > 0) {
    return;
  }
  await fill(form);
  await ((await own.count()) > 0 ? own : form.locator('.vf-button').first()).click();
}

/** Serves the page of a file; of a page at a URL nothing. */
async function serve(file: string) {
  const html = (await Bun.file(file).text()).replaceAll(
    /\bTHE_([A-Z_]+)\b/g,
    (_, name: string) => process.env[name] ?? '',
  );
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(html, { headers: { 'Content-Type': 'text/html; charset=utf-8' } }),
  });
}

const [, , place = ''] = process.argv;
const shop = place.startsWith('http') ? undefined : await serve(place);
const browser = await connectChromium(process.env['PAGE_BROWSER'] ?? '');
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(STEP_MS_MAX);
  page.on('pageerror', (error) => console.error(String(error)));
  await page.goto(shop === undefined ? place : `http://localhost:${shop.port}/`);
  await use(page);
  const output = page.locator('output:not(:empty)');
  await output.waitFor();
  console.log(await output.textContent());
} finally {
  await browser.close();
  await shop?.stop(true);
}
