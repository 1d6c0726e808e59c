/** The settings of a form are replaced whole, or not at all. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Form } from '../../../sdk/index.ts';
import type { AccountClient, Answer } from '../../helpers/clients.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';

const IFRAME = '/retrieve/iframe';
const SETTINGS = {
  hide_card: true,
  locale: 'es',
  additional_fields: [{ name: 'note', label: 'Note', required: true }],
  theme: { style: 'modern', primary_color: '#c0ffee' },
} as const;

let vault: TestVault;
let owner: AccountClient;
let other: AccountClient;
let ids = 0;

beforeAll(async () => {
  vault = await openTestVault();
  [owner, other] = [await vault.account(), await vault.account()];
});
afterAll(() => vault.close());

function freshId(): string {
  ids += 1;
  return `form-${ids}`;
}
function create(form_id: string, body: unknown = {}, client = owner): Promise<Answer> {
  return client.send('POST', IFRAME, { query: { form_id }, body });
}
function read(form_id: string, client = owner): Promise<Answer> {
  return client.send('GET', IFRAME, { query: { form_id } });
}
function remove(form_id: string, client = owner): Promise<Answer> {
  return client.send('DELETE', `${IFRAME}/${form_id}`);
}
function replace(id: string, body: unknown = {}, by = owner, base = IFRAME): Promise<Answer> {
  return by.send('PUT', `${base}/${id}`, { body });
}
async function page(form_id: string): Promise<Response> {
  return vault.handle(new Request(`http://localhost/v1${IFRAME}/${form_id}`));
}

test('gives what a creation with the same settings would, of the same type, by either path', async () => {
  const id = freshId();
  await create(id, { additional_fields: [{ name: 'number' }], locale: 'de' });
  const { form_type: type } = (await read(id)).as<Form>();
  for (const [base, settings] of [
    [IFRAME, SETTINGS],
    ['/capture/iframe', {}],
  ] as const) {
    const answer = await replace(id, settings, owner, base);
    expect(answer.outcome).toBe('200');
    expect(answer.json).toEqual({ id, url: `/v1${base}/${id}`, form_type: type, ...settings });
    expect((await read(id)).json).toMatchObject(settings);
    expect((await page(id)).status).toBe(200);
  }
  expect((await read(id)).json).not.toHaveProperty('locale');
  const log = (await owner.send('GET', '/audit', { query: { action: 'form.change' } })).as<object[]>();
  expect(log).toMatchObject([{ object: `form/${id}` }, { object: `form/${id}` }]);
  await remove(id);
});

test('is refused for forms of others, built-in and unknown ones, and for invalid settings', async () => {
  const id = freshId();
  await create(id, { locale: 'de' });
  expect((await replace(id, {}, other)).outcome).toBe('404 form_not_found');
  expect((await replace('pcd')).outcome).toBe('404 form_not_found');
  expect((await replace('nowhere')).outcome).toBe('404 form_not_found');
  expect((await replace(id, { locale: 'xx' })).outcome).toBe('400 invalid_request');
  expect((await replace(id, { css_links: ['http://a.example/'] })).outcome).toBe('400 invalid_request');
  expect((await read(id)).json).toMatchObject({ locale: 'de' });
  await remove(id);
});

test('never brings a deleted form back, nor changes one that took its id since', async () => {
  for (let round = 0; round < 20; round++) {
    const id = freshId();
    await create(id, { locale: 'de' });
    const [changed] = await Promise.all([
      replace(id, { locale: 'fr' }),
      remove(id).then(() => create(id, { locale: 'es' }, other)),
    ]);
    expect(['200', '404 form_not_found']).toContain(changed.outcome);
    expect((await read(id, other)).json).toMatchObject({ locale: 'es' });
    expect((await read(id)).outcome).toBe('404 form_not_found');
    await remove(id, other);
  }
});

test.each([
  [{ success_url: 'https://shop.example/thanks?a=1' }, '200'],
  [{ success_url: 'https://evil.example/' }, 'body.success_url'],
  [{ success_url: 'https://shop.example.evil.example/' }, 'body.success_url'],
  [{ success_url: 'https://shop.example@evil.example/' }, 'body.success_url'],
  [{ success_url: 'javascript:alert(1)' }, 'body.success_url'],
  [{ success_url: '//shop.example/' }, 'body.success_url'],
  [{ success_url: 'https://shop.example/#x' }, 'body.success_url'],
  [{ success_url: 'https://shop.example/', frame_ancestors: null }, 'body.success_url'],
  [{ additional_fields: [{ name: 'a', type: 'select', options: ['x', { value: 'y', label: 'Y' }] }] }, '200'],
  [{ additional_fields: [{ name: 'a', type: 'select' }] }, 'body.additional_fields[0].options'],
  [{ additional_fields: [{ name: 'a', options: ['x'] }] }, 'body.additional_fields[0].options'],
  [{ additional_fields: [{ name: 'a', type: 'password' }] }, 'body.additional_fields[0].type'],
])('%j: %s', async (settings, expected) => {
  const id = freshId();
  const answer = await create(id, { frame_ancestors: ['https://shop.example'], ...settings });
  expect(answer.field ?? answer.outcome).toBe(expected);
});
