import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { type Embedding, type Shown, showForm } from './forms-shop.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const SHOWN_MS = 30_000;
/** Ahead of a clock that still runs while it is paused. */
const PAUSE_MS = 60_000;
const REFERENCE = 'order 1001';
const NUMBER = '4111111111111111';
const CARD = {
  card_number: NUMBER,
  card_holder: 'Ada Lovelace',
  expiry: '12/40',
  cvv: 'code-987',
  pin: 'pin-2468',
};
const ACCOUNT = {
  account_number: '000123456789',
  routing_number: '110000000',
  account_type: 'savings',
  account_holder: 'Ada Lovelace',
};

const world = useWorld(openFormsWorld);
let page: Page;
let endpoint: Endpoint;
let card: string;
let account: string;

beforeAll(async () => {
  endpoint = await world.retrieve();
  card = await world.owner.store('shop', CARD, { reference: REFERENCE });
  account = await world.owner.store('shop', ACCOUNT, { reference: REFERENCE });
});
beforeEach(async () => {
  page = await world.page();
});

async function show(more: Partial<Embedding> = {}): Promise<Shown> {
  const shown = await showForm(world, page, {
    way: 'function',
    form: 'pcd',
    endpoint,
    token: card,
    reference: REFERENCE,
    ...more,
  });
  await shown.form.locator('.vf-value, .vf-alert').first().waitFor();
  return shown;
}

function values({ form }: Shown): Promise<string[]> {
  return form.locator('.vf-value').allTextContents();
}

describe.each(['element', 'frame'] as const)('a stored card through the %s', (way) => {
  test('is hidden until somebody asks, and in no part of the page before', async () => {
    const shown = await show({ way });
    const hidden = ['•••• •••• •••• 1111', 'Ada Lovelace', '12/40', '•••'];
    expect(await values(shown)).toEqual(hidden);
    const html = (await shown.inside.content()).replaceAll(/\s/g, '');
    expect(html).not.toContain(NUMBER.slice(0, 8));
    expect(html).not.toContain('code-987');
    expect(html).not.toContain('pin-2468');
    await shown.form.locator('.vf-show').click();
    expect(await values(shown)).toEqual(['4111 1111 1111 1111', 'Ada Lovelace', '12/40', 'code-987']);
    await shown.form.locator('.vf-show', { hasText: 'Hide' }).click();
    expect(await values(shown)).toEqual(hidden);
    const told = await shown.told();
    expect(told.filter(({ data }) => data.type !== 'vault.height').map(({ data }) => data)).toEqual([
      { type: 'vault.ready' },
    ]);
  });
});

test('what is shown is hidden again after half a minute', async () => {
  await page.clock.install();
  const shown = await show();
  // From here on time passes only where the test says so.
  await page.clock.pauseAt(Date.now() + PAUSE_MS);
  await shown.form.locator('.vf-show').click();
  await page.clock.fastForward(SHOWN_MS - 1_000);
  expect((await values(shown))[0]).toBe('4111 1111 1111 1111');
  await page.clock.fastForward(2_000);
  expect((await values(shown))[0]).toBe('•••• •••• •••• 1111');
});

test('each value can be copied, without showing it', async () => {
  const shown = await show();
  for (const [name, expected] of [
    ['card_number', NUMBER],
    ['cvv', 'code-987'],
  ]) {
    await shown.form.locator(`[data-field=${name}] .vf-copy`).click();
    await shown.form.locator(`[data-field=${name}]`, { hasText: 'Copied' }).first().waitFor();
    await page.locator('#note').fill('');
    await page.locator('#note').press('Control+V');
    expect(await page.locator('#note').inputValue()).toBe(String(expected));
  }
  expect((await values(shown))[0]).toBe('•••• •••• •••• 1111');
  expect(await shown.inside.content()).not.toContain(NUMBER);
});

test('of an account the last four digits are seen', async () => {
  const shown = await show({ form: 'ach', token: account });
  expect(await values(shown)).toEqual(['•••• 6789', '110000000', 'Savings', 'Ada Lovelace']);
  await shown.form.locator('.vf-show').click();
  expect(await values(shown)).toEqual(['000123456789', '110000000', 'Savings', 'Ada Lovelace']);
});

