/** The types of additional fields in a hosted form, and where it leads after it was sent. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { axeFaults } from './axe.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const world = useWorld(openFormsWorld);
let endpoint: Endpoint;
beforeAll(async () => {
  endpoint = await world.capture();
});

describe('a hosted form', () => {
  test('has card fields that browsers and password managers know, and none that is a sign-in to them', async () => {
    const page = await world.page();
    await page.goto(`${world.url}/v1/capture/iframe/pcd#${new URLSearchParams({ ...endpoint })}`);
    await page.locator('.vf-panel').waitFor();
    const names = ['type', 'id', 'name', 'autocomplete', 'inputmode'];
    const seen = await page
      .locator('input')
      .evaluateAll(
        (inputs: { getAttribute(name: string): string | null }[], all) =>
          inputs.map((input) => all.map((name) => input.getAttribute(name))),
        names,
      );
    expect(seen).toEqual([
      ['text', 'vf-card_number', 'card_number', 'cc-number', 'numeric'],
      ['text', 'vf-card_holder', 'card_holder', 'cc-name', null],
      ['text', 'vf-expiry', 'expiry', 'cc-exp', 'numeric'],
      ['text', 'vf-cvv', 'cvv', 'cc-csc', 'numeric'],
    ]);
  });

  test('has fields by type, and leads to where its owner wants, with the token', async () => {
    const types = ['email', 'tel', 'country', 'select', 'checkbox'] as const;
    const id = await world.form('custom', {
      frame_ancestors: [world.shop],
      success_url: world.serve('/thanks', '<h1>Thanks</h1>'),
      locale: 'de',
      additional_fields: [
        { name: 'number', label: 'Number', required: true },
        ...types.map((type) => ({ name: type, label: type, required: true, type })),
      ].map((field) => (field.name === 'select' ? { ...field, options: ['red', 'blue'] } : field)),
    });
    const page = await world.page();
    const { unique_id, secret } = endpoint;
    const fragment = new URLSearchParams({ unique_id, secret, reference: 'order-9' });
    await page.goto(`${world.url}/v1/capture/iframe/${id}#${fragment}`);
    await page.locator('[name=number]').fill('M-2');
    await page.locator('[name=email]').fill('ada');
    await page.locator('.vf-button').click();
    expect(await page.locator('#vf-email-error').textContent()).toBe('Vollständige E-Mail-Adresse eingeben.');
    expect(await axeFaults(page)).toEqual([]);
    await page.locator('[name=email]').fill('ada@bücher.example');
    await page.locator('[name=tel]').fill('+44 20 7946 0000');
    await page.locator('[name=country]').selectOption({ label: 'Deutschland' });
    await page.locator('[name=select]').selectOption('blue');
    await page.locator('[name=checkbox]').check();
    await page.locator('.vf-button').click();
    await page.getByRole('heading', { name: 'Thanks' }).waitFor();
    const url = new URL(page.url());
    expect(page.url()).not.toContain(endpoint.secret);
    expect(await world.stored(url.searchParams.get('token') ?? '', 'order-9')).toEqual({
      ...{ number: 'M-2', email: 'ada@bücher.example', tel: '+44 20 7946 0000' },
      ...{ country: 'DE', select: 'blue', checkbox: 'true' },
    });
  });
});
