import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { listen } from '../../server/http/listen/listen.ts';
import { launchChromium } from '../browser/chromium.ts';
import { CARD, type Live, openLive } from './live.ts';

const START_MS_MAX = 60_000;
const SDK = join(import.meta.dir, '../../sdk/index.ts');

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;
type Request = Awaited<ReturnType<Page['waitForRequest']>>;

/** What the page's script has, once the bundle has run there. */
interface Shown {
  readonly sdk: typeof import('../../sdk/index.ts');
}

let live: Live;
let server: ReturnType<typeof listen>;
let shop: Bun.Server<undefined>;
let browser: Browser;
let page: Page;
let base = '';
/** Each request of the page to the vault but for preflights. */
let sent: Request[] = [];

async function openShop(): Promise<Bun.Server<undefined>> {
  const built = await Bun.build({ entrypoints: [SDK], target: 'browser', format: 'esm', minify: true });
  const bundle = (await built.outputs[0]?.text()) ?? '';
  const html = `<!doctype html><link rel="icon" href="data:,"><script type="module">
    globalThis.sdk = await import('/sdk.js');
    document.title = 'ready';
  </script>`;
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) =>
      url.endsWith('/sdk.js')
        ? new Response(bundle, { headers: { 'Content-Type': 'text/javascript' } })
        : new Response(html, { headers: { 'Content-Type': 'text/html' } }),
  });
}

beforeAll(async () => {
  [live, shop, browser] = await Promise.all([openLive(), openShop(), launchChromium()]);
  server = listen(live.vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
  base = `http://127.0.0.1:${server.port}`;
}, START_MS_MAX);
afterAll(async () => {
  await browser?.close();
  await shop?.stop(true);
  await server?.stop(true);
  await live?.vault.close();
});

beforeEach(async () => {
  await page?.context().close();
  page = await (await browser.newContext()).newPage();
  await page.context().addCookies([{ name: 'session', value: 'canary', url: base }]);
  sent = [];
  page.on('request', (request) => {
    if (request.url().startsWith(`${base}/v1/`)) {
      sent.push(request);
    }
  });
});

/** All that the browser sent with the requests so far, its own headers included. */
function headersSent() {
  return Promise.all(sent.map((request) => request.allHeaders()));
}

async function openPage(url: string): Promise<void> {
  await page.goto(url);
  await page.waitForFunction("document.title === 'ready'");
}

/** Captures an item with the page's own copy of the SDK. */
function captureInPage(options: { readonly url: string; readonly secret: string }, number: string) {
  return page.evaluate(
    async ([given, card_number]) => {
      const { captureClient } = (globalThis as unknown as Shown).sdk;
      const checkout = captureClient(given);
      try {
        return { captured: await checkout.submit({ data: { card_number, holder: 'Zoë' } }) };
      } catch (error) {
        return { error: { ...Object(error), message: String(error) } };
      }
    },
    [options, number] as const,
  );
}

describe('in a page of another site', () => {
  beforeEach(() => openPage(`http://localhost:${shop.port}/`));

  test('a card is captured, with its secret and nothing else', async () => {
    const made = await live.owner.sdk.capture.create({ user: 'customers' });
    const { captured } = await captureInPage({ url: base + made.url, secret: made.secret }, CARD);
    expect(captured).toMatchObject({ user: 'customers', reference: made.unique_id });
    const stored = await live.owner.open('customers', captured?.token ?? '', { reference: made.unique_id });
    expect(JSON.parse(stored)).toEqual({ card_number: CARD, holder: 'Zoë' });
    const [headers, ...more] = await headersSent();
    expect(more).toEqual([]);
    expect(headers).toMatchObject({
      'x-vault-capture-secret': made.secret,
      'idempotency-key': expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(headers).not.toContainAnyKeys(['authorization', 'cookie']);
  });

  test('a refusal is told with its code and its request id', async () => {
    const { error } = await captureInPage({ url: `${base}/v1/capture/nowhere`, secret: 'vcs1_wrong' }, CARD);
    expect(error).toMatchObject({ status: 403, code: 'endpoint_refused', requestId: expect.any(String) });
    expect(JSON.stringify(error)).not.toMatch(/vcs1_|4111/);
  });

  test('items are listed page by page and opened as they arrive', async () => {
    for (const n of [1, 2, 3]) {
      await live.owner.store('customers', { card_number: CARD, n }, { reference: 'page', algorithm: 'uuid' });
    }
    const made = await live.owner.sdk.retrieve.create({ user: 'customers', reference: 'page' });
    const read = await page.evaluate(
      async (given) => {
        const desk = (globalThis as unknown as Shown).sdk.retrieveClient(given);
        const pages = await Array.fromAsync(desk.pages({ limit: 2 }));
        const tokens = pages.flatMap(({ data }) => data['customers'] ?? []).map(({ token }) => token);
        const items = await Array.fromAsync(desk.decryptAll());
        const one = await desk.decrypt({ token: tokens[0] ?? '', reference: 'page' });
        return { sizes: pages.map(({ data }) => data['customers']?.length), items, one };
      },
      { url: base + made.url, secret: made.secret },
    );
    expect(read.sizes).toEqual([2, 1]);
    expect(read.items.map(({ data }) => data['n'])).toEqual([1, 2, 3]);
    expect(read.one).toEqual({ card_number: CARD, n: 1 });
    expect(sent).toHaveLength(4);
  });
});

test('a page under http of this machine has what checking a webhook takes', async () => {
  await openPage(`http://localhost:${shop.port}/`);
  const checked = await page.evaluate(async () => {
    const { webhooks } = (globalThis as unknown as Shown).sdk;
    const check = (body: string) =>
      webhooks.verify(
        new Headers({
          'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
          'webhook-timestamp': '1614265330',
          'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
        }),
        body,
        'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
        { now: 1614265330_000 },
      );
    const refused = await check('{}').catch((error: unknown) => ({ ...Object(error) }));
    return [await check('{"test": 2432232314}'), refused];
  });
  expect(checked).toMatchObject([{ test: 2432232314 }, { code: 'signature_mismatch' }]);
});

test('in a page of the same origin no cookie goes along either', async () => {
  for (const [path, source] of [
    ['/shop', ''],
    ['/sdk.js', 'sdk.js'],
  ]) {
    await page.route(base + path, async (route) => {
      await route.fulfill({ response: await route.fetch({ url: `${shop.url.href}${source}` }) });
    });
  }
  await openPage(`${base}/shop`);
  expect(await page.evaluate('document.cookie')).toBe('session=canary');
  const made = await live.owner.sdk.capture.create({ user: 'customers' });
  const { captured } = await captureInPage({ url: base + made.url, secret: made.secret }, CARD);
  expect(captured).toMatchObject({ user: 'customers' });
  const [headers] = await headersSent();
  expect(headers).toMatchObject({ 'x-vault-capture-secret': made.secret });
  expect(headers).not.toContainAnyKeys(['authorization', 'cookie']);
});
