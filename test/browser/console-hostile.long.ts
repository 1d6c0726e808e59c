/** What somebody at the same machine, or a hostile page in the same browser, tries with a console that is signed in. */
import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { goTo, openConsole, openConsoleWorld, signIn } from './console-world.ts';
import { useWorld } from './use-world.ts';

declare const window: {
  mark?: number;
  hasReply?: boolean;
  opened?: { closed: boolean; length: number; location: string };
};

const world = useWorld(openConsoleWorld);

const SIGN_IN = { name: 'Cardvault console' };
const START = Date.parse('2026-03-01T09:00:00Z');
const MINUTE_MS = 60_000;

/** Leaves the console and comes back to the same page, as browsers with a cache of whole pages do; other tests have none. */
async function leaveAndReturn(
  before: (page: Page) => Promise<void>,
  away: () => void = () => undefined,
): Promise<{ readonly page: Page } & AsyncDisposable> {
  const browser = await launchChromium({ ignoreDefaultArgs: ['--disable-back-forward-cache'] });
  const page = await browser.newPage();
  await page.goto(`${world.url}/console`);
  await before(page);
  await page.evaluate(() => {
    window.mark = 1;
  });
  await page.goto(world.serve('/elsewhere', '<!doctype html><h1>Elsewhere</h1>'));
  away();
  // Later, since a navigation would end the call that begins it.
  await page.evaluate(() => void setTimeout(() => Object(globalThis).history.back()));
  await page.getByLabel('Password, or secret').waitFor();
  // It is the page that was left, and not a new one.
  expect(await page.evaluate(() => window.mark)).toBe(1);
  return { page, [Symbol.asyncDispose]: () => browser.close() };
}

test('the way back to a console that was left does not lead into it', async () => {
  await using back = await leaveAndReturn((page) => signIn(world, page));
  expect(await back.page.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
  // Somebody else may sign in there.
  await signIn(world, back.page);
});

test('a sign-in that was under way, and what was typed for it, are gone on the way back', async () => {
  const held = Promise.withResolvers<void>();
  const away = Promise.withResolvers<void>();
  await using back = await leaveAndReturn(async (page) => {
    await page.evaluate(() => {
      const { fetch } = globalThis;
      globalThis.fetch = Object.assign(async (...request: Parameters<typeof fetch>) => {
        const reply = await fetch(...request);
        void reply
          .clone()
          .text()
          .then(() => {
            window.hasReply = true;
          });
        return reply;
      }, fetch);
    });
    await page.route('**/v1/whoami', async (route) => {
      held.resolve();
      await away.promise;
      await route.continue();
    });
    await page.getByLabel('Account name').fill(world.owner.name);
    await page.getByLabel('Password, or secret').fill(world.owner.password);
    await page.keyboard.press('Enter');
    await held.promise;
  }, away.resolve);
  expect(await back.page.getByLabel('Password, or secret').inputValue()).toBe('');
  await back.page.waitForFunction(() => window.hasReply);
  await back.page.evaluate(() => new Promise((done) => Object(globalThis).requestAnimationFrame(done)));
  expect(await back.page.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
});

/** A console that is signed in, whose time is told by the test. */
async function openWithClock(): Promise<Page> {
  const { page } = await openConsole(world);
  await page.clock.install({ time: START });
  await page.reload();
  await signIn(world, page);
  return page;
}

test('a quarter of an hour signs out, also one that the machine has slept through', async () => {
  const page = await openWithClock();
  await page.clock.setSystemTime(START + 14 * MINUTE_MS);
  await page.keyboard.press('Shift');
  await page.clock.setSystemTime(START + 28 * MINUTE_MS);
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByRole('heading', { name: 'Keys' }).waitFor();
  await page.getByRole('link', { name: 'Rules', exact: true }).focus();
  // The timers have not moved: as when the machine sleeps.
  await page.clock.setSystemTime(START + 44 * MINUTE_MS);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', SIGN_IN).waitFor();
  // The press that comes too late does nothing else.
  expect(page.url()).toEndWith('#/keys');
});

test('nobody there for a quarter of an hour signs out', async () => {
  const page = await openWithClock();
  await page.clock.fastForward(14 * MINUTE_MS);
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.clock.fastForward(2 * MINUTE_MS);
  await page.getByRole('heading', SIGN_IN).waitFor();
});

test('a clock that is put back gives no more time', async () => {
  const page = await openWithClock();
  await page.clock.setSystemTime(START - 60 * MINUTE_MS);
  await page.clock.fastForward(16 * MINUTE_MS);
  await page.getByRole('heading', SIGN_IN).waitFor();
});

test('a page that opened the console can neither lead it elsewhere nor see into it', async () => {
  const { page } = await openConsole(world);
  await page.goto(world.serve('/opener', '<!doctype html><h1>Opener</h1>'));
  const opened = page.context().waitForEvent('page');
  await page.evaluate((url) => {
    window.opened = Object(globalThis).open(url, 'console');
  }, `${world.url}/console`);
  const popup = await opened;
  await popup.getByRole('heading', SIGN_IN).waitFor();
  await signIn(world, popup);
  await page.waitForFunction(() => window.opened?.closed);
  const another = page.context().waitForEvent('page');
  await page.evaluate((url) => {
    if (window.opened !== undefined) {
      window.opened.location = url;
    }
    // Its name does not find it either.
    Object(globalThis).open(url, 'console');
  }, `${world.url}/console#/forms`);
  await (await another).getByRole('heading', SIGN_IN).waitFor();
  expect(popup.url()).toBe(`${world.url}/console`);
  expect(await popup.evaluate(() => Object(globalThis).opener)).toBeNull();
});

test('the preview of a form, at a host of its own, neither leads the console elsewhere nor opens windows', async () => {
  const formsUrl = 'http://forms.localhost';
  const separate = await openConsoleWorld({ formsUrl });
  try {
    await separate.owner.sdk.forms.create({ form_id: 'hostile' });
    const { page } = await openConsole(separate);
    // The scripts of an owner run there without the sandbox that forms have at the main host.
    const body = `<!doctype html><button>Press</button><output></output><script>
addEventListener('click', () => {
  const opened = open('about:blank') !== null;
  let led = 'led';
  try { top.location = '${separate.shop}/imitation'; } catch (error) { led = error.name; }
  document.querySelector('output').value = opened + ' ' + led + ' ' + origin;
});</script>`;
    await page.route(`${formsUrl}/**`, (route) => route.fulfill({ contentType: 'text/html', body }));
    await signIn(separate, page);
    await goTo(page, 'form?id=hostile');
    const preview = page.frameLocator('iframe');
    await preview.getByRole('button').click();
    await preview.getByText(`false SecurityError ${formsUrl}`).waitFor();
    expect(page.url()).toStartWith(`${separate.url}/console`);
  } finally {
    await separate.close();
  }
});
