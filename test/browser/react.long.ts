/** The entry for React in a page of a shop, built from the packed package and rendered under StrictMode. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { installForms } from '../helpers/packed-forms.ts';
import { REACT_PAGE } from '../helpers/react-page.ts';
import { type Endpoint, type FormsWorld, openFormsWorld } from './forms-world.ts';

const NUMBER = '4111111111111111';
const FIELDS = ['number', 'expiry', 'cvc', 'holder'] as const;

interface View {
  readonly round: number;
  readonly [part: string]: unknown;
}

declare const window: { heard: [string, unknown][]; messages: unknown[]; show(view: View): void };

setDefaultTimeout(120_000);
let world: FormsWorld;
let folder: string;
let script: string;
let endpoint: Endpoint;
let opened = 0;

/** The page's program as a bundler makes it; only React's development build has effects run twice. */
async function bundle(): Promise<string> {
  const entry = join(folder, 'page.tsx');
  await Bun.write(entry, REACT_PAGE);
  const define = { 'process.env.NODE_ENV': '"development"' };
  const { outputs } = await Bun.build({ entrypoints: [entry], target: 'browser', define });
  return (await outputs[0]?.text()) ?? '';
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-react-'));
  [world] = await Promise.all([openFormsWorld(), installForms(folder)]);
  script = world.serve('/page.js', await bundle());
});
afterAll(async () => {
  await world?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  endpoint = await world.capture();
});

/** Opens the page, whose policy allows its own script and the vault's frames alone. */
async function open(): Promise<{ readonly page: Page; readonly faults: string[] }> {
  opened += 1;
  const url = world.serve(
    `/react-${opened}`,
    `<!doctype html><html lang="en"><head><title>Shop</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-shop'; frame-src ${world.url}; style-src 'nonce-shop'">
<style nonce="shop">.field { height: 40px; border: 1px solid #888; }</style></head><body><main></main>
<script nonce="shop">window.messages = []; addEventListener('message', ({ data }) => messages.push(data));</script>
<script type="module" nonce="shop" src="${script}"></script></body></html>`,
  );
  const page = await world.page();
  const faults: string[] = [];
  page.on(
    'console',
    (message) => ['warning', 'error'].includes(message.type()) && faults.push(message.text()),
  );
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(url);
  return { page, faults };
}

function show(page: Page, view: View): Promise<void> {
  return page.evaluate((given) => window.show(given), view);
}

function groupOf(more: Record<string, unknown> = {}) {
  const { url, secret } = endpoint;
  return {
    baseUrl: world.url,
    url,
    secret,
    reference: 'order-1',
    locale: 'en',
    metadata: { plan: 'gold' },
    ...more,
  };
}

/** Waits for the event of that name, and gives what the page heard of it last. */
async function heard(page: Page, name: string): Promise<unknown> {
  await page.waitForFunction((event) => window.heard.some(([found]) => found === event), name);
  return (await page.evaluate(() => window.heard)).findLast(([found]) => found === name)?.[1];
}

function fieldIn(page: Page, id: string) {
  return page.frameLocator(`#${id} iframe`).getByRole('textbox');
}

/** The button can be pressed once all fields are ready. */
async function allReady(page: Page): Promise<void> {
  await page.locator('button:enabled', { hasText: 'Pay' }).waitFor();
}

async function fillCard(page: Page): Promise<void> {
  for (const [at, text] of [NUMBER, '1239', '123', 'Ada Lovelace'].entries()) {
    await fieldIn(page, FIELDS[at] ?? '').fill(text);
  }
}

