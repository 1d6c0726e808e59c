/** Fields that Chromium's own autofill and other programs fill, each in a frame of its own. */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { allReady, FIELDS, groupOf, heard, input, NUMBER, type ShopWindow } from './elements-page.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

declare const window: ShopWindow;
declare const DataTransfer: new () => { setData(type: string, text: string): void };
declare const ClipboardEvent: new (
  type: string,
  init: { readonly clipboardData: unknown; readonly bubbles: boolean; readonly cancelable: boolean },
) => Event;
const world = useWorld(openFormsWorld);
let endpoint: Endpoint;
beforeEach(async () => {
  endpoint = await world.capture();
});

async function openFields(fields: readonly string[] = FIELDS): Promise<Page> {
  const page = await world.page();
  await page.goto(groupOf(world, endpoint, {}, fields));
  await allReady(page, fields.length);
  return page;
}

/** Lets Chromium fill a card, as if the user had chosen it in the field of a container. */
async function autofill(page: Page, container: string): Promise<void> {
  await input(page, container).click();
  const frame = await (await page.$(`${container} iframe`))?.contentFrame();
  if (!frame) {
    throw new Error(`${container} has no frame`);
  }
  const session = await page.context().newCDPSession(frame);
  const { root } = await session.send('DOM.getDocument', { depth: 1 });
  const { nodeId } = await session.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'input' });
  const { node } = await session.send('DOM.describeNode', { nodeId });
  const { frameTree } = await session.send('Page.getFrameTree');
  await session.send('Autofill.trigger', {
    fieldId: node.backendNodeId,
    frameId: frameTree.frame.id,
    card: { number: NUMBER, name: 'Ada Lovelace', expiryMonth: '12', expiryYear: '2039', cvc: '123' },
  });
}

/** Puts a text into a field as programs do: at once, without a key, and with these events alone. */
async function put(page: Page, container: string, text: string, events: readonly string[]): Promise<void> {
  await input(page, container).evaluate(
    (element, [value, names]) => {
      Object.assign(element, { value });
      for (const name of names) {
        element.dispatchEvent(new Event(name, { bubbles: true }));
      }
    },
    [text, events] as const,
  );
}

describe('autofill of Chromium', () => {
  test.each(['#f0', '#f2'])('that is asked for in %s fills the whole group', async (container) => {
    const page = await openFields();
    await autofill(page, container);
    for (const at of FIELDS.keys()) {
      await page.frameLocator(`#f${at} iframe`).locator('input:autofill').waitFor();
    }
    await page.getByRole('button').click();
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), 'order-1')).toMatchObject({
      ...{ card_number: NUMBER, card_type: 'visa', cvv: '123', card_holder: 'Ada Lovelace' },
      ...{ expiry: '12/39', expiry_month: '12', expiry_year: '2039' },
    });
    expect(JSON.stringify(await page.evaluate(() => [window.heard, window.messages]))).not.toContain('1111');
  });

  test('finds in each field what it looks for, and in none what password managers take for a sign-in', async () => {
    const page = await openFields([...FIELDS, 'iban']);
    const seen = await Promise.all(
      [...FIELDS, 'iban'].map((_, at) =>
        input(page, `#f${at}`).evaluate((element) =>
          ['type', 'id', 'name', 'autocomplete', 'inputmode'].map((name) => element.getAttribute(name)),
        ),
      ),
    );
    expect(seen).toEqual([
      ['text', 'vf-card_number', 'card_number', 'cc-number', 'numeric'],
      ['text', 'vf-expiry', 'expiry', 'cc-exp', 'numeric'],
      ['text', 'vf-cvv', 'cvv', 'cc-csc', 'numeric'],
      ['text', 'vf-card_holder', 'card_holder', 'cc-name', null],
      ['text', 'vf-iban', 'iban', 'off', null],
    ]);
    expect(await page.frameLocator('#f2 iframe').locator('input[type=password], form').count()).toBe(0);
  });
});

