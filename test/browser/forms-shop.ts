/** Pages of a shop with a hosted form in them, one for each way to put it there, and what they hear of it. */
import type { Frame, FrameLocator, Page } from 'playwright-core';
import type { Endpoint, FormsWorld } from './forms-world.ts';

/** The element, the function, or a frame without our script and with everything in its query. */
export const WAYS = ['element', 'function', 'frame'] as const;

/** A form in a page. */
export interface Embedding {
  readonly way: (typeof WAYS)[number];
  readonly form: string;
  readonly endpoint: Endpoint;
  readonly reference?: string;
  readonly token?: string;
  readonly locale?: string;
  readonly networks?: boolean;
  readonly extra?: Readonly<Record<string, string>>;
}

/** A message as the page around hears it. */
export interface Told {
  readonly origin: string;
  /** Whether it came from the window of the form's frame. */
  readonly ours: boolean;
  readonly data: { readonly type: string } & Readonly<Record<string, unknown>>;
}

/** A page with a form that is ready. */
export interface Shown {
  readonly page: Page;
  readonly form: FrameLocator;
  /** The document of the form, for looking into it. */
  readonly inside: Frame;
  readonly told: () => Promise<readonly Told[]>;
  /** The first message of a type, as soon as it is there. */
  readonly hear: (type: string) => Promise<Told['data']>;
  /** What our script has reported, for the ways that have it: name and detail, without heights. */
  readonly events: () => Promise<readonly (readonly [string, unknown])[]>;
}

declare const window: {
  told: Told[];
  events: [string, unknown][];
};

function attribute(name: string, value: string | undefined): string {
  return value === undefined ? '' : ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`;
}

function elementOf(url: string, embedding: Embedding): string {
  const { form, endpoint, reference, token, locale, extra } = embedding;
  const attributes = [
    attribute('url', endpoint.url),
    attribute('secret', endpoint.secret),
    attribute('form', form),
    attribute('reference', reference),
    attribute('token', token),
    attribute('locale', locale),
    attribute('extra-data', extra && new URLSearchParams(extra).toString()),
  ];
  return `<script type="module" src="${url}/forms/vault-forms.js"></script>
<vault-card-form${attributes.join('')}></vault-card-form>
<script>
  for (const name of ['ready', 'success', 'error']) {
    document.querySelector('vault-card-form')
      .addEventListener('vault-' + name, ({ detail }) => events.push([name, detail]));
  }
</script>`;
}

function functionOf(url: string, embedding: Embedding): string {
  const { form, endpoint, reference, token, locale, networks, extra } = embedding;
  const { url: endpointUrl, secret } = endpoint;
  const options = { form, url: endpointUrl, secret, reference, token, locale, networks, extraData: extra };
  return `<script src="${url}/forms/vault-forms.global.js"></script>
<div id="form"></div>
<script>
  const handle = VaultForms.mountForm('#form', ${JSON.stringify(options).replaceAll('<', '\\u003c')});
  for (const name of ['ready', 'success', 'error']) {
    handle.on(name, (detail) => events.push([name, detail]));
  }
</script>`;
}

function frameOf(url: string, embedding: Embedding): string {
  const { form, endpoint, reference, token, locale, extra = {} } = embedding;
  const { unique_id, secret } = endpoint;
  const query = new URLSearchParams({ unique_id, secret, ...extra });
  for (const [name, value] of Object.entries({ reference, token, locale })) {
    if (value !== undefined) {
      query.set(name, value);
    }
  }
  const kind = secret.startsWith('vrs1_') ? 'retrieve' : 'capture';
  return `<iframe sandbox="allow-scripts allow-forms" width="480" height="700"${attribute('src', `${url}/v1/${kind}/iframe/${form}?${query}`)}></iframe>`;
}

const WRITE = { element: elementOf, function: functionOf, frame: frameOf };

function pageOf(url: string, embedding: Embedding): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>Checkout</title>
<script>
  window.told = [];
  window.events = [];
  addEventListener('message', ({ source, origin, data }) => {
    const frame = document.querySelector('iframe');
    told.push({ origin, data, ours: frame !== null && source === frame.contentWindow });
    if (${embedding.way === 'frame'} && data.type === 'vault.ready') {
      source.postMessage({ type: 'vault.hello' }, '*');
    }
  });
</script>
${WRITE[embedding.way](url, embedding)}
<p><input id="note" aria-label="Note"></p>
</html>`;
}

/** Shows the page and waits for the form to be ready. */
export async function showForm(world: FormsWorld, page: Page, embedding: Embedding): Promise<Shown> {
  await page.goto(world.serve('/checkout', pageOf(world.url, embedding)));
  const hear = async (type: string): Promise<Told['data']> => {
    const found = await page.waitForFunction(
      (wanted) => window.told.find(({ data }) => data.type === wanted)?.data,
      type,
    );
    const data = await found.jsonValue();
    if (data === undefined) {
      throw new Error(`the page heard no ${type}`);
    }
    return data;
  };
  await hear('vault.ready');
  const inside = page.frames().find((frame) => frame.url().startsWith(world.url));
  if (inside === undefined) {
    throw new Error('the page has no form');
  }
  return {
    page,
    form: page.frameLocator('iframe >> nth=0'),
    inside,
    hear,
    told: () => page.evaluate(() => window.told),
    events: () => page.evaluate(() => window.events),
  };
}
