/** A group is sent whole, once, or not at all, whatever becomes of its frames meanwhile. */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Page, Route } from 'playwright-core';
import { READY_MS } from '../../forms/frame/events.ts';
import {
  allReady,
  FIELDS,
  groupOf,
  heard,
  heardAll,
  input,
  NUMBER,
  type ShopWindow,
} from './elements-page.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

declare const window: ShopWindow;
const world = useWorld(openFormsWorld);
let endpoint: Endpoint;
/** Of each test: what has the same number and reference is the same item. */
let reference: string;
beforeEach(async () => {
  endpoint = await world.capture();
  reference = crypto.randomUUID();
});

const CARD = { card_number: NUMBER, expiry: '12/39', cvv: '123' };
const ELEMENT = /\/forms\/element(?:\?|$)/;

/** Opens a page with a card; `load` decides on the page of each field, from 0 on. */
async function openCard(
  load?: (route: Route, at: number) => unknown,
  prepare?: (page: Page) => Promise<void>,
): Promise<Page> {
  const page = await world.page();
  await prepare?.(page);
  let at = 0;
  await page.route(ELEMENT, async (route) => {
    const place = at;
    at += 1;
    await (load?.(route, place) ?? route.continue());
  });
  // Which is before what is held.
  await page.goto(groupOf(world, endpoint, { reference }, FIELDS.slice(0, 3)), { waitUntil: 'commit' });
  return page;
}

async function type(page: Page, ...texts: readonly string[]): Promise<void> {
  for (const [at, text] of texts.entries()) {
    await input(page, `#f${at}`).fill(text);
  }
}

/** A card that is ready and typed, whose requests are held: each is let go by a call. */
async function openHeld() {
  const page = await openCard();
  await allReady(page, 3);
  await type(page, NUMBER, '1239', '123');
  const held: Route[] = [];
  await page.route('**/v1/capture/**', (route) =>
    // The key to seal to is no request of the group.
    route.request().method() === 'POST' ? void held.push(route) : route.continue(),
  );
  const next = async (): Promise<Route> => {
    for (let tries = 0; tries < 600 && held.length === 0; tries++) {
      await Bun.sleep(50);
    }
    const [route] = held.splice(0, 1);
    if (route === undefined) {
      throw new Error('nothing was sent');
    }
    return route;
  };
  return { page, held, next };
}

/** The idempotency key of a request, by which the vault stores nothing twice. */
function keyOf(route: Route): string {
  const { 'idempotency-key': key = '' } = route.request().headers();
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  return key;
}

function pay(page: Page): Promise<void> {
  return page.evaluate(() => void Object(window).pay());
}

async function reload(page: Page, container: string): Promise<void> {
  const frame = await (await page.$(`${container} iframe`))?.contentFrame();
  await frame?.evaluate(() => Object(globalThis).location.reload());
}

describe('whole', () => {
  test('waits for a field that is still loading, and never sends the others alone', async () => {
    const release = Promise.withResolvers<void>();
    const page = await openCard((route, at) =>
      at === 2 ? release.promise.then(() => route.continue()) : route.continue(),
    );
    await allReady(page, 2);
    await type(page, NUMBER, '1239');
    const before = await world.count();
    await pay(page);
    await page.waitForTimeout(500);
    expect(await world.count()).toBe(before);
    release.resolve();
    // By then it is there, and empty.
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
    await type(page, NUMBER, '1239', '123');
    await pay(page);
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), reference)).toMatchObject(CARD);
    expect(await world.count()).toBe(before + 1);
  });

  test('sends nothing when a field has failed to load, or has left the page', async () => {
    const before = await world.count();
    const failed = await openCard(
      (route, at) => (at === 2 ? route.abort() : route.continue()),
      (page) => page.clock.install(),
    );
    await allReady(failed, 2);
    await type(failed, NUMBER, '1239');
    await pay(failed);
    await failed.clock.runFor(READY_MS + 1000);
    const unavailable = { status: 0, code: 'elements_unavailable' };
    expect(await heard(failed, 'failed')).toEqual(unavailable);
    expect(await heardAll(failed, 'error', 1)).toEqual([{ field: 'card-cvc', ...unavailable }]);

    const page = await openCard();
    await allReady(page, 3);
    await type(page, NUMBER, '1239', '123');
    await page.evaluate(() => window.handles[2]?.iframe.remove());
    await pay(page);
    expect(await heard(page, 'failed')).toEqual(unavailable);
    expect(await world.count()).toBe(before);
  });

  test('sends nothing when a field is taken out while it waits, and something once it was taken out before', async () => {
    const before = await world.count();
    const page = await openCard((route, at) => (at === 2 ? new Promise(() => undefined) : route.continue()));
    await allReady(page, 2);
    await type(page, NUMBER, '1239');
    await pay(page);
    await page.evaluate(() => window.handles[2]?.destroy());
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'elements_incomplete' });
    expect(await world.count()).toBe(before);
    await pay(page);
    await heard(page, 'reply');
    expect(await world.count()).toBe(before + 1);
  });

  test('waits for a field that joins while it waits', async () => {
    const release = Promise.withResolvers<void>();
    const page = await openCard((route, at) =>
      at === 2 ? release.promise.then(() => route.continue()) : route.continue(),
    );
    await allReady(page, 2);
    await type(page, NUMBER, '1239');
    await pay(page);
    await page.evaluate(() => window.card.mount('main', 'card-holder'));
    release.resolve();
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
    expect(await page.frameLocator('main > iframe').getByRole('textbox').getAttribute('aria-invalid')).toBe(
      'true',
    );
  });

  test('does not send fewer fields than there are, whoever asks', async () => {
    const before = await world.count();
    const page = await openCard();
    await allReady(page, 3);
    await type(page, NUMBER, '1239', '123');
    for (const fields of [
      'card-number',
      'card-number card-expiry',
      '',
      'card-number card-expiry card-holder',
    ]) {
      await page.evaluate(
        (named) => Object(Reflect.get(window, '0')).postMessage({ type: 'vault.send', fields: named }, '*'),
        fields,
      );
    }
    const errors = await heardAll(page, 'error', 4);
    expect(errors).toEqual(Array(4).fill({ field: 'card-number', status: 0, code: 'elements_incomplete' }));
    expect(await world.count()).toBe(before);
  });

  test('a field that somebody has reloaded, or led elsewhere, comes back, empty', async () => {
    const page = await openCard();
    await allReady(page, 3);
    await type(page, NUMBER, '1239', '123');
    await reload(page, '#f0');
    await allReady(page, 4);
    await page.evaluate(() => Object(Reflect.get(window, '1')).location.replace('about:blank'));
    await allReady(page, 5);
    await page.evaluate(() => Object(window.handles[2]?.iframe).setAttribute('src', '/another'));
    await allReady(page, 6);
    await pay(page);
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'form_invalid' });
    await type(page, NUMBER, '1239', '123');
    await pay(page);
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), reference)).toMatchObject(CARD);
  });
});

