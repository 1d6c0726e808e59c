/** Forms that pages tell people to write: where their script does not come, what is typed goes nowhere. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { launchChromium } from '../browser/chromium.ts';
import { ALL_BLOCKS } from './code-blocks.ts';

const NUMBER = '4111111111111111';
const FORMS = ALL_BLOCKS.filter(
  ({ info, code }) => info?.startsWith('html') === true && code.includes('<form'),
);

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser.close());

test.each(FORMS.map((block) => [`${block.page}:${block.line}`, block.code] as const))(
  'the card of %s stays where it was typed',
  async (_, html) => {
    const asked: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        asked.push(`${request.url} ${await request.text()}`);
        const headers = { 'Content-Type': 'text/html', 'Content-Security-Policy': "script-src 'none'" };
        return new Response(html, { headers });
      },
    });
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${server.port}/checkout`);
      for (const input of await page.locator('form input').all()) {
        await input.fill(NUMBER);
      }
      await page.locator('form button').first().click();
      await page.locator('form input').first().press('Enter');
      await page.evaluate(() => 1);
      expect(page.url()).not.toContain(NUMBER);
      expect(asked.filter((request) => request.includes(NUMBER))).toEqual([]);
      await page.close();
    } finally {
      await server.stop(true);
    }
  },
);

test('there are such forms', () => {
  expect(FORMS.length).toBeGreaterThan(1);
});