test('the fields of an own form are all hidden at first', async () => {
  const form = await world.form('custom', { additional_fields: [{ name: 'pin', label: 'PIN' }] });
  const shown = await show({ form });
  expect(await shown.form.locator('.vf-row').allTextContents()).toEqual(['PIN••••••Copy']);
  await shown.form.locator('.vf-show').click();
  expect(await values(shown)).toEqual(['pin-2468']);
});

test('hides what it showed when its page is put away, and forgets it after ten minutes', async () => {
  await page.clock.install();
  const shown = await show();
  await shown.form.locator('.vf-show').click();
  await shown.inside.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  expect((await values(shown))[0]).toBe('•••• •••• •••• 1111');
  await page.clock.fastForward(601_000);
  expect(await shown.form.locator('.vf-value').count()).toBe(0);
  await shown.form.locator('.vf-again').click();
  await shown.form.locator('.vf-value').first().waitFor();
});

declare const document: { dispatchEvent(event: Event): boolean };
declare const window: { dispatchEvent(event: Event): boolean };

test('forgets it when its page goes away, and says nothing of ten minutes', async () => {
  const shown = await show();
  await shown.form.locator('.vf-show').click();
  await shown.inside.evaluate(() => window.dispatchEvent(new Event('pagehide')));
  const text = await shown.form.locator('.vf-panel').textContent();
  expect(text).not.toMatch(/1111|Ada|987|10 minutes/);
});

test('numbers keep every digit, whatever is shown or copied', async () => {
  const item = '{"n":12345678901234567,"big":4111111111111111110,"fee":1.10,"text":"1.10","ok":true}';
  const token = await world.owner.store('shop', item, { reference: REFERENCE });
  const form = await world.form('custom');
  const all = await show({ token, form });
  await all.form.locator('.vf-show').click();
  expect(await values(all)).toEqual(['12345678901234567', '4111111111111111110', '1.10', '1.10']);
  const asCard = await show({ token });
  expect(await values(asCard)).toEqual(['•••• •••• •••• 4567']);
  await asCard.form.locator('.vf-copy').click();
  await asCard.form.locator('.vf-row', { hasText: 'Copied' }).waitFor();
  await page.locator('#note').press('Control+V');
  expect(await page.locator('#note').inputValue()).toBe('12345678901234567');
});

describe('the page of a new endpoint', () => {
  const open = async (item: object, lock: Readonly<Record<string, string>>): Promise<void> => {
    const token = await world.owner.store('shop', item, lock);
    const query = new URLSearchParams({ user: 'shop', ...lock, token });
    const made = await fetch(`${world.url}/v1/retrieve?${query}`, {
      method: 'POST',
      headers: {
        accept: 'text/html',
        authorization: basicAuth(world.owner.name, world.owner.password),
        'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
      },
    });
    await page.goto(world.serve('/ready', await made.text()));
    await page.getByRole('button', { name: 'Show details' }).click();
    await page.locator('.vf-show').click();
  };
  const texts = (selector: string): Promise<string[]> => page.locator(selector).allTextContents();

  test('shows a card', async () => {
    await open(CARD, { reference: REFERENCE });
    expect(await texts('.vf-value')).toEqual(['4111 1111 1111 1111', 'Ada Lovelace', '12/40', 'code-987']);
  });
});

test('what cannot be read is said, and tried again where that may help', async () => {
  const gone = await show({ token: 'f'.repeat(64) });
  expect(await gone.hear('vault.error')).toEqual({
    type: 'vault.error',
    status: 404,
    code: 'token_not_found',
  });
  expect(await gone.form.locator('.vf-again').count()).toBe(0);
  await page.route('**/v1/retrieve/**', (route) =>
    route.request().method() === 'GET' && !route.request().url().includes('iframe')
      ? route.abort()
      : route.continue(),
  );
  const shown = await show();
  expect(await shown.hear('vault.error')).toEqual({ type: 'vault.error', status: 0, code: 'network' });
  await page.unrouteAll();
  await shown.form.locator('.vf-again').click();
  await shown.form.locator('.vf-value').first().waitFor();
});
