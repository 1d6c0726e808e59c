/** Attributes of elements: applied when they change, and a warning in the console for those without effect. */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import {
  allReady,
  heard,
  heardAll,
  input,
  NUMBER,
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

/** A card whose number has the secret and these attributes, and whose code has others. */
function cardIn(number: string, code = ''): string {
  const { url, secret } = endpoint;
  return `<vault-card-number class="field" url="${url}" secret="${secret}" ${number}></vault-card-number>
<vault-card-cvc class="field" url="${url}" ${code}></vault-card-cvc>`;
}

/** Sets attributes of an element in one task; null removes one. */
function change(page: Page, tag: string, attributes: Readonly<Record<string, string | null>>): Promise<void> {
  return page.locator(tag).evaluate((element, given) => {
    for (const [name, value] of Object.entries(given)) {
      value === null ? element.removeAttribute(name) : element.setAttribute(name, value);
    }
  }, attributes);
}

/** Waits for so many warnings. */
async function warned(faults: readonly string[], count: number): Promise<readonly string[]> {
  for (let tries = 0; tries < 100 && faults.length < count; tries++) {
    await Bun.sleep(50);
  }
  return faults;
}

describe('a change after ready', () => {
  test('of reference and metadata applies to what is stored', async () => {
    const { page, faults } = await openMarkup(world, cardIn('reference="before" locale="en"'));
    await allReady(page, 2);
    await change(page, 'vault-card-number', { reference: 'after', metadata: 'plan=gold' });
    await allReady(page, 4);
    await input(page, 'vault-card-number').fill(NUMBER);
    await input(page, 'vault-card-cvc').fill('123');
    await input(page, 'vault-card-cvc').press('Enter');
    const reply = await heard(page, 'submit');
    expect(reply['reference']).toBe('after');
    expect(await world.stored(String(reply['token']), 'after')).toMatchObject({
      card_number: NUMBER,
      cvv: '123',
    });
    const listed = await world.owner.send('GET', '/vault', {
      query: { user: 'shop', metadata: 'plan:gold' },
    });
    expect(listed.text).toContain(String(reply['token']));
    expect(faults).toEqual([]);
  });

  test('of locale and theme applies to how fields are shown, and their removal too', async () => {
    const { page, faults } = await openMarkup(world, cardIn('locale="en"'));
    await allReady(page, 2);
    const label = () => input(page, 'vault-card-cvc').getAttribute('aria-label');
    const colour = () =>
      input(page, 'vault-card-cvc').evaluate((element) => Object(globalThis).getComputedStyle(element).color);
    expect(await label()).toBe('Security code');
    const plain = await colour();
    await change(page, 'vault-card-number', { locale: 'de', theme: '{"color":"#123456"}' });
    await allReady(page, 4);
    expect(await label()).toBe('Prüfnummer');
    expect(await colour()).toBe('rgb(18, 52, 86)');
    await change(page, 'vault-card-number', { locale: null, theme: null });
    await allReady(page, 6);
    expect(await label()).toBe('Security code');
    expect(await colour()).toBe(plain);
    expect(faults).toEqual([]);
  });

  test('of the URL leads to another endpoint, whose secret comes with it', async () => {
    const { page } = await openMarkup(world, cardIn('reference="r" locale="en"'));
    await allReady(page, 2);
    const { url, secret } = await world.capture();
    await change(page, 'vault-card-number', { url, secret });
    await change(page, 'vault-card-cvc', { url });
    await allReady(page, 4);
    expect(await page.locator('[secret]').count()).toBe(0);
    await input(page, 'vault-card-number').fill(NUMBER);
    await input(page, 'vault-card-cvc').fill('123');
    await world.owner.send('DELETE', `/capture/${endpoint.unique_id}`);
    await input(page, 'vault-card-cvc').press('Enter');
    expect(await heard(page, 'submit')).toMatchObject({ reference: 'r' });
  });

  test('of what a value of an item shows applies', async () => {
    const { page, faults } = await openMarkup(world, await revealOf(world, 'shown'));
    await page.frameLocator('iframe').getByText('•••• •••• •••• 1111').waitFor();
    await change(page, 'vault-reveal', { locale: 'de' });
    await page.frameLocator('iframe').getByRole('button', { name: 'Anzeigen' }).waitFor();
    await change(page, 'vault-reveal', { field: 'cvv' });
    expect(await heard(page, 'error')).toEqual({ status: 0, code: 'value_missing' });
    expect(faults).toEqual([]);
  });

  test('to a wrong theme is refused by name, and the fields stay', async () => {
    for (const [theme, reason] of [
      ['{"color":"blurple"}', 'The member "color" of the option "theme" is not allowed'],
      ['color: red', 'The attribute "theme" must be a JSON object'],
    ] as const) {
      const { page, faults } = await openMarkup(world, cardIn('locale="en"'));
      await allReady(page, 2);
      await input(page, 'vault-card-number').fill(NUMBER);
      await change(page, 'vault-card-number', { theme });
      expect((await warned(faults, 1)).join()).toContain(reason);
      expect(await input(page, 'vault-card-number').inputValue()).toBe('4111 1111 1111 1111');
      await change(page, 'vault-card-number', { theme: '{"color":"red"}' });
      await allReady(page, 4);
    }
  });

  test('gives no script the secret', async () => {
    const { page } = await openMarkup(world, cardIn('locale="en"'));
    await allReady(page, 2);
    const seen = await page.locator('vault-card-number').evaluate((element) => {
      const names = [...Object.getOwnPropertyNames(element), 'secret'];
      return JSON.stringify([Object(element).outerHTML, names.map((name) => Reflect.get(element, name))]);
    });
    expect(seen).not.toContain('vcs1_');
  });
});

describe('the console warns of attributes', () => {
  const url = 'url="/v1/capture/x"';
  const rows: readonly (readonly [string, () => string, string])[] = [
    [
      'misspelt',
      () => cardIn('referense="r" base_url="x"'),
      '<vault-card-number> does not know: referense, base_url.',
    ],
    [
      'of another element',
      () => cardIn('token="t" field="cvv"'),
      '<vault-card-number> does not know: token, field.',
    ],
    [
      'of a group on an element that has no secret',
      () => cardIn('', 'reference="r" theme="{}"'),
      '<vault-card-cvc> does not use, because another element of its group has the secret: reference, theme.',
    ],
    [
      'of a group on an element that has no secret, misspelt ones too',
      () => cardIn('', 'locale="de" placeholder="CVC"'),
      '<vault-card-cvc> does not know: placeholder; does not use, because another element of its group has the secret: locale.',
    ],
    [
      'that lack the secret',
      () => `<vault-iban ${url}></vault-iban>`,
      '<vault-iban> shows nothing without: secret.',
    ],
    ['that lack all', () => '<vault-iban></vault-iban>', '<vault-iban> shows nothing without: url, secret.'],
    [
      'of a group on a value of an item, and those that it lacks',
      () => '<vault-reveal url="/v1/retrieve/x" metadata="a=b"></vault-reveal>',
      '<vault-reveal> does not know: metadata; shows nothing without: token, secret.',
    ],
    [
      'of fields on a whole form',
      () =>
        `<vault-card-form url="${endpoint.url}" secret="${endpoint.secret}" theme="{}"></vault-card-form>`,
      '<vault-card-form> does not know: theme.',
    ],
  ];
  test.each(rows)('%s', async (_, markup, advice) => {
    const { faults } = await openMarkup(world, markup());
    expect(await warned(faults, 1)).toContain(advice);
  });

  test('once, and also of those that come later', async () => {
    const { page, faults } = await openMarkup(world, cardIn('locale="en"'));
    await allReady(page, 2);
    await Bun.sleep(1_500);
    expect(faults).toEqual([]);
    await change(page, 'vault-card-cvc', { refrence: 'x' });
    await change(page, 'vault-card-number', { class: 'field other', title: 'Number' });
    expect(await warned(faults, 1)).toEqual(['<vault-card-cvc> does not know: refrence.']);
    await change(page, 'vault-card-cvc', { refrence: 'y' });
    await Bun.sleep(1_500);
    expect(faults).toHaveLength(1);
    expect(await heardAll(page, 'ready', 2)).toHaveLength(2);
    expect(await page.evaluate(() => window.length)).toBe(2);
  });
});
