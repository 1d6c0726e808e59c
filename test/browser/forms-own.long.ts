/** Forms that the owner's script draws, and a form that only asks for the code of a stored card. */
import { beforeEach, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { FormSettings } from '../../server/form/schema.ts';
import { type Embedding, type Shown, showForm } from './forms-shop.ts';
import { openFormsWorld, USER } from './forms-world.ts';
import { useWorld } from './use-world.ts';

declare const handle: { submit(): void; reset(): void };

/** An owner's form: two inputs, a button, and an output for what it hears. */
const OWN = `window.custom_form = (element, options) => {
  element.innerHTML = '<input name="card_number"><input name="door"><button>Go</button><output></output>';
  const [number, door] = element.querySelectorAll('input');
  const say = (value) => { element.querySelector('output').textContent = JSON.stringify(value); };
  const send = () => options.submit({ card_number: number.value, door: door.value }).then(say, say);
  element.querySelector('button').onclick = send;
  element.addEventListener('vault-submit', send);
  const { submit, read, secret, ...known } = options;
  element.dataset.known = JSON.stringify(known);
  if (options.token) options.read().then(say, say);
};`;

const world = useWorld(openFormsWorld);
let page: Page;

beforeEach(async () => {
  page = await world.page();
});

function ownForm(script = OWN, settings: FormSettings = {}): Promise<string> {
  return world.form('custom', { ...settings, embedded_js: Buffer.from(script).toString('base64') });
}

function show(more: Omit<Embedding, 'way'>): Promise<Shown> {
  return showForm(world, page, { way: 'function', ...more });
}

async function said({ form }: Shown): Promise<unknown> {
  const output = form.locator('output:not(:empty)');
  return JSON.parse((await output.textContent()) ?? '');
}

test('the owner’s function gets an element and what it takes to store, and the page around is told', async () => {
  const endpoint = await world.capture();
  const form = await ownForm(OWN, {
    ...{ force_keypad: true, hide_card: true, strip_spaces: true },
    field_options: { card_number: { visible: false } },
  });
  const shown = await show({ form, endpoint, reference: 'own', extra: { shop: 'main' } });
  const known = await shown.form.locator('[data-known]').getAttribute('data-known');
  expect(JSON.parse(known ?? '')).toEqual({
    unique_id: endpoint.unique_id,
    reference: 'own',
    extra_data: { shop: 'main' },
    ...{ submit_url: `${world.url}/v1/capture/${endpoint.unique_id}`, submit_secret: endpoint.secret },
    ...{ testing: false, force_keypad: true, hide_card: true, disable_luhn: false, strip_spaces: true },
    field_options: { card_number: { validate: true, visible: false } },
  });
  expect(await shown.form.locator('.vf-button').count()).toBe(0);
  await shown.form.locator('[name=card_number]').fill('4111111111111111');
  await shown.form.locator('[name=door]').fill('left');
  await shown.form.locator('button').click();
  const { token, reference } = await shown.hear('vault.success');
  expect(await said(shown)).toEqual({ token, user: USER, reference: 'own' });
  expect(await world.stored(String(token), String(reference))).toEqual({
    ...{ shop: 'main', card_number: '4111111111111111', door: 'left' },
  });
});

test('a script that sends by itself has the URL and the secret, but not of an endpoint that reads', async () => {
  const script = `window.custom_form = (element, { submit_url, submit_secret, read }) => {
  const say = (value) => { element.append(Object.assign(document.createElement('output'), { textContent: JSON.stringify(value) })); };
  if (submit_url === undefined) { read().then(() => say({ submit_secret: submit_secret ?? 'none' })); return; }
  const headers = { 'X-Vault-Capture-Secret': submit_secret };
  const body = JSON.stringify({ card_number: '4111111111111111' });
  fetch(submit_url, { method: 'POST', headers, body }).then((reply) => reply.json()).then(say);
};`;
  const form = await ownForm(script);
  const endpoint = await world.capture();
  const { token } = Object(await said(await show({ form, endpoint })));
  expect(await world.stored(token, endpoint.unique_id)).toEqual({ card_number: '4111111111111111' });
  const reader = await world.retrieve({ token, reference: endpoint.unique_id });
  const item = await show({ form, endpoint: reader, token, reference: endpoint.unique_id });
  expect(await said(item)).toEqual({ submit_secret: 'none' });
});

test('what the vault refuses rejects, the page around sends and clears it, and the item is read', async () => {
  const endpoint = await world.capture();
  const shown = await show({ form: await ownForm(), endpoint });
  await page.evaluate(() => handle.submit());
  expect(await said(shown)).toMatchObject({ status: 400, code: 'number_missing' });
  expect((await shown.hear('vault.error'))['code']).toBe('number_missing');
  await shown.form.locator('[name=door]').fill('left');
  const token = await world.owner.store(USER, { card_number: '4111111111111111', floor: 7 });
  const item = await show({ form: await ownForm(), endpoint: await world.retrieve({ token }), token });
  expect(await said(item)).toEqual({ card_number: '4111111111111111', floor: '7' });
});

test('a function that throws is told, and without one the built-in form is shown', async () => {
  const endpoint = await world.capture();
  const broken = await show({ form: await ownForm('window.custom_form = () => { throw 1; };'), endpoint });
  expect(await broken.hear('vault.error')).toMatchObject({ status: 0, code: 'custom_form_failed' });
  const settings = { additional_fields: [{ name: 'card_number', label: 'Number', required: true }] };
  const usual = await show({ form: await world.form('custom', settings), endpoint });
  expect(await usual.form.locator('.vf-button').count()).toBe(1);
});

test('a card form with the code alone adds it to the card of its endpoint', async () => {
  const card = { card_number: '378282246310005', card_holder: 'Ada Lovelace' };
  const token = await world.owner.store(USER, card, { reference: 'come back' });
  const hidden = { visible: false };
  const form = await world.form('pcd', {
    hide_card: true,
    field_options: { card_number: hidden, card_holder: hidden, expiry: hidden },
  });
  const endpoint = await world.capture({ token, reference: 'come back' });
  const shown = await show({ form, endpoint });
  expect(await shown.form.locator('.vf-input').count()).toBe(1);
  await shown.form.locator('[name=cvv]').fill('7373');
  await shown.form.locator('.vf-button').click();
  expect(await shown.hear('vault.success')).toMatchObject({ token, reference: 'come back' });
  expect(await world.stored(token, 'come back')).toEqual({ ...card, cvv: '7373' });
});