describe.each([[['input', 'change']], [['input']], [['change']]])(
  'a program that tells of it by %p',
  (events) => {
    test('fills a number and a date in any of their usual forms', async () => {
      const page = await openFields();
      for (const text of ['4111 1111 1111 1111', '4111-1111-1111-1111', NUMBER, ' 4111111111111111 ']) {
        await put(page, '#f0', text, events);
        expect(await input(page, '#f0').inputValue()).toBe('4111 1111 1111 1111');
        await put(page, '#f0', '', events);
      }
      for (const text of [
        '12/2039',
        '2039-12',
        '12/39',
        '12 / 39',
        '12-39',
        '1239',
        '122039',
        '2039-12-01',
        '203912',
        '31.12.2039',
        'Dec 2039',
        'December 39',
        '\u200e12/39\u200e',
      ]) {
        await put(page, '#f1', text, events);
        expect(await input(page, '#f1').inputValue()).toBe('12/39');
        await put(page, '#f1', '', events);
      }
      await put(page, '#f0', '4111-1111-1111-1111', events);
      await put(page, '#f1', '2039-12', events);
      await put(page, '#f2', '123', events);
      await put(page, '#f3', 'Ada Lovelace', events);
      expect(await page.evaluate(() => window.heard)).toContainEqual([
        'change',
        { field: 'card-number', state: 'complete', brand: 'visa', error: '', message: '', networks: [] },
      ]);
      await page.getByRole('button').click();
      const { token } = await heard(page, 'reply');
      expect(await world.stored(String(token), 'order-1')).toMatchObject({
        ...{ card_number: NUMBER, expiry: '12/39', cvv: '123', card_holder: 'Ada Lovelace' },
      });
    });

    test.each(['39 Dec', '13/39', '2039', '12/1939', '01/02/2039'])(
      'may not give the date as %p',
      async (text) => {
        const page = await openFields(['card-number', 'card-expiry']);
        await put(page, '#f0', NUMBER, events);
        await put(page, '#f1', text, events);
        await page.getByRole('button').click();
        expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
      },
    );
  },
);

describe('an IBAN', () => {
  const shown = 'DE89 3704 0044 0532 0130 00';

  /** Pastes a text as browsers do: by an event that the field may handle, otherwise at the caret. */
  async function paste(page: Page, text: string): Promise<void> {
    await input(page, '#f0').evaluate((element, copied) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', copied);
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      if (element.dispatchEvent(event)) {
        element.ownerDocument.execCommand('insertText', false, copied);
      }
    }, text);
  }

  test('is taken as people paste it, and corrected where the caret is', async () => {
    const page = await openFields(['iban']);
    const field = input(page, '#f0');
    for (const text of [
      'IBAN: DE89 3704 0044 0532 0130 00',
      'de89-3704-0044-0532-0130-00',
      '\u202aDE89 3704\u00a00044 0532 0130 00\u202c',
      'DE89 3704 0044 0532 0130 00, BIC COBADEFFXXX',
    ]) {
      await field.fill('DE');
      await paste(page, text);
      expect(await field.inputValue()).toBe(shown);
      await put(page, '#f0', '', ['input']);
      await put(page, '#f0', text, ['change']);
      expect(await field.inputValue()).toBe(shown);
    }
    await field.press('Home');
    for (let at = 0; at < 7; at += 1) {
      await field.press('ArrowRight');
    }
    await field.press('Backspace');
    expect(await field.inputValue()).toBe('DE89 3040 0440 5320 1300 0');
    await field.press('7');
    expect(await field.inputValue()).toBe(shown);
    await field.press('9');
    expect(await field.inputValue()).toBe(shown);
    await field.press('Backspace');
    await field.press('Backspace');
    await field.press('Backspace');
    expect(await field.inputValue()).toBe('DE80 4004 4053 2013 000');
    await page.getByRole('button').focus();
    await page.frameLocator('#f0 iframe').getByText('This IBAN is not valid.').waitFor({ state: 'attached' });
    await field.fill(shown);
    await page.getByRole('button').click();
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), 'order-1')).toEqual({
      account_number: 'DE89370400440532013000',
    });
  });
});

test('what is wrong is announced when a field is left, and what is missing by its name', async () => {
  const page = await openFields();
  const announced = (at: number): Promise<string | null> =>
    page.frameLocator(`#f${at} iframe`).locator('[role=alert]').textContent();
  for (const [at, text, sentence] of [
    [0, '4111', 'This card number is not complete.'],
    [1, '01/20', 'This card has expired.'],
    [2, '12', 'The security code has 3 digits.'],
    [3, NUMBER, 'Enter a name, not a number.'],
  ] as const) {
    await input(page, `#f${at}`).fill(text);
    expect(await announced(at)).toBe('');
    await page.getByRole('button').focus();
    await page.frameLocator(`#f${at} iframe`).getByText(sentence).waitFor({ state: 'attached' });
    await input(page, `#f${at}`).fill('');
  }
  await page.getByRole('button').click();
  expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
  expect(await Promise.all([0, 1, 2, 3].map(announced))).toEqual([
    'Enter the card number.',
    'Enter the expiry date.',
    'Enter the security code.',
    'Enter the name on the card.',
  ]);
});

test('a code of too many digits that came at once is not cut to one that fits', async () => {
  const page = await openFields();
  await put(page, '#f0', NUMBER, ['input']);
  await put(page, '#f1', '12/39', ['input']);
  await put(page, '#f2', '12345', ['input']);
  await put(page, '#f3', 'Ada Lovelace', ['input']);
  expect(await input(page, '#f2').inputValue()).toBe('12345');
  await page.getByRole('button').click();
  expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
});
