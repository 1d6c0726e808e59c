/** Endpoints that name the pages that may use them, and links that work once. */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { allReady, FIELDS, groupOf, heard, heardAll, input, NUMBER } from './elements-page.ts';
import { showForm, WAYS } from './forms-shop.ts';
import { openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const OTHER = 'https://other.example';
const CARD = { card_number: NUMBER, card_holder: 'Ada Lovelace', expiry: '12/40', cvv: '737' };

const world = useWorld(openFormsWorld);
let page: Page;
beforeEach(async () => {
  page = await world.page();
});

describe.each(WAYS)('a form as %s', (way) => {
  test('works in a page that its endpoint names', async () => {
    const endpoint = await world.capture({ origins: `${world.shop},null` });
    const shown = await showForm(world, page, { way, form: 'pcd', endpoint });
    for (const [name, value] of Object.entries(CARD)) {
      await shown.form.locator(`[name="${name}"]`).fill(value);
    }
    await shown.form.locator('.vf-button').click();
    await shown.hear('vault.success');
  });

  test('refuses to work in another, where the server cannot know it', async () => {
    const endpoint = await world.capture({ origins: `${OTHER},null` });
    const shown = await showForm(world, page, { way, form: 'pcd', endpoint });
    expect(await shown.hear('vault.error')).toMatchObject({ code: 'origin_not_allowed' });
    expect(await shown.form.locator('input').count()).toBe(0);
  });

  test('is refused by the server where pages without an origin are not named', async () => {
    const endpoint = await world.capture({ origins: world.shop });
    const shown = await showForm(world, page, { way, form: 'pcd', endpoint });
    expect(await shown.hear('vault.error')).toMatchObject({ status: 403, code: 'origin_not_allowed' });
  });
});

describe('single fields', () => {
  const FOUR = [NUMBER, '1239', '123', 'Ada'];

  test('work in a page that their endpoint names, and ask once', async () => {
    const endpoint = await world.capture({ origins: world.shop });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.goto(groupOf(world, endpoint));
    await allReady(page);
    const answered = page.waitForResponse((response) => new URL(response.url()).pathname === endpoint.url);
    await input(page, '#f0').click();
    await (await answered).finished();
    for (const [at, text] of FOUR.entries()) {
      await input(page, `#f${at}`).fill(text);
    }
    await page.getByRole('button').click();
    await heard(page, 'reply');
    expect(asked.filter((request) => request === `GET ${endpoint.url}`)).toHaveLength(1);
  });

  test('refuse to work in another, at the first focus', async () => {
    await page.goto(groupOf(world, await world.capture({ origins: OTHER })));
    await allReady(page);
    await input(page, '#f0').click();
    expect(await heard(page, 'error')).toEqual({
      ...{ field: FIELDS[0], status: 0, code: 'origin_not_allowed' },
    });
    expect(await input(page, '#f0').isDisabled()).toBe(true);
  });

  test('send nothing from another, also without a focus', async () => {
    await page.goto(groupOf(world, await world.capture({ origins: OTHER })));
    await allReady(page);
    const posted: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()));
    await page.evaluate(() => void Object(globalThis).pay());
    expect(await heard(page, 'failed')).toMatchObject({ code: 'form_invalid' });
    for (const [at, text] of FOUR.entries()) {
      await page
        .frameLocator(`#f${at} iframe`)
        .locator('input')
        .evaluate((element, value) => {
          Object.assign(element, { value });
          Object(element).dispatchEvent(new Event('change'));
        }, text);
    }
    await page.evaluate(() => void Object(globalThis).pay());
    expect((await heardAll(page, 'failed', 2)).at(-1)).toMatchObject({ code: 'origin_not_allowed' });
    expect(posted).toEqual([]);
  });
});

describe('a link that works once', () => {
  async function makeLink(): Promise<string> {
    const reference = crypto.randomUUID();
    const token = await world.owner.store('shop', CARD, { reference });
    const { unique_id, secret } = await world.retrieve({ token, reference, max_uses: '1' });
    const visit = new URLSearchParams({ unique_id, secret, token, reference });
    return `${world.url}/v1/retrieve/iframe/pcd#${visit}`;
  }

  test('shows nothing before a press, then the item, then that it was used', async () => {
    const read: string[] = [];
    page.on('request', (request) => read.push(new URL(request.url()).pathname));
    const link = await makeLink();
    await page.goto(link);
    const open = page.getByRole('button', { name: 'Show details' });
    await open.waitFor();
    expect(read.filter((path) => /^\/v1\/retrieve\/(?!iframe)/.test(path))).toEqual([]);
    await open.click();
    await page.locator('.vf-value').first().waitFor();
    await page.goto('about:blank');
    await page.goto(link);
    await open.click();
    await page.getByText('This link has been used already.').waitFor();
  });

  test('as the page of a new endpoint too', async () => {
    const token = await world.owner.store('shop', CARD, { reference: 'page' });
    const query = new URLSearchParams({ user: 'shop', token, reference: 'page', max_uses: '1' });
    const made = await fetch(`${world.url}/v1/retrieve?${query}`, {
      method: 'POST',
      headers: {
        accept: 'text/html',
        authorization: basicAuth(world.owner.name, world.owner.password),
        'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
      },
    });
    const ready = world.serve('/once', await made.text());
    await page.goto(ready);
    await page.getByRole('button', { name: 'Show details' }).click();
    await page.locator('.vf-value').first().waitFor();
    await page.goto(`${ready}?again`);
    await page.getByRole('button', { name: 'Show details' }).click();
    await page.getByText('has been used already').waitFor();
  });
});