describe('once', () => {
  test('two calls and the Enter key in two fields send one request', async () => {
    const before = await world.count();
    const { page, held, next } = await openHeld();
    await pay(page);
    await pay(page);
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'elements_sending' });
    await input(page, '#f1').press('Enter');
    await input(page, '#f2').press('Enter');
    const route = await next();
    await page.waitForTimeout(300);
    expect(held).toEqual([]);
    await route.continue();
    await heard(page, 'reply');
    expect(await world.count()).toBe(before + 1);
    expect(await heardAll(page, 'error', 0)).toEqual([]);
  });

  test('a reply that was lost is asked for again, by another field', async () => {
    const { page, next } = await openHeld();
    await pay(page);
    const lost = await next();
    const reply = await lost.fetch();
    const { token } = await reply.json();
    await lost.abort();
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'network' });
    await input(page, '#f2').press('Enter');
    const again = await next();
    expect(keyOf(again)).toBe(keyOf(lost));
    await again.continue();
    expect(await heard(page, 'submit')).toMatchObject({ token });
    // What is typed next is another item, even the same card.
    await type(page, NUMBER, '1239', '123');
    await pay(page);
    expect(keyOf(await next())).not.toBe(keyOf(lost));
  });

  test('a field that sends and is reloaded ends the promise, and the others know its request', async () => {
    const { page, next } = await openHeld();
    await pay(page);
    const first = await next();
    const { token } = await (await first.fetch()).json();
    await reload(page, '#f0');
    const unknown = { status: 0, code: 'outcome_unknown' };
    expect(await heard(page, 'failed')).toEqual(unknown);
    expect(await heard(page, 'error')).toEqual({ field: 'card-number', ...unknown });
    await allReady(page, 4);
    await input(page, '#f0').fill(NUMBER);
    await pay(page);
    const second = await next();
    expect(keyOf(second)).toBe(keyOf(first));
    await second.continue();
    expect(await heard(page, 'reply')).toMatchObject({ token });
  });

  test('a field that sends and is taken out ends the promise, and the group can be sent again', async () => {
    const { page, next } = await openHeld();
    await pay(page);
    await next();
    await page.evaluate(() => window.handles[0]?.destroy());
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'outcome_unknown' });
    await page.evaluate(() => window.card.mount('#f0', 'card-number'));
    await allReady(page, 4);
    await input(page, '#f0').fill(NUMBER);
    await pay(page);
    await (await next()).continue();
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), reference)).toMatchObject(CARD);
  });

  test('a group that is destroyed ends the promise', async () => {
    const { page, next } = await openHeld();
    await pay(page);
    await next();
    await page.evaluate(() => window.card.destroy());
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'elements_destroyed' });
    await page.evaluate(() => Object(window).pay());
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'elements_missing' });
  });

  test('what becomes of the other fields changes nothing of what was sent', async () => {
    const { page, next } = await openHeld();
    await pay(page);
    const route = await next();
    await page.evaluate(() => window.handles[1]?.clear());
    await input(page, '#f1').fill('1140');
    await page.evaluate(() => window.handles[2]?.destroy());
    await route.continue();
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), reference)).toMatchObject(CARD);
    expect(await input(page, '#f0').inputValue()).toBe('');
    // It was typed after that, and is of nothing that was stored.
    expect(await input(page, '#f1').inputValue()).toBe('11/40');
  });

  test('a listener of a failure can send again at once', async () => {
    const { page, next } = await openHeld();
    await page.evaluate(() => {
      const card = Object(window.card);
      const stop = card.on('error', () => {
        stop();
        Object(window).pay();
      });
    });
    await pay(page);
    await (await next()).abort();
    await (await next()).continue();
    expect(await heard(page, 'reply')).toMatchObject({ reference });
  });
});
