import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { BrowserContext, Frame, Page } from 'playwright-core';
import { HOSTILE } from '../domain/form/hostile.ts';
import { HOSTILE_DATA } from '../forms/messages.ts';
import { type Shown, showForm } from './forms-shop.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const PLACES = 5;
const LOADS = HOSTILE.length / PLACES;
const FIELDS_MAX = 32;
const TITLE_CHARACTERS_MAX = 200;
const MESSAGES = join(import.meta.dir, '../forms/messages.ts');

const world = useWorld(openFormsWorld);
let page: Page;
let endpoint: Endpoint;
/** What the canary was called with, and what was asked of anybody but the vault and the shop. */
let sung: string[];

beforeAll(async () => {
  endpoint = await world.capture();
});
beforeEach(async () => {
  page = await world.page();
  sung = [];
  await watch(page.context());
});

/** Every window gets a canary; scripts that a policy keeps from running are noted too, as are requests to strangers. */
async function watch(context: BrowserContext): Promise<void> {
  await context.exposeFunction('canary', () => void sung.push('canary'));
  context.on('request', (request) => {
    if (![world.url, world.shop, 'data:', 'about:'].some((start) => request.url().startsWith(start))) {
      sung.push(request.url());
    }
  });
  context.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) {
      sung.push(message.text());
    }
  });
}

declare const window: {
  readonly events: readonly unknown[];
  post(target: string, kinds: readonly string[]): number;
  readonly ended: Promise<void>;
};
declare const handle: { submit(): void };

/** Some are no longer wrong once they are copied between windows, and some are what a page may say. */
const MENDED = /^(?:a hidden member more|a symbol more|what a page tells)/;

/**
 * Gives a window a function that posts messages and says how many went out: some hostile ones cannot be copied. Each
 * round ends with a plain `end`, for which any window can wait.
 */
async function arm(frame: Frame | Page): Promise<void> {
  const source = new Bun.Transpiler({ loader: 'ts' }).transformSync(await Bun.file(MESSAGES).text());
  await frame.evaluate(`{
    ${source.replaceAll('export const', 'const')}
    const kinds = {
      hostile: HOSTILE_DATA.filter(([name]) => !${MENDED}.test(name)).map(([, data]) => data),
      told: TOLD,
      orders: ['vault.hello', 'vault.submit', 'vault.reset'].map((type) => ({ type })),
    };
    const targets = { parent, form: frames[0], beside: parent.frames[0] };
    window.post = (target, names) => {
      let sent = 0;
      for (const data of names.flatMap((name) => kinds[name])) {
        try {
          targets[target].postMessage(data, '*');
          sent += 1;
        } catch (error) {
          if (error.name !== 'DataCloneError') throw error;
        }
      }
      targets[target].postMessage('end', '*');
      return sent;
    };
    void 0;
  }`);
}

/** Lets a window wait for the end of a round. */
function awaitEnd(frame: Frame | Page): Promise<unknown> {
  return frame.evaluate(`window.ended = new Promise((resolve) =>
    addEventListener('message', ({ data }) => { if (data === 'end') resolve(); })); void 0;`);
}

