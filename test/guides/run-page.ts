/**
 * Shows a page of a guide in Chromium, from an origin of its own, as a shop would serve it: with the secret of the
 * endpoint filled in. Presses its button and prints what it then shows.
 */
import { launchChromium } from '../browser/chromium.ts';

const html = (await Bun.file(process.argv[2] ?? '').text()).replaceAll(
  'THE_SECRET',
  process.env['SECRET'] ?? '',
);
const shop = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => new Response(html, { headers: { 'Content-Type': 'text/html; charset=utf-8' } }),
});
const browser = await launchChromium();
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(10_000);
  await page.goto(`http://localhost:${shop.port}/`);
  await page.click('button');
  const output = page.locator('output:not(:empty)');
  await output.waitFor();
  console.log(await output.textContent());
} finally {
  await browser.close();
  await shop.stop(true);
}
