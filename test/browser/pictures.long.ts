/** What pages look like, compared with pictures in `pictures/`: see `picture.ts`. */
import { describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { FormSettings } from '../../server/form/schema.ts';
import { goTo, openConsoleWorld, signIn } from './console-world.ts';
import { pictureFault } from './picture.ts';
import { useWorld } from './use-world.ts';

const world = useWorld(openConsoleWorld);

type Scheme = 'light' | 'dark';

async function showForm(page: Page, settings: FormSettings): Promise<void> {
  const { unique_id, secret } = await world.capture();
  const id = await world.form('pcd', settings);
  await page.goto(`${world.url}/v1/capture/iframe/${id}#${new URLSearchParams({ unique_id, secret })}`);
  await page.locator('.vf-button').waitFor();
}

/** How each page comes to what is to be seen. */
const PAGES: Readonly<Record<string, (page: Page, color_mode: Scheme) => Promise<void>>> = {
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
  form: async (page, color_mode) => {
    await showForm(page, { color_mode, hide_card: true });
    await page.locator('.vf-button').click();
    await page.locator('.vf-error:visible').nth(3).waitFor();
  },
  'form-modern': (page, color_mode) => showForm(page, { color_mode, theme: { style: 'modern' } }),
};

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  test.each(Object.entries(PAGES))('%s looks as it did', async (name, show) => {
    const page = await world.page({
      ...{ viewport: { width: 640, height: 720 }, colorScheme, reducedMotion: 'reduce' },
    });
    await show(page, colorScheme);
    expect(await pictureFault(page, `${name}-${colorScheme}`)).toBeUndefined();
  });
});