describe('a group of fields', () => {
  test('is typed by keyboard and stored; the page gets a token, and never a digit', async () => {
    const { page, faults } = await open();
    await show(page, { round: 1, group: groupOf() });
    await allReady(page);
    expect(await page.locator('iframe').count()).toBe(FIELDS.length);
    // The ref of the number has the handle that takes the focus.
    await page.getByRole('button', { name: 'Number' }).click();
    for (const [at, text] of [NUMBER, '1239', '123', 'Ada Lovelace'].entries()) {
      await page.frameLocator(`#${FIELDS[at]} iframe`).locator('input:focus').waitFor();
      await page.keyboard.type(text);
      await page.keyboard.press('Tab');
    }
    await page.locator('button:focus', { hasText: 'Pay' }).waitFor();
    await page.keyboard.press('Enter');
    const reply = Object(await heard(page, 'reply'));
    expect(reply).toEqual({ token: expect.any(String), reference: 'order-1' });
    expect(await world.stored(reply.token, 'order-1')).toMatchObject({ card_number: NUMBER, cvv: '123' });
    expect(await heard(page, 'submit')).toEqual({ ...reply, user: 'shop' });
    const events = await page.evaluate(() => window.heard);
    // Once each, though effects ran twice.
    expect(events.filter(([name]) => name === 'ready')).toEqual([['ready', { field: 'card-number' }]]);
    expect(events.filter(([name]) => name === 'submit')).toHaveLength(1);
    const seen = JSON.stringify([events, await page.evaluate(() => window.messages), await page.content()]);
    for (const part of ['4111', '1239', '12/39', 'Ada', endpoint.secret]) {
      expect(seen).not.toContain(part);
    }
    expect(faults).toEqual([]);
  });

  test('keeps what is typed when it is rendered with other handlers, and these are called', async () => {
    const { page, faults } = await open();
    await show(page, { round: 1, group: groupOf() });
    await allReady(page);
    await fieldIn(page, 'number').pressSequentially('4111');
    expect(await heard(page, 'change')).toEqual([1, 'partial']);
    // Equal values, which are other objects, and a field more.
    await show(page, { round: 2, group: groupOf(), iban: true });
    await allReady(page);
    expect(await page.locator('iframe').count()).toBe(FIELDS.length + 1);
    expect(await fieldIn(page, 'number').inputValue()).toBe('4111');
    await fieldIn(page, 'number').fill(NUMBER);
    await page.waitForFunction(() => window.heard.some(([, detail]) => String(detail) === '2,complete'));
    // The field that was added is empty, and the group says so where it is sent.
    await page.getByRole('button', { name: 'Pay' }).click();
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
    expect(await heard(page, 'error')).toMatchObject({ code: 'form_invalid' });
    await show(page, { round: 3, group: groupOf() });
    await allReady(page);
    await fillCard(page);
    await page.getByRole('button', { name: 'Pay' }).click();
    expect(await heard(page, 'reply')).toMatchObject({ reference: 'order-1' });
    expect(faults).toEqual([]);
  });

  test('is made again for another secret or reference', async () => {
    const { page, faults } = await open();
    await show(page, { round: 1, group: groupOf() });
    await allReady(page);
    await fillCard(page);
    endpoint = await world.capture();
    await show(page, { round: 1, group: groupOf({ reference: 'order-2' }) });
    await page.locator('button:disabled', { hasText: 'Pay' }).waitFor();
    await allReady(page);
    expect(await page.locator('iframe').count()).toBe(FIELDS.length);
    expect(await fieldIn(page, 'number').inputValue()).toBe('');
    await fillCard(page);
    await page.getByRole('button', { name: 'Pay' }).click();
    const { token } = Object(await heard(page, 'reply'));
    expect(await world.stored(token, 'order-2')).toMatchObject({ card_number: NUMBER });
    expect(faults).toEqual([]);
  });

  test('with a wrong option is an error of React, which says nothing secret', async () => {
    const { page, faults } = await open();
    const thrown = page.waitForEvent('pageerror');
    await show(page, { round: 1, group: groupOf({ theme: { color: 'transparent' } }) });
    expect((await thrown).message).toContain('The member "color" of the option "theme" is not allowed');
    expect(faults.join()).not.toContain(endpoint.secret);
    expect(await page.locator('iframe').count()).toBe(0);
  });

  test('that leaves the page takes its frames along, and what is being sent ends', async () => {
    const { page, faults } = await open();
    await show(page, { round: 1, group: groupOf() });
    await allReady(page);
    await fillCard(page);
    const asked = Promise.withResolvers<void>();
    await page.route('**/v1/capture/**', () => asked.resolve());
    await page.getByRole('button', { name: 'Pay' }).click();
    await asked.promise;
    await show(page, { round: 2 });
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'elements_destroyed' });
    expect(await page.locator('iframe').count()).toBe(0);
    expect(faults).toEqual([]);
  });
});

test('a value of an item is shown, and the page never has it', async () => {
  const token = await world.owner.store('shop', { card_number: NUMBER }, { reference: 'shown' });
  const { url, secret } = await world.retrieve({ token, reference: 'shown' });
  const { page, faults } = await open();
  const reveal = { baseUrl: world.url, url, secret, token, reference: 'shown', locale: 'en' };
  await show(page, { round: 1, reveal });
  const frame = page.frameLocator('.field iframe');
  await frame.getByRole('button', { name: 'Show' }).click();
  await frame.getByText('4111 1111 1111 1111').waitFor();
  expect(await heard(page, 'shown')).toBe('card number');
  await show(page, { round: 2, reveal: { ...reveal } });
  expect(await frame.getByText('4111 1111 1111 1111').count()).toBe(1);
  const seen = (await page.content()) + JSON.stringify(await page.evaluate(() => window.messages));
  expect(seen).not.toContain('1111');
  expect(seen).not.toContain(secret);
  expect(faults).toEqual([]);
});

test('a whole form is one of the page, and tells what became of it', async () => {
  const { page, faults } = await open();
  const { url, secret } = endpoint;
  await show(page, { round: 1, form: { baseUrl: world.url, url, secret, reference: 'order-3' } });
  const form = page.frameLocator('#form iframe');
  // Pressed by keyboard: the form's height moves the button, perhaps away from under a click.
  const send = (): Promise<void> => page.getByRole('button', { name: 'Send' }).press('Enter');
  await form.locator('[name=card_number]').fill(NUMBER);
  await send();
  expect(await heard(page, 'form error')).toBe('form_invalid');
  expect(await heard(page, 'height')).toBe(true);
  await form.locator('[name=card_holder]').fill('Ada Lovelace');
  await form.locator('[name=expiry]').fill('12/39');
  await form.locator('[name=cvv]').fill('123');
  await send();
  expect(await heard(page, 'success')).toBe('order-3');
  expect(await page.locator('iframe').count()).toBe(1);
  expect(faults).toEqual([]);
});
