/** Elements in markup: groups by their URL, moved by the page, and written anew by frameworks. */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import {
  allReady,
  elementsIn,
  heard,
  heardAll,
  input,
  NUMBER,
  open,
  openMarkup,
  revealOf,
  type ShopWindow,
} from './elements-page.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

declare const window: ShopWindow;
const world = useWorld(openFormsWorld);
let endpoint: Endpoint;
beforeEach(async () => {
  endpoint = await world.capture();
});

describe('in markup', () => {
  test('fields with one URL are one group, and an IBAN is checked', async () => {
    const { url, secret } = endpoint;
    const { page, faults } = await openMarkup(
      world,
      `<vault-iban class="field" url="${url}"></vault-iban>
<vault-card-holder class="field" url="${url}" secret="${secret}" reference="order-2" locale="de" metadata="plan=gold"></vault-card-holder>`,
    );
    await allReady(page, 2);
    expect(await page.locator('vault-card-holder').getAttribute('secret')).toBeNull();
    const iban = page.frameLocator('vault-iban iframe').getByRole('textbox', { name: 'IBAN' });
    await iban.fill('DE89 3704 0044 0532 0130 01');
    await iban.press('Enter');
    expect(await heard(page, 'error')).toMatchObject({ code: 'form_invalid' });
    await iban.fill('DE89370400440532013000');
    await page.frameLocator('vault-card-holder iframe').getByRole('textbox').fill('Ada');
    await iban.press('Enter');
    const reply = await heard(page, 'submit');
    expect(await world.stored(String(reply['token']), 'order-2')).toEqual({
      account_number: 'DE89370400440532013000',
      card_holder: 'Ada',
    });
    expect(faults).toEqual([]);
  });

  test('a value of an item is hidden until it is shown, and the page never has it', async () => {
    const { page, faults } = await open(world, elementsIn(world, await revealOf(world, 'shown')));
    const frame = page.frameLocator('iframe');
    await frame.getByText('•••• •••• •••• 1111').waitFor();
    await frame.getByRole('button', { name: 'Show' }).click();
    await frame.getByText('4111 1111 1111 1111').waitFor();
    await frame.getByRole('button', { name: 'Copy' }).click();
    await frame.getByRole('button', { name: 'Copied' }).waitFor();
    await frame.getByRole('button', { name: 'Hide' }).click();
    expect(JSON.stringify(await page.evaluate(() => window.messages))).not.toContain('1111');
    expect(await page.content()).not.toContain('1111');
    expect(faults).toEqual([]);
  });

  test('a value that the vault has masked has no buttons', async () => {
    const markup = await revealOf(world, 'masked', { mask_fields: 'card_number' });
    const { page } = await open(world, elementsIn(world, markup));
    const frame = page.frameLocator('iframe');
    await frame.getByText('•••• •••• •••• 1111').waitFor();
    expect(await frame.getByRole('button').count()).toBe(0);
  });

  /** A card in markup, whose first element brings the secret. */
  function cardIn(reference: string): string {
    const { url, secret } = endpoint;
    return `<vault-card-number class="field" url="${url}" secret="${secret}" reference="${reference}"></vault-card-number>
<vault-card-expiry class="field" url="${url}"></vault-card-expiry><vault-card-cvc class="field" url="${url}"></vault-card-cvc>`;
  }

  function cardPage(body: string): ReturnType<typeof openMarkup> {
    return openMarkup(world, `<div id="here">${body}</div><div id="there"></div>`);
  }

  /** Types into all fields that there are, and sends them; gives the item. */
  async function pay(page: Page, reference: string): Promise<unknown> {
    const texts = { 'vault-card-number': NUMBER, 'vault-card-expiry': '1239', 'vault-card-cvc': '123' };
    for (const [tag, text] of Object.entries(texts)) {
      if ((await page.locator(tag).count()) > 0) {
        await input(page, tag).fill(text);
      }
    }
    await page.evaluate(() => window.heard.splice(0));
    await input(page, 'vault-card-number').press('Enter');
    const { token } = await heard(page, 'submit');
    return world.stored(String(token), reference);
  }

  const CARD = { card_number: NUMBER, expiry: '12/39', cvv: '123' };

  test('fields that are moved in one task live on as one group', async () => {
    const { page, faults } = await cardPage(cardIn('moved'));
    await allReady(page, 3);
    await page.evaluate(() => {
      const { document } = Object(globalThis);
      for (const element of document.querySelectorAll('.field')) {
        document.querySelector('#there').append(element);
      }
    });
    await allReady(page, 6);
    expect(await pay(page, 'moved')).toMatchObject(CARD);
    // Browsers warn of the empty page that a moved frame has for a moment.
    expect(faults.filter((text) => !text.includes('can escape its sandboxing'))).toEqual([]);
  });

  test('the last field of a group may leave the page and come back later', async () => {
    const { page } = await cardPage(cardIn('back').split('\n')[0] ?? '');
    await allReady(page, 1);
    await page.evaluate(async () => {
      const { document, setTimeout } = Object(globalThis);
      const element = document.querySelector('vault-card-number');
      element.remove();
      await new Promise((end) => setTimeout(end, 100));
      document.querySelector('#there').append(element);
    });
    await allReady(page, 2);
    expect(await page.locator('[secret]').count()).toBe(0);
    expect(await pay(page, 'back')).toMatchObject({ card_number: NUMBER });
  });

  test('that is written anew, by a framework, has the options of the new one', async () => {
    const { page } = await cardPage(cardIn('first'));
    await allReady(page, 3);
    await page.evaluate((markup) => {
      Object(globalThis).document.querySelector('#here').innerHTML = markup;
    }, cardIn('second'));
    await allReady(page, 6);
    expect(await pay(page, 'second')).toMatchObject(CARD);
    // The element with the secret is replaced, and the others stay.
    await page.evaluate((markup) => {
      const { document } = Object(globalThis);
      const place = document.createElement('div');
      place.innerHTML = markup;
      document.querySelector('vault-card-number').replaceWith(place.firstElementChild);
    }, cardIn('third'));
    await allReady(page, 3);
    expect(await pay(page, 'third')).toMatchObject(CARD);
  });

  test('that are moved with moveBefore keep what was typed', async () => {
    const { page } = await cardPage(cardIn('kept'));
    await allReady(page, 3);
    await input(page, 'vault-card-number').fill(NUMBER);
    await page.evaluate(() => {
      const { document } = Object(globalThis);
      document.querySelector('#there').moveBefore(document.querySelector('vault-card-number'), null);
    });
    await input(page, 'vault-card-expiry').fill('1239');
    await input(page, 'vault-card-cvc').fill('123');
    await input(page, 'vault-card-cvc').press('Enter');
    const { token } = await heard(page, 'submit');
    expect(await world.stored(String(token), 'kept')).toMatchObject(CARD);
    expect(await heardAll(page, 'ready', 3)).toHaveLength(3);
  });

  test('that get their attributes late lose the secret from them all the same', async () => {
    const { page } = await cardPage('<vault-card-number class="field"></vault-card-number>');
    await page.evaluate(async ({ url, secret }) => {
      const { document, setTimeout } = Object(globalThis);
      const element = document.querySelector('vault-card-number');
      for (const [name, value] of Object.entries({ secret, reference: 'late', url })) {
        element.setAttribute(name, value);
        await new Promise((end) => setTimeout(end, 50));
      }
    }, endpoint);
    await allReady(page, 1);
    expect(await page.locator('[secret]').count()).toBe(0);
    expect(await pay(page, 'late')).toMatchObject({ card_number: NUMBER });
  });

  test('a value of an item that is moved is shown there', async () => {
    const { page } = await cardPage(await revealOf(world, 'far'));
    await allReady(page, 1);
    for (const pause of [0, 100]) {
      await page.evaluate(async (milliseconds) => {
        const { document, setTimeout } = Object(globalThis);
        const element = document.querySelector('vault-reveal');
        element.remove();
        await (milliseconds && new Promise((end) => setTimeout(end, milliseconds)));
        document.querySelector('#there').append(element);
      }, pause);
      await page.frameLocator('#there iframe').getByText('•••• •••• •••• 1111').waitFor();
    }
    expect(await page.locator('[secret]').count()).toBe(0);
  });
});
