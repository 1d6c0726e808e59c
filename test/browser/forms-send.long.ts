import { beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { ERRORS } from '../../server/core/error-table.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { type Embedding, type Shown, showForm } from './forms-shop.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const IDLE_MS = 10 * 60_000;
/** Ahead of a clock that still runs while it is paused. */
const PAUSE_MS = 60_000;
const CARD = { card_number: '4111 1111 1111 1111', card_holder: 'Ada Lovelace', expiry: '12/40', cvv: '123' };

declare const window: {
  readonly called?: unknown;
  dispatchEvent(event: Event): boolean;
  handle: {
    submit(): void;
    reset(): void;
    destroy(): void;
    readonly iframe: object;
  };
};
declare const handle: typeof window.handle;

const world = useWorld(openFormsWorld);
let page: Page;
let endpoint: Endpoint;
let before = 0;

beforeEach(async () => {
  page = await world.page();
  endpoint = await world.capture();
  before = await world.count();
});

function show(more: Partial<Embedding> = {}): Promise<Shown> {
  return showForm(world, page, { way: 'function', form: 'pcd', endpoint, ...more });
}

async function fillIn({ form }: Shown, card: Readonly<Record<string, string>> = CARD): Promise<void> {
  for (const [name, value] of Object.entries(card)) {
    await form.locator(`[name="${name}"]`).fill(value);
  }
}

function typedIn({ form }: Shown): Promise<string[]> {
  return form
    .locator('.vf-input')
    .evaluateAll((inputs) => inputs.map((input) => String(Reflect.get(input, 'value'))));
}

/** Sending is refused from now on. */
function removeEndpoint(): Promise<unknown> {
  return world.owner.send('DELETE', `/capture/${endpoint.unique_id}`);
}

async function stored(): Promise<number> {
  return (await world.count()) - before;
}

describe('an endpoint that has ended', () => {
  const texts = [
    ['en', 'This form has expired. Please reload the page.'],
    ['de', 'Dieses Formular ist abgelaufen. Bitte laden Sie die Seite neu.'],
  ] as const;
  test.each(texts)('is told before anything is typed: %s', async (locale, text) => {
    const user = `ended-${locale}`;
    await world.owner.key(user);
    const gone = await world.capture({ user });
    const body = { user, passphrase: PASSPHRASE, new_passphrase: `${PASSPHRASE}!` };
    await world.owner.send('PUT', '/key/', { body });
    const shown = await show({ endpoint: gone, locale });
    const told = { type: 'vault.error', status: 410, code: 'endpoint_gone' };
    expect(await shown.hear('vault.error')).toEqual(told);
    expect(await shown.form.getByRole('alert').textContent()).toBe(text);
    expect(await shown.form.locator('.vf-input').count()).toBe(0);
    await page.evaluate(() => handle.submit());
    await page.waitForFunction(() => Reflect.get(window, 'told').length > 3);
    expect((await shown.told()).map(({ data }) => data).at(-1)).toEqual(told);
  });
});

describe('what is sent', () => {
  test('is digits alone where that is set', async () => {
    const form = await world.form('pcd', { strip_spaces: true });
    const shown = await show({ form });
    await fillIn(shown);
    await shown.form.locator('.vf-button').click();
    const { token, reference } = await shown.hear('vault.success');
    expect(await world.stored(String(token), String(reference))).toMatchObject({
      card_number: '4111111111111111',
      last_four: '1111',
    });
  });

  test('is anything at all where nothing is checked', async () => {
    const form = await world.form('pcd', { disable_luhn: true });
    const shown = await show({ form, extra: { cvv: 'of the page', shop: 'main' } });
    await fillIn(shown, { card_number: '4111 1111 1111 1112', expiry: '01/20', cvv: '1' });
    await shown.form.locator('.vf-button').click();
    const { token, reference } = await shown.hear('vault.success');
    expect(await world.stored(String(token), String(reference))).toEqual({
      shop: 'main',
      card_number: '4111 1111 1111 1112',
      cvv: '1',
      expiry: '01/20',
      expiry_month: '01',
      expiry_year: '2020',
      expiry_year_short: '20',
      card_type: 'visa',
      last_four: '1112',
    });
  });

  test('is nothing while something is wrong: a page hears no more than that, and only if it asked', async () => {
    const shown = await show();
    await shown.form.locator('.vf-button').click();
    await shown.form.locator('#vf-cvv-error:visible').waitFor();
    await page.evaluate(() => handle.submit());
    expect(await shown.hear('vault.error')).toEqual({ type: 'vault.error', status: 0, code: 'form_invalid' });
    const told = await shown.told();
    expect(told.filter(({ data }) => data.type === 'vault.error')).toHaveLength(1);
    expect(await stored()).toBe(0);
  });

  test('is stored once, however often the button is pressed', async () => {
    const shown = await show();
    await fillIn(shown);
    const button = shown.form.locator('.vf-button');
    await button.dblclick();
    await shown.hear('vault.success');
    expect(await stored()).toBe(1);
    const told = await shown.told();
    expect(told.filter(({ data }) => data.type === 'vault.success')).toHaveLength(1);
  });
});

test('two calls of submit are one request', async () => {
  const shown = await show();
  await fillIn(shown);
  let sent = 0;
  page.on('request', (request) => {
    sent += request.method() === 'POST' ? 1 : 0;
  });
  await page.evaluate(() => {
    handle.submit();
    handle.submit();
  });
  await shown.hear('vault.success');
  expect(sent).toBe(1);
  expect(await stored()).toBe(1);
});

describe("the owner's functions", () => {
  const code = (name: string): string =>
    Buffer.from(`(value) => { (window.called ??= []).push(['${name}', value]); }`).toString('base64');
  const calledAfterSending = async (beforeSending: () => Promise<unknown>): Promise<unknown> => {
    const form = await world.form('pcd', {
      success_callback: code('success'),
      error_callback: code('error'),
    });
    const visit = new URLSearchParams({
      unique_id: endpoint.unique_id,
      secret: endpoint.secret,
      reference: 'r',
    });
    await page.goto(`${world.url}/v1/capture/iframe/${form}#${visit}`);
    for (const [name, value] of Object.entries(CARD)) {
      await page.locator(`[name="${name}"]`).fill(value);
    }
    await beforeSending();
    await page.locator('.vf-button').click();
    return (await page.waitForFunction(() => window.called)).jsonValue();
  };

  test('are called with the reply', async () => {
    const called = await calledAfterSending(() => Promise.resolve());
    expect(called).toEqual([
      ['success', { token: expect.stringMatching(/^[0-9a-f]{64}$/), user: 'shop', reference: 'r' }],
    ]);
  });

  test('or with what went wrong', async () => {
    const called = await calledAfterSending(removeEndpoint);
    const error = { status: 403, code: 'endpoint_refused', error: ERRORS.endpoint_refused.text };
    expect(called).toEqual([['error', error]]);
  });
});

test('a preview of the gallery stores its fields, and nothing that it is made with', async () => {
  const frameOf = async (title: string) => {
    const frame = await page.waitForSelector(`iframe[title="${title}"]`);
    await frame.scrollIntoViewIfNeeded();
    return page.frameLocator(`iframe[title="${title}"]`);
  };
  await page.goto(`${world.url}/forms`);
  await page.locator('[name=unique_id]').fill(endpoint.unique_id);
  // As a password it would be filled in with the sign-in of the console.
  expect(await page.locator('[type=password]').count()).toBe(0);
  await page.locator('[name=secret]').fill(endpoint.secret);
  await page.locator('[name=reference]').fill('of the gallery');
  await page.locator('[name=locale]').selectOption('de');
  await page.locator('form button').click();
  const form = await frameOf('Own fields, Modern style, dark');
  await form.locator('html[data-mode="dark"]').waitFor();
  await form.locator('[name=number]').fill('M-1001');
  await form.locator('[name=full_name]').fill('Ada Lovelace');
  await form.locator('[name=country]').selectOption('DE');
  // With the keyboard: the previews around it still grow to their forms' heights, and a click may meet where it was.
  await form.locator('[name=terms]').press('Space');
  await form.locator('.vf-button').press('Enter');
  await form.locator('.vf-done', { hasText: 'Gespeichert' }).waitFor();
  const query = { user: 'shop', reference: 'of the gallery' };
  const listed = await world.owner.send('GET', '/vault', { query, passphrase: PASSPHRASE });
  const [item] = listed.as<Record<string, { token: string }[]>>()['shop'] ?? [];
  expect(await world.stored(item?.token ?? '', 'of the gallery')).toEqual({
    number: 'M-1001',
    full_name: 'Ada Lovelace',
    country: 'DE',
    terms: 'true',
  });
});

describe('when there is no reply', () => {
  test('nothing that was typed is lost, and trying again stores it', async () => {
    const shown = await show();
    await fillIn(shown);
    await page.route('**/v1/capture/**', (route) => route.abort());
    await shown.form.locator('.vf-button').click();
    expect(await shown.hear('vault.error')).toEqual({ type: 'vault.error', status: 0, code: 'network' });
    await shown.form.locator('.vf-again:focus').waitFor();
    expect(await shown.form.locator('[role=alert] p').textContent()).toStartWith('No connection.');
    expect(await typedIn(shown)).toEqual(Object.values(CARD));
    expect(await stored()).toBe(0);
    await page.unroute('**/v1/capture/**');
    await page.keyboard.press('Enter');
    await shown.hear('vault.success');
    expect(await stored()).toBe(1);
  });

  test('to what was stored after all, trying again stores nothing twice', async () => {
    const keys: (string | undefined)[] = [];
    const bodies = new Set<string | null>();
    const shown = await show();
    await fillIn(shown);
    await page.route('**/v1/capture/**', async (route) => {
      const isPost = route.request().method() === 'POST';
      if (isPost) {
        keys.push(route.request().headers()['idempotency-key']);
        bodies.add(route.request().postData());
      }
      const reply = await route.fetch();
      await (isPost && keys.length === 1 ? route.abort() : route.fulfill({ response: reply }));
    });
    await shown.form.locator('.vf-button').click();
    await shown.form.locator('.vf-again').click();
    const { token, reference } = await shown.hear('vault.success');
    expect(await stored()).toBe(1);
    expect(keys[0]).toMatch(/\S{16,}/);
    expect(keys).toEqual([keys[0], keys[0]]);
    // It is sealed once.
    expect(bodies.size).toBe(1);
    expect(await world.stored(String(token), String(reference))).toMatchObject(CARD);
    await page.unrouteAll();
  });
});

test('a refusal is said in words, and the page hears its code', async () => {
  const shown = await show();
  await fillIn(shown);
  await removeEndpoint();
  await shown.form.locator('.vf-button').click();
  expect(await shown.hear('vault.error')).toEqual({
    type: 'vault.error',
    status: 403,
    code: 'endpoint_refused',
  });
  const said = await shown.form.locator('[role=alert]').textContent();
  expect(said).toBe('This form is not valid. Please reload the page.');
  expect(await typedIn(shown)).toEqual(Object.values(CARD));
});

describe('afterwards', () => {
  test('the form is empty, says so, and can be had anew', async () => {
    const shown = await show();
    await fillIn(shown);
    const inputs = await shown.form.locator('.vf-input').elementHandles();
    const card = await shown.form.locator('.vf-card').elementHandle();
    await shown.form.locator('.vf-button').click();
    await shown.form.locator('.vf-done:focus').waitFor();
    // They are out of the page, but a script might have kept them.
    for (const input of inputs) {
      expect(await input.evaluate((element) => Reflect.get(element, 'value'))).toBe('');
    }
    expect(await card?.textContent()).not.toMatch(/1111|Ada|12\/40|123/);
    expect(await shown.form.locator('.vf-done').textContent()).toBe('Card saved');
    expect(await shown.inside.content()).not.toContain('4111');
    await page.evaluate(() => handle.reset());
    await shown.form.locator('.vf-button').waitFor();
    expect(await typedIn(shown)).toEqual(['', '', '', '']);
  });

  test('the frame is as high as the form, and follows it', async () => {
    const shown = await show();
    const heights = async (): Promise<readonly [number, number]> => {
      const inner = await shown.inside.evaluate(
        () => document.querySelector('vault-form')?.getBoundingClientRect().height ?? 0,
      );
      return [(await page.locator('iframe').boundingBox())?.height ?? 0, Math.ceil(inner)];
    };
    const [frame, form] = await heights();
    expect(frame).toBe(form);
    await page.evaluate(() => handle.submit());
    await shown.form.locator('#vf-cvv-error').waitFor();
    await page.waitForFunction(
      (low) => (document.querySelector('iframe')?.getBoundingClientRect().height ?? 0) > low,
      frame,
    );
    const [higher, now] = await heights();
    expect(higher).toBe(now);
  });

  test('a page can take the form away, and hears nothing more', async () => {
    const shown = await show();
    await page.evaluate(() => handle.destroy());
    expect(await page.locator('iframe').count()).toBe(0);
    expect(await shown.events()).toEqual([['ready', {}]]);
  });
});

declare const document: {
  querySelector(selector: string): { getBoundingClientRect(): { readonly height: number } } | null;
};

test('what nobody sends is gone with its page, and nothing is said of ten minutes', async () => {
  const shown = await show();
  await fillIn(shown);
  await shown.inside.evaluate(() => window.dispatchEvent(new Event('pagehide')));
  expect(await typedIn(shown)).toEqual(['', '', '', '']);
  expect(await shown.form.locator('[role=alert]').textContent()).toBe('');
});

test('what nobody sends is gone after ten minutes', async () => {
  await page.clock.install();
  const shown = await show();
  // From here on time passes only where the test says so.
  await page.clock.pauseAt(Date.now() + PAUSE_MS);
  await fillIn(shown);
  await page.clock.fastForward(IDLE_MS - 1_000);
  expect(await typedIn(shown)).toEqual(Object.values(CARD));
  await page.clock.fastForward(2_000);
  expect(await typedIn(shown)).toEqual(['', '', '', '']);
  expect(await shown.form.locator('[role=alert]').textContent()).toBe(
    'Cleared after 10 minutes, for your safety.',
  );
});
