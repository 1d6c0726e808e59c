/** Single fields in a shop's page, each in a frame of its own: typed by keyboard, stored, and hidden from the page. */
import { beforeEach, describe, expect, test } from 'bun:test';
import { READY_MS } from '../../forms/frame/events.ts';
import { axeFaults } from './axe.ts';
import {
  allReady,
  FIELDS,
  groupOf,
  heard,
  heardAll,
  input,
  NUMBER,
  open,
  type ShopWindow,
  typeCard,
} from './elements-page.ts';
import { type Endpoint, type FormsWorld, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

declare const window: ShopWindow;

const world = useWorld(openFormsWorld);
let endpoint: Endpoint;
beforeEach(async () => {
  endpoint = await world.capture();
});

describe('a group', () => {
  test('is typed by keyboard, and stored; the page gets a token, and never a digit', async () => {
    const { page, faults } = await open(
      world,
      groupOf(world, endpoint, { metadata: { campaign: 'spring' } }),
    );
    await allReady(page);
    expect(await axeFaults(page)).toEqual([]);
    await typeCard(page);
    // The focus has come to the button of the page.
    await page.keyboard.press('Enter');
    const reply = await heard(page, 'reply');
    expect(reply).toEqual({ token: expect.any(String), reference: 'order-1', user: 'shop' });
    expect(await world.stored(String(reply['token']), 'order-1')).toEqual({
      ...{ card_number: NUMBER, card_type: 'visa', last_four: '1111', cvv: '123' },
      ...{ expiry: '12/39', expiry_month: '12', expiry_year: '2039', expiry_year_short: '39' },
      card_holder: 'Ada Lovelace',
    });
    const [events, messages] = await page.evaluate(() => [window.heard, window.messages]);
    const seen = JSON.stringify([events, messages]);
    expect(seen).toContain('"brand":"visa"');
    for (const part of ['4111', '1239', '12/39', 'Ada', endpoint.secret]) {
      expect(seen).not.toContain(part);
    }
    // The address of a frame holds the secret only until the frame has read it.
    expect(await page.locator('iframe').first().getAttribute('src')).toBeNull();
    expect(events).toContainEqual([
      'change',
      { field: 'card-cvc', state: 'complete', brand: '', error: '', message: '', networks: [] },
    ]);
    const first = page.frameLocator('iframe').first().getByRole('textbox');
    expect(await first.inputValue()).toBe('');
    expect(faults).toEqual([]);
  });

  test('shows in each empty field what is expected there, in the language of the page', async () => {
    const { page } = await open(world, groupOf(world, endpoint, { locale: 'de' }));
    await allReady(page);
    const hints = FIELDS.map((_, at) =>
      page.frameLocator(`#f${at} iframe`).getByRole('textbox').getAttribute('placeholder'),
    );
    expect(await Promise.all(hints)).toEqual(['1234 1234 1234 1234', 'MM/JJ', '123', ' ']);
  });

  test('says which field is wrong, in the field and to the page', async () => {
    const { page } = await open(world, groupOf(world, endpoint));
    await allReady(page);
    await page.frameLocator('#f0 iframe').getByRole('textbox').fill('4111 1111 1111 1112');
    await page.getByRole('button').click();
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
    const message = 'This card number is not valid.';
    expect(await page.evaluate(() => window.heard)).toContainEqual([
      'change',
      { field: 'card-number', state: 'invalid', brand: 'visa', error: 'number_bad', message, networks: [] },
    ]);
    const frame = page.frameLocator('#f0 iframe');
    expect(await frame.getByRole('textbox').getAttribute('aria-invalid')).toBe('true');
    expect(await frame.getByRole('alert').textContent()).toBe(message);
    expect(await frame.locator('html').getAttribute('lang')).toBe('en');
    expect(await axeFaults(page)).toEqual([]);
  });

  test('tells what a check has found, in the language of the group', async () => {
    const { page } = await open(world, groupOf(world, endpoint, { locale: 'de' }));
    await allReady(page);
    await input(page, '#f0').fill('4111');
    await input(page, '#f1').fill('01/20');
    await input(page, '#f2').fill('12');
    // The focus is in a field, whose check is reported all the same.
    await page.evaluate(() => {
      window.heard.splice(0);
      for (const handle of window.handles) {
        handle.validate();
      }
    });
    const changes = await heardAll(page, 'change', FIELDS.length);
    const found = changes.map(({ field, state, error, message }) => [field, state, error, message]);
    expect(found.sort()).toEqual([
      ['card-cvc', 'invalid', 'cvv_bad', 'Die Prüfnummer hat 3 Ziffern.'],
      ['card-expiry', 'invalid', 'expiry_past', 'Diese Karte ist abgelaufen.'],
      ['card-holder', 'empty', 'required', 'Namen auf der Karte eingeben.'],
      ['card-number', 'partial', 'number_short', 'Diese Kartennummer ist nicht vollständig.'],
    ]);
    await input(page, '#f1').fill('01/39');
    await page.waitForFunction(() =>
      window.heard
        .map(([, detail]) => Object(detail))
        .some(
          ({ field, state, message }) => field === 'card-expiry' && state === 'complete' && message === '',
        ),
    );
  });

  test('tells the vault’s own refusal by its code', async () => {
    endpoint = { ...endpoint, secret: `vcs1_${'A'.repeat(43)}` };
    const { page } = await open(world, groupOf(world, endpoint));
    await allReady(page);
    await typeCard(page);
    await page.keyboard.press('Enter');
    expect(await heard(page, 'failed')).toEqual({ status: 403, code: 'endpoint_refused' });
    expect(await page.frameLocator('#f0 iframe').getByRole('textbox').inputValue()).toContain('4111');
  });

  test('has the style of the page as far as it is harmless, and refuses any other', async () => {
    const theme = {
      color: '#123456',
      fontSize: '20px',
      fontFamily: 'Georgia, serif',
      placeholderColor: '#667788',
    };
    const { page } = await open(world, groupOf(world, endpoint, { theme }));
    await allReady(page);
    const style = await page
      .frameLocator('#f0 iframe')
      .getByRole('textbox')
      .evaluate((element) => {
        const { color, fontSize, fontFamily } = Object(globalThis).getComputedStyle(element);
        return { color, fontSize, fontFamily };
      });
    expect(style).toEqual({ color: 'rgb(18, 52, 86)', fontSize: '20px', fontFamily: 'Georgia, serif' });
    // Otherwise most browsers show a scroll bar in it.
    for (const frame of page.frames().slice(1)) {
      const [needs, has] = await frame.evaluate(() => {
        const { scrollHeight, clientHeight } = Object(globalThis).document.documentElement;
        return [scrollHeight, clientHeight];
      });
      expect(needs).toBe(has);
    }
    const refused = await open(world, groupOf(world, endpoint, { theme: { color: 'transparent' } }));
    await refused.page.waitForTimeout(300);
    expect(refused.faults.join()).toContain('The member "color" of the option "theme" is not allowed');
  });

  test('cannot be in a shadow root, where its frames would not find each other', async () => {
    const { page } = await open(world, groupOf(world, endpoint, {}, ['card-number']));
    await allReady(page, 1);
    const refusal = await page.evaluate(() => {
      const { document } = Object(globalThis);
      const inside = document.createElement('div');
      document.querySelector('h1').attachShadow({ mode: 'closed' }).append(inside);
      try {
        return window.card.mount(inside, 'card-cvc');
      } catch (error) {
        return Object(error).message;
      }
    });
    expect(refusal).toContain('cannot be in a shadow root');
  });

  test('works in a page that is isolated by Cross-Origin-Embedder-Policy', async () => {
    const isolated = { 'Cross-Origin-Embedder-Policy': 'require-corp' };
    const serve: FormsWorld['serve'] = (path, text) => world.serve(path, text, isolated);
    const { page } = await open(world, groupOf({ ...world, serve }, endpoint));
    await allReady(page);
    await typeCard(page);
    await page.keyboard.press('Enter');
    expect(await heard(page, 'reply')).toMatchObject({ reference: 'order-1' });
  });

  test('that does not load says so', async () => {
    const page = await world.page();
    await page.clock.install();
    await page.route('**/forms/element?*', (route) => route.abort());
    await page.goto(groupOf(world, endpoint, {}, ['card-number']));
    await page.clock.runFor(READY_MS + 1000);
    expect(await heard(page, 'error')).toMatchObject({ status: 0, code: 'elements_unavailable' });
  });
});
