/** What a hostile page tries with the fields of a vault, and does not reach. */
import { beforeEach, describe, expect, test } from 'bun:test';
import {
  allReady,
  elementsIn,
  FIELDS,
  groupOf,
  heard,
  heardAll,
  input,
  NUMBER,
  open,
  revealOf,
  type ShopWindow,
  typeCard,
} from './elements-page.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

declare const window: ShopWindow;

const world = useWorld(openFormsWorld);
let endpoint: Endpoint;
beforeEach(async () => {
  endpoint = await world.capture();
});

describe('a hostile page', () => {
  test('cannot look into a field, nor put it into a group of its own', async () => {
    const { page } = await open(world, groupOf(world, endpoint));
    await allReady(page);
    await typeCard(page);
    const seen = await page.evaluate(() => {
      const tries: string[] = [];
      for (let at = 0; at < window.length; at++) {
        try {
          tries.push(JSON.stringify(Reflect.get(window, String(at)).vaultElement.read()));
        } catch (error) {
          tries.push(Object(error).name);
        }
      }
      return tries;
    });
    expect(seen).toEqual(FIELDS.map(() => 'SecurityError'));
  });

  test('with frames of another group, endpoint or place sends only what belongs together', async () => {
    const other = await world.capture();
    const { page } = await open(world, groupOf(world, endpoint, {}, ['card-number']));
    await allReady(page, 1);
    await page.evaluate(
      ([script, options]) => {
        const element = Object(globalThis).document.createElement('div');
        Object(globalThis).document.body.append(element);
        return import(String(script)).then(({ elements }) => {
          const group = elements(options);
          group.on('ready', (detail: unknown) => window.heard.push(['ready', detail]));
          group.mount(element, 'card-holder');
        });
      },
      [
        `${world.url}/forms/vault-forms.js`,
        { url: other.url, secret: other.secret, reference: 'stolen' },
      ] as const,
    );
    await allReady(page, 2);
    await page.frameLocator('#f0 iframe').getByRole('textbox').fill(NUMBER);
    await page.getByRole('button').click();
    const { token } = await heard(page, 'reply');
    expect(await world.stored(String(token), 'order-1')).toEqual({
      card_number: NUMBER,
      card_type: 'visa',
      last_four: '1111',
    });
  });

  test('cannot have one field twice, send twice at once, or open a field alone', async () => {
    const { page } = await open(world, groupOf(world, endpoint, {}, ['card-number', 'card-number']));
    await allReady(page, 2);
    await page.frameLocator('#f0 iframe').getByRole('textbox').fill(NUMBER);
    await page.getByRole('button').click();
    expect(await heard(page, 'failed')).toEqual({ status: 0, code: 'elements_duplicate' });

    const before = await world.count();
    const twice = await open(world, groupOf(world, endpoint, {}, ['card-number']));
    await allReady(twice.page, 1);
    await twice.page.frameLocator('#f0 iframe').getByRole('textbox').fill(NUMBER);
    await twice.page.evaluate(() => {
      const frame = Object(Reflect.get(window, '0'));
      for (let n = 0; n < 50; n++) {
        frame.postMessage({ type: 'vault.send', fields: 'card-number' }, '*');
      }
    });
    await heard(twice.page, 'submit');
    await twice.page.waitForTimeout(300);
    expect((await world.count()) - before).toBeLessThanOrEqual(1);

    const alone = await world.page();
    const fragment = new URLSearchParams({ field: 'card-number', group: 'g', ...endpoint });
    await alone.goto(`${world.url}/forms/element#${fragment}`);
    await alone.waitForTimeout(300);
    expect(await alone.getByRole('textbox').count()).toBe(0);
    expect(alone.url()).toBe(`${world.url}/forms/element`);
  });

  test('that forges messages, wraps a frame, or takes its origin away changes nothing', async () => {
    const { page } = await open(world, groupOf(world, endpoint, {}, ['card-number']));
    await allReady(page, 1);
    await page.evaluate(() => {
      const frame = Object(Reflect.get(window, '0'));
      for (const data of [
        { type: 'vault.submit', extra: 1 },
        { type: 'vault.read' },
        { type: 'vault.success', token: 't', reference: 'r', user: 'u' },
        'vault.submit',
        null,
      ]) {
        frame.postMessage(data, '*');
      }
      // What a page tells itself is of no frame.
      Object(globalThis).postMessage(
        { type: 'vault.success', token: 'forged', reference: '', user: '' },
        '*',
      );
      const iframe = Object(globalThis).document.createElement('iframe');
      iframe.setAttribute('sandbox', 'allow-scripts');
      iframe.src = `${Object(globalThis)
        .document.querySelector('script[type=module]')
        .textContent.match(/https?:[^']+/)[0]
        .replace(/vault-forms.js$/, 'element')}#field=card-number&group=g&unique_id=x&secret=y`;
      Object(globalThis).document.body.append(iframe);
    });
    await page.waitForTimeout(500);
    const events = (await page.evaluate(() => window.heard)).map(([name]) => name);
    expect(events.filter((name) => name === 'submit' || name === 'error')).toEqual([]);
  });

  test('learns how far a field is, and not how many keys were pressed in it', async () => {
    const { page } = await open(world, groupOf(world, endpoint));
    await allReady(page);
    for (const [at, text] of [NUMBER, '1239', '123', 'Ada Lovelace'].entries()) {
      await input(page, `#f${at}`).pressSequentially(text);
    }
    await page.getByRole('button').focus();
    await heardAll(page, 'blur', 4);
    const changes = (await page.evaluate(() => window.heard)).flatMap(([name, detail]) =>
      name === 'change' ? [Object(detail)] : [],
    );
    const statesOf = (name: string) =>
      changes.filter(({ field }) => field === name).map(({ state, brand }) => [state, brand]);
    // The last of each is told when the focus leaves it.
    expect(statesOf('card-number')).toEqual([
      ['partial', 'visa'],
      ['complete', 'visa'],
      ['complete', 'visa'],
    ]);
    for (const field of ['card-expiry', 'card-cvc']) {
      expect(statesOf(field).map(([state]) => state)).toEqual(['partial', 'complete', 'complete']);
    }
    expect(statesOf('card-holder').map(([state]) => state)).toEqual(['complete', 'complete']);
  });

  test('that has frames of its own reaches no field through them, nor do they reach its fields', async () => {
    const { unique_id, secret } = endpoint;
    const frameOf = (field: string): string => {
      const fragment = new URLSearchParams({ field, group: 'guessed', unique_id, secret });
      return `<iframe src="${world.url}/forms/element?field#${fragment.toString().replaceAll('&', '&amp;')}"></iframe>`;
    };
    const nested = world.serve('/nested', `<!doctype html>${frameOf('card-cvc')}`);
    const page = await world.page();
    await page.goto(
      world.serve(
        '/around',
        `<!doctype html>${frameOf('card-number')}<iframe src="${nested}"></iframe>
<script>window.messages = []; addEventListener('message', ({ data }) => messages.push(data));</script>`,
      ),
    );
    const [field, inner] = page.frames().slice(1);
    await field?.locator('input').fill(NUMBER);
    await inner?.childFrames()[0]?.locator('input').fill('123');
    const before = await world.count();
    const ask = { type: 'vault.send', fields: 'card-number' };
    await inner?.evaluate((message) => Object(globalThis).top.frames[0].postMessage(message, '*'), ask);
    await page.waitForTimeout(500);
    const told = () => page.evaluate(() => window.messages.filter((data) => 'code' in Object(data)));
    expect(await told()).toEqual([]);
    expect(await world.count()).toBe(before);
    await page.evaluate(() =>
      Object(Reflect.get(window, '0')).postMessage(
        { type: 'vault.send', fields: 'card-number card-cvc' },
        '*',
      ),
    );
    await page.waitForFunction(() => window.messages.some((data) => 'code' in Object(data)));
    expect(await told()).toEqual([{ type: 'vault.error', status: 0, code: 'elements_incomplete' }]);
    expect(await world.count()).toBe(before);
  });

  test('cannot have a value shown or copied by a press that was meant for something else', async () => {
    const lure = `<div id="lure">${await revealOf(world, 'lured')}</div>`;
    const { page } = await open(world, elementsIn(world, lure));
    const frame = page.frameLocator('iframe');
    const usable = () => frame.locator('button:enabled');
    const style = (text: string): Promise<void> =>
      page.evaluate((css) => {
        Object(globalThis).document.querySelector('#lure').style.cssText = css;
      }, text);
    await usable().nth(1).waitFor();
    for (const trick of ['opacity: 0.01', 'filter: opacity(1%)', 'transform: scale(0.2)']) {
      await style(trick);
      await frame.locator('button:disabled').nth(1).waitFor();
      await style('');
      await usable().nth(1).waitFor();
    }
    await page.evaluate(() => {
      const { document } = Object(globalThis);
      const cover = document.createElement('div');
      cover.style.cssText = 'position: fixed; inset: 0; background: white; pointer-events: none';
      document.body.append(cover);
    });
    await frame.locator('button:disabled').nth(1).waitFor();
    const box = await page.locator('iframe').boundingBox();
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) - 20, (box?.y ?? 0) + 20);
    expect(await frame.locator('output').textContent()).toBe('•••• •••• •••• 1111');
  });
});
