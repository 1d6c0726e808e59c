/** Everything that hosted forms need in a browser: a vault with the real scripts, a shop of another origin, Chromium. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { buildForms, type FormBundles } from '../../forms/build.ts';
import { createApp } from '../../server/boot/app.ts';
import type { CaptureEndpoint } from '../../server/endpoint/schema.ts';
import { FormPages } from '../../server/form/pages/render.ts';
import type { FormSettings, FormTypeName } from '../../server/form/schema.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { type AccountClient, PASSPHRASE, type Query } from '../helpers/clients.ts';
import { freePort } from '../helpers/free-port.ts';
import { openTestVault, type TestVault, type VaultSettings } from '../helpers/vault.ts';
import { launchChromium } from './chromium.ts';

/** An endpoint as a shop's server hands it to its page. */
export interface Endpoint {
  readonly url: string;
  readonly unique_id: string;
  readonly secret: string;
}

/** Whose key everything is stored under. */
export const USER = 'shop';
const TIMEOUT_MS = 30_000;

export interface FormsWorld {
  readonly vault: TestVault;
  /** The vault's own URL, which is what its forms talk to. */
  readonly url: string;
  /** The origin of the shop. */
  readonly shop: string;
  readonly bundles: FormBundles;
  readonly owner: AccountClient;
  readonly browser: Browser;
  /** Serves a page, or a script, at a path of the shop, and gives its URL. */
  readonly serve: (path: string, text: string, headers?: Readonly<Record<string, string>>) => string;
  readonly capture: (query?: Query) => Promise<Endpoint>;
  readonly retrieve: (query?: Query) => Promise<Endpoint>;
  /** Makes a form and gives its id. */
  readonly form: (type: FormTypeName, settings?: FormSettings) => Promise<string>;
  /** Reads the item of a token. */
  readonly stored: (token: string, reference: string) => Promise<unknown>;
  /** How many items are stored. */
  readonly count: () => Promise<number>;
  /** A page in a new browser context. Closes the context of the previous page. */
  readonly page: (options?: Parameters<Browser['newContext']>[0]) => Promise<Page>;
  readonly close: () => Promise<void>;
}

function startShop() {
  const pages = new Map<
    string,
    { readonly text: string; readonly headers: Readonly<Record<string, string>> }
  >();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      const found = pages.get(pathname);
      const type = pathname.endsWith('.js') ? 'text/javascript' : 'text/html';
      return new Response(found?.text ?? 'not found', {
        status: found === undefined ? 404 : 200,
        headers: {
          ...{ 'Content-Type': `${type}; charset=utf-8`, 'Access-Control-Allow-Origin': '*' },
          ...found?.headers,
        },
      });
    },
  });
  return { pages, server };
}

/** How people sign in at an origin: passkeys belong to a name. */
function peopleAt(consoleUrl: string) {
  return {
    ...{ consoleUrl, hasPasswords: true },
    flaw: consoleUrl.includes('//localhost') ? undefined : 'passkeys belong to a host name',
  };
}

/** The vault is at 127.0.0.1 by default and the shop under the name localhost: these are two sites. */
async function startVault({
  host = '127.0.0.1',
  ...settings
}: WorldSettings & { readonly bundles: FormBundles }) {
  const { bundles } = settings;
  const port = freePort();
  const publicUrl = `http://${host}:${port}`;
  const people = peopleAt(publicUrl);
  const vault = await openTestVault({ people, ...settings });
  const formPages = new FormPages({
    bundles,
    publicUrl,
    gallery: true,
    newNonce: vault.opened.randomId,
  });
  const app = createApp({ ...vault.parts, http: { ...vault.parts.http, publicUrl }, formPages });
  const server = listen(app, { hostname: '127.0.0.1', port, idleTimeoutSeconds: 30 });
  return { vault, url: publicUrl, server };
}

/** The shop's server: creates endpoints and forms, and reads stored items. */
function createShopkeeper(owner: AccountClient) {
  const make = async (kind: 'capture' | 'retrieve', query: Query = {}): Promise<Endpoint> => {
    const options = { query: { user: USER, ...query }, passphrase: PASSPHRASE };
    return (await owner.send('POST', `/${kind}`, options)).as<CaptureEndpoint>();
  };
  return {
    capture: (query?: Query) => make('capture', query),
    retrieve: (query?: Query) => make('retrieve', query),
    form: async (type: FormTypeName, settings: FormSettings = {}): Promise<string> => {
      const query = { form_type: type };
      const answer = await owner.send('POST', '/capture/iframe', { query, body: settings });
      if (answer.status !== 200) {
        throw new Error(answer.text);
      }
      return answer.as<{ id: string }>().id;
    },
    stored: async (token: string, reference: string): Promise<unknown> =>
      JSON.parse(await owner.open(USER, token, { reference })),
    count: async (): Promise<number> => {
      const answer = await owner.send('GET', '/vault', { query: { user: USER }, passphrase: PASSPHRASE });
      return answer.as<Record<string, unknown[]>>()[USER]?.length ?? 0;
    },
  };
}

/** The settings of the vault, and the name of its host. */
export interface WorldSettings extends VaultSettings {
  readonly host?: string;
}

/** Opens it all. */
export async function openFormsWorld(settings: WorldSettings = {}): Promise<FormsWorld> {
  const [bundles, browser] = await Promise.all([buildForms(), launchChromium()]);
  const { vault, url, server } = await startVault({ ...settings, bundles });
  const owner = await vault.account();
  await owner.key(USER);
  const shop = startShop();
  const origin = `http://localhost:${shop.server.port}`;
  let context: BrowserContext | undefined;
  return {
    vault,
    url,
    shop: origin,
    bundles,
    owner,
    browser,
    ...createShopkeeper(owner),
    serve: (path, text, headers = {}) => {
      shop.pages.set(path, { text, headers });
      return `${origin}${path}`;
    },
    page: async (options) => {
      await context?.close();
      context = await browser.newContext({ locale: 'en-GB', ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(TIMEOUT_MS);
      return page;
    },
    close: async () => {
      await browser.close();
      await Promise.all([shop.server.stop(true), server.stop(true)]);
      await vault.close();
    },
  };
}
