/** What pages look like, compared with pictures in `pictures/`: see `picture.ts`. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { goTo, openConsoleWorld, signIn } from './console-world.ts';
import { CASE_MS_MAX, type FormsWorld } from './forms-world.ts';
import { pictureFault } from './picture.ts';

setDefaultTimeout(CASE_MS_MAX);
let world: FormsWorld;

beforeAll(async () => {
  world = await openConsoleWorld();
});
afterAll(() => world?.close());

/** How each page comes to what is to be seen. */
const PAGES: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  landing: async (page) => {
    await page.goto(`${world.url}/`);
  },
  'sign-in': async (page) => {
    await page.goto(`${world.url}/console`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  },
  keys: async (page) => {
    await page.goto(`${world.url}/console`);
    await signIn(world, page);
    await goTo(page, 'keys');
    await page.getByRole('row').nth(1).waitFor();
    await page.getByRole('button', { name: 'Create a key' }).click();
  },
  form: async (page) => {
    const { unique_id, secret } = await world.capture();
    await page.goto(`${world.url}/v1/capture/iframe/pcd#${new URLSearchParams({ unique_id, secret })}`);
    await page.locator('[name=card_number]').fill('4111111111111112');
    await page.locator('.vf-button').click();
    await page.locator('.vf-error:visible').nth(2).waitFor();
  },
  'form-modern': async (page) => {
    const id = await world.form('pcd', { theme: { style: 'modern' }, hide_card: true });
    const { unique_id, secret } = await world.capture();
    await page.goto(`${world.url}/v1/capture/iframe/${id}#${new URLSearchParams({ unique_id, secret })}`);
    await page.locator('.vf-button').waitFor();
  },
};

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  test.each(Object.entries(PAGES))('%s looks as it did', async (name, show) => {
    const page = await world.page({
      ...{ viewport: { width: 800, height: 640 }, colorScheme, reducedMotion: 'reduce' },
    });
    await show(page);
    expect(await pictureFault(page, `${name}-${colorScheme}`)).toBeUndefined();
  });
});