/** A form in its page, and beside it a frame that is sandboxed as well: their messages differ in their window alone. */
async function showBesideStranger(): Promise<{ readonly shown: Shown; readonly stranger: Frame }> {
  const shown = await showForm(world, page, { way: 'function', form: 'pcd', endpoint });
  const src = world.serve('/stranger', '<!doctype html>').replace('localhost', '127.0.0.1');
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement('iframe'), { id: 'stranger', sandbox: 'allow-scripts', src: ${JSON.stringify(src)} })); void 0;`,
  );
  const element = await page.waitForSelector('#stranger');
  const stranger = await element.contentFrame();
  await stranger?.waitForURL(src);
  if (stranger === null) {
    throw new Error('there is no frame beside the form');
  }
  await Promise.all([arm(page), arm(stranger), arm(shown.inside)]);
  return { shown, stranger };
}

/** All of the hostile messages that a window can post at all. */
const POSTED_MIN = HOSTILE_DATA.length - 10;

describe('forged messages', () => {
  test('do nothing in the form', async () => {
    const { shown, stranger } = await showBesideStranger();
    const number = shown.form.locator('[name=card_number]');
    await number.fill('4111');
    const all = ['hostile', 'told', 'orders'];
    for (const [from, target, kinds] of [
      [stranger, 'beside', all],
      [page, 'form', ['hostile', 'told']],
    ] as const) {
      await awaitEnd(shown.inside);
      const sent = await from.evaluate(([to, names]) => window.post(to, names), [target, kinds] as const);
      expect(sent).toBeGreaterThan(POSTED_MIN);
      await shown.inside.evaluate(() => window.ended);
    }
    expect(await number.inputValue()).toBe('4111');
    expect(await shown.form.locator('.vf-error:visible').count()).toBe(0);
    expect(await shown.events()).toEqual([['ready', {}]]);
  });

  test('do nothing in the page around it', async () => {
    const { shown, stranger } = await showBesideStranger();
    const height = await page.locator('iframe').first().boundingBox();
    for (const [from, kinds] of [
      [stranger, ['hostile', 'told', 'orders']],
      [shown.inside, ['hostile', 'orders']],
    ] as const) {
      await awaitEnd(page);
      const sent = await from.evaluate((names) => window.post('parent', names), kinds);
      expect(sent).toBeGreaterThan(POSTED_MIN);
      await page.evaluate(() => window.ended);
    }
    expect(await shown.events()).toEqual([['ready', {}]]);
    expect(await page.locator('iframe').first().boundingBox()).toEqual(height);
    await page.evaluate(() => handle.submit());
    await page.waitForFunction(() => window.events.length > 1);
    expect(await shown.events()).toEqual([
      ['ready', {}],
      ['error', { status: 0, code: 'form_invalid' }],
    ]);
  });

  test('do nothing in a form that stands alone: who has opened it is not around it', async () => {
    await page.goto(world.serve('/opener', '<!doctype html>'));
    const opened = page.context().waitForEvent('page');
    await page.evaluate(
      `window.opened = open(${JSON.stringify(`${world.url}/v1/capture/iframe/pcd`)}); void 0;`,
    );
    const form = await opened;
    await form.locator('[name=card_number]').fill('4111');
    await awaitEnd(form);
    await page.evaluate(
      `for (const type of ['vault.hello', 'vault.submit', 'vault.reset']) opened.postMessage({ type }, '*');
      opened.postMessage('end', '*');`,
    );
    await form.evaluate(() => window.ended);
    expect(await form.locator('[name=card_number]').inputValue()).toBe('4111');
    expect(await form.locator('.vf-error:visible').count()).toBe(0);
  });
});

/** What texts may never have become: elements that act, and such as our forms do not have. */
const ACTING = [...['onerror', 'onload', 'onfocus', 'autofocus', 'srcdoc', 'action', 'href^=javascript']].map(
  (name) => `[${name}]`,
);
const STRANGERS = [
  ...ACTING,
  // The page itself has a policy in its head.
  '[http-equiv]:not([http-equiv=Content-Security-Policy])',
  'body [http-equiv]',
  'iframe',
  'object',
  'base',
  'body link',
  'body style',
  'vault-form script',
].join();

function groupsOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}

describe('hostile texts stay texts', () => {
  test('in the address of a form', async () => {
    const form = await world.form('custom', { additional_fields: [{ name: 'n', label: 'N' }] });
    for (let at = 0; at < LOADS; at += 1) {
      // Each text once, and at each place texts of all kinds.
      const text = (place: number): string => HOSTILE[at + LOADS * ((place + at) % PLACES)] ?? '';
      const [title, id, name] = [text(0), text(1), text(4)];
      const given = { locale: text(2), reference: text(3), [name]: name };
      const query = new URLSearchParams({ title, ...given, unique_id: id, secret: text(2) });
      const fragment = new URLSearchParams({ unique_id: id, token: id, secret: text(2), ...given });
      await page.goto(`${world.url}/v1/capture/iframe/${form}?${query}#${fragment}`);
      expect(await page.locator('h1').textContent()).toBe(title);
      expect(await page.locator(STRANGERS).count()).toBe(0);
    }
    expect(sung).toEqual([]);
  });

  test('in what was stored, hidden and shown', async () => {
    const item = Object.fromEntries(
      HOSTILE.flatMap((text, at) => [
        [`m${at}`, text],
        [text, 'x'],
      ]),
    );
    const token = await world.owner.store(
      'shop',
      { card_number: '4111111111111111', ...item },
      { reference: 'r' },
    );
    const form = await world.form('custom');
    const retrieval = await world.retrieve();
    const embedding = { way: 'function', form, endpoint: retrieval, token, reference: 'r' } as const;
    const { inside } = await showForm(world, page, embedding);
    await inside.locator('.vf-show').click();
    const shown = await inside.locator('.vf-value').allTextContents();
    expect(shown).toContainValues([...HOSTILE]);
    expect(await inside.locator(STRANGERS).count()).toBe(0);
    expect(sung).toEqual([]);
  });

  test('in the labels of fields and the title of the page', async () => {
    for (const group of groupsOf(HOSTILE, FIELDS_MAX)) {
      const additional_fields = group.map((label, at) => ({ name: `f${at}`, label, required: true }));
      const form = await world.form('custom', { additional_fields });
      const query = new URLSearchParams({ title: group.join('').slice(0, TITLE_CHARACTERS_MAX) });
      await page.goto(`${world.url}/v1/capture/iframe/${form}?${query}`);
      expect(await page.locator('.vf-label').allTextContents()).toEqual(group);
      await page.locator('.vf-button').click();
      await page.locator('.vf-error:visible').first().waitFor();
      expect(await page.locator(STRANGERS).count()).toBe(0);
    }
    expect(sung).toEqual([]);
  });

  test('in what comes back when they are stored; and nothing is kept in the browser', async () => {
    const [reference = '', ...rest] = HOSTILE.filter((text) => text.includes('canary()'));
    const extra = Object.fromEntries(rest.map((text) => [text, text]));
    const shown = await showForm(world, page, { way: 'element', form: 'pcd', endpoint, reference, extra });
    const card = {
      card_number: '4111111111111111',
      card_holder: rest.at(-1) ?? '',
      expiry: '12/40',
      cvv: '123',
    };
    for (const [name, value] of Object.entries(card)) {
      await shown.form.locator(`[name=${name}]`).fill(value);
    }
    await shown.form.locator('.vf-button').click();
    const success = await shown.hear('vault.success');
    expect(success['reference']).toBe(reference);
    expect(await world.stored(String(success['token']), reference)).toMatchObject({ ...extra, cvv: '123' });
    expect(await shown.inside.content()).not.toMatch(/4111|canary/);
    expect(await shown.inside.locator(STRANGERS).count()).toBe(0);
    expect(sung).toEqual([]);
    expect(await page.context().storageState()).toEqual({ cookies: [], origins: [] });
  });
});
