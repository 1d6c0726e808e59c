/** The console of a real vault, as a browser shows it. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { run } from '../helpers/packages.ts';
import { type FormsWorld, openFormsWorld } from './forms-world.ts';

const ROOT = join(import.meta.dir, '..', '..');

declare const location: { hash: string };

/** Builds the console, and opens a vault with these settings that serves it. */
export async function openConsoleWorld(settings?: Parameters<typeof openFormsWorld>[0]): Promise<FormsWorld> {
  await run([process.execPath, join(ROOT, 'scripts/build-console.ts'), '--if-changed'], ROOT);
  return openFormsWorld(settings);
}

/** A page that reports what the browser complains of: scripts, styles and connections that the policy forbids, too. */
export async function openConsole(world: FormsWorld, options: Parameters<FormsWorld['page']>[0] = {}) {
  const page = await world.page(options);
  const faults: string[] = [];
  page.on('console', (message) => faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`${world.url}/console`);
  return { page, faults };
}

/** Signs in, by default as the owner of the world. */
export async function signIn(
  { owner }: FormsWorld,
  page: Page,
  name = owner.name,
  secret = owner.password,
): Promise<void> {
  await page.locator('.sign-in button').first().waitFor();
  const folded = page.locator('.sign-in summary');
  await ((await folded.count()) > 0 ? folded.click() : undefined);
  await page.getByLabel('Account name').fill(name);
  await page.getByLabel('Password, or secret').fill(secret);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Home' }).waitFor();
}

/** The same, signed in as the owner of the world. */
export async function openSignedIn(world: FormsWorld, options?: Parameters<FormsWorld['page']>[0]) {
  const opened = await openConsole(world, options);
  await signIn(world, opened.page);
  return opened;
}

/** Goes to a place, and waits for what it shows. */
export async function goTo(page: Page, place: string): Promise<void> {
  await page.evaluate((at) => {
    location.hash = `#/${at}`;
  }, place);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}
