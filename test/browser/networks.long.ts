/** The choice between the networks of a card that has two, in forms and in single fields. */
import { beforeAll, beforeEach, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { loadBinTable } from '../../server/bin-table/command.ts';
import { axeFaults } from './axe.ts';
import { allReady, elementsIn, heard, heardAll, pageOf } from './elements-page.ts';
import { showForm } from './forms-shop.ts';
import { openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const TWO = '4111111111111111';
const ONE = '5555555555554444';
const TABLE = `bin_low,bin_high,brand,issuing_bank,country_name,card_type,card_level
411111,411111,VISA,,France,DEBIT,
411111,411111,CARTES BANCAIRES,,France,DEBIT,
`;

const world = useWorld(openFormsWorld);
let page: Page;
beforeAll(async () => {
  const { randomId, stores } = world.vault.opened;
  await loadBinTable({ binStore: stores.binStore, randomId }, TABLE);
});
beforeEach(async () => {
  page = await world.page();
});

test('a form offers them, with the keyboard, and stores the choice', async () => {
  const shown = await showForm(world, page, {
    way: 'function',
    form: 'pcd',
    endpoint: await world.capture(),
    networks: true,
  });
  const choice = shown.form.getByRole('radiogroup', { name: 'Card network' });
  await shown.form.locator('[name="card_number"]').fill(ONE);
  expect(await choice.isVisible()).toBe(false);
  await shown.form.locator('[name="card_number"]').fill(TWO);
  await choice.waitFor();
  expect(await choice.locator('label').allTextContents()).toEqual(['Visa', 'Cartes Bancaires']);
  await shown.form.getByText('Card network: Visa, Cartes Bancaires').waitFor({ state: 'attached' });
  // The shop around the form has faults of its own.
  expect((await axeFaults(page)).filter((fault) => fault.includes('vf-'))).toEqual([]);
  await shown.form.locator('[name="card_number"]').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  for (const [name, value] of [
    ['card_holder', 'Ada Lovelace'],
    ['expiry', '12/40'],
    ['cvv', '737'],
  ] as const) {
    await shown.form.locator(`[name="${name}"]`).fill(value);
  }
  await shown.form.locator('.vf-button').click();
  const { token, reference } = await shown.hear('vault.success');
  expect(await world.stored(String(token), String(reference))).toMatchObject({ network: 'cartes-bancaires' });
});

test('of a card with one network nothing is offered or stored', async () => {
  const shown = await showForm(world, page, {
    way: 'function',
    form: 'pcd',
    endpoint: await world.capture(),
    networks: true,
  });
  await shown.form.locator('[name="card_number"]').fill(TWO);
  await shown.form.getByRole('radiogroup').waitFor();
  await shown.form.locator('[name="card_number"]').fill(ONE);
  await shown.form.getByRole('radiogroup').waitFor({ state: 'hidden' });
  for (const [name, value] of [
    ['card_holder', 'Ada Lovelace'],
    ['expiry', '12/40'],
    ['cvv', '737'],
  ] as const) {
    await shown.form.locator(`[name="${name}"]`).fill(value);
  }
  await shown.form.locator('.vf-button').click();
  const { token, reference } = await shown.hear('vault.success');
  expect(await world.stored(String(token), String(reference))).not.toHaveProperty('network');
});

test('a field with the attribute offers them, tells its page, and stores the choice', async () => {
  const { url, secret } = await world.capture();
  await page.goto(
    pageOf(
      world,
      `<vault-card-number class="field" networks url="${url}" secret="${secret}" reference="co-badged" locale="en"></vault-card-number>`,
      `import '${world.url}/forms/vault-forms.js';
const field = document.querySelector('vault-card-number');
for (const name of ['ready', 'submit', 'error', 'change']) field.addEventListener('vault-' + name, ({ detail }) => heard.push([name, detail]));`,
    ),
  );
  await allReady(page, 1);
  const frame = page.frameLocator('vault-card-number iframe');
  const number = frame.getByRole('textbox', { name: 'Card number' });
  await number.fill(TWO);
  const choice = frame.getByRole('combobox', { name: 'Card network' });
  await choice.waitFor();
  const changes = await heardAll(page, 'change', 2);
  expect(changes.at(-1)).toMatchObject({ networks: ['visa', 'cartes-bancaires'] });
  expect(await frame.locator('body').ariaSnapshot()).toMatch(
    /textbox "Card number".*combobox "Card network"/s,
  );
  await number.focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('ArrowDown');
  await number.press('Enter');
  const { token } = await heard(page, 'submit');
  expect(await world.stored(String(token), 'co-badged')).toMatchObject({ network: 'cartes-bancaires' });
});

test('a field without it asks for nothing', async () => {
  const { url, secret } = await world.capture();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(
    elementsIn(
      world,
      `<vault-card-number class="field" url="${url}" secret="${secret}" locale="en"></vault-card-number>`,
    ),
  );
  const frame = page.frameLocator('vault-card-number iframe');
  await frame.getByRole('textbox').fill(TWO);
  await frame.getByRole('textbox').blur();
  expect(asked.filter((to) => to.includes('/bin/'))).toEqual([]);
  expect(await frame.getByRole('combobox').count()).toBe(0);
});
