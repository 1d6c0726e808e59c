/** A page of a shop that has no script of ours, at a vault of another origin. */
import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { basicAuth } from '../helpers/clients.ts';
import { type Endpoint, openFormsWorld, USER } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const CARD = { card_number: '4111111111111111', expiry: '12/29' };

/** What a script in the page asks for. */
interface PageRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly credentials?: 'include';
}

/** What a script in the page sees of a reply; without a status the browser has not let it see one. */
interface Seen {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error?: string;
}

const world = useWorld(openFormsWorld);
let made: Endpoint;
let page: Page;

beforeAll(async () => {
  made = await world.capture({ unique_id: 'web-shop' });
});
beforeEach(async () => {
  page = await world.page();
  await page.goto(world.serve('/checkout', pageOf(made)));
  world.vault.lines.length = 0;
});

/** A page that sends a card to a capture endpoint. */
function pageOf({ unique_id, secret }: Endpoint): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>Checkout</title>
<form>
  <label>Card number <input name="card_number" autocomplete="cc-number"></label>
  <label>Expiry <input name="expiry" autocomplete="cc-exp"></label>
  <button>Save card</button>
</form>
<p>Token <output id="token"></output></p>
<p>Reference <output id="reference"></output></p>
<script>
  document.querySelector('form').addEventListener('submit', async (event) => {
    event.preventDefault();
    const card = Object.fromEntries(new FormData(event.target));
    const reply = await fetch('${world.url}/v1/capture/${unique_id}', {
      method: 'POST',
      headers: { 'X-Vault-Capture-Secret': '${secret}' },
      body: JSON.stringify(card),
    });
    const { token, reference } = await reply.json();
    document.querySelector('#token').value = token;
    document.querySelector('#reference').value = reference;
  });
</script>
</html>`;
}

/** Calls the vault from inside the page with `fetch` alone. */
function fetchInPage(path: string, init: PageRequest): Promise<Seen> {
  return page.evaluate(
    async ([url, options]) => {
      try {
        const reply = await fetch(url, options);
        const body: unknown = await reply.json();
        return { status: reply.status, body, headers: Object.fromEntries(reply.headers.entries()) };
      } catch (error) {
        return { error: String(error) };
      }
    },
    [`${world.url}${path}`, init] as const,
  );
}

function capture(init: PageRequest = {}): Promise<Seen> {
  return fetchInPage(`/v1/capture/${made.unique_id}`, {
    method: 'POST',
    headers: { 'X-Vault-Capture-Secret': made.secret },
    body: JSON.stringify(CARD),
    ...init,
  });
}

/** What reached the vault, one line each. */
function requests(): string[] {
  return world.vault.lines.map(({ method, status }) => `${method} ${status}`);
}

const BLOCKED: Seen = { error: 'TypeError: Failed to fetch' };

describe('a page of another origin', () => {
  test('stores a card with plain fetch and shows token and reference', async () => {
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await page.fill('[name=card_number]', CARD.card_number);
    await page.fill('[name=expiry]', CARD.expiry);
    await page.click('button');
    await page.locator('#reference:not(:empty)').waitFor();
    const [token, reference] = await page.locator('output').allTextContents();
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(reference).toBe('web-shop');
    expect(await (await sent).headerValue('content-type')).toBe('text/plain;charset=UTF-8');
    expect(requests()).toEqual(['OPTIONS 204', 'POST 200']);
    expect(await world.owner.open(USER, String(token), { reference })).toBe(JSON.stringify(CARD));
    expect(await page.context().cookies()).toEqual([]);
  });
});

describe('what the browser does not let such a page do', () => {
  test('send credentials that the browser remembers', async () => {
    expect(await capture({ credentials: 'include' })).toEqual(BLOCKED);
    expect(requests()).toEqual(['OPTIONS 204']);
  });

  test('delete an endpoint', async () => {
    expect(await fetchInPage(`/v1/capture/${made.unique_id}`, { method: 'DELETE' })).toEqual(BLOCKED);
    expect(requests()).toEqual(['OPTIONS 204']);
    expect(await capture()).toMatchObject({ status: 200 });
  });

  test('use the routes of an account, even with its password', async () => {
    const authorization = basicAuth(world.owner.name, world.owner.password);
    expect(await fetchInPage('/v1/vault', { headers: { authorization } })).toEqual(BLOCKED);
    expect(requests()).toEqual(['OPTIONS 405']);
    expect(await fetchInPage('/v1/vault', {})).toEqual(BLOCKED);
    expect(requests()).toEqual(['OPTIONS 405', 'GET 403']);
  });
});
