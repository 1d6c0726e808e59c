import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { FormSettings } from '../../server/form/schema.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import { showForm } from './forms-shop.ts';
import { type Endpoint, openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const SCRIPT = "window.seen = { ran: 'yes' };";
const SCRIPT_HEADERS = [
  ['Content-Type', 'text/javascript'],
  ['Access-Control-Allow-Origin', '*'],
] as const;
function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

const world = useWorld(openFormsWorld);
let page: Page;
let endpoint: Endpoint;

beforeAll(async () => {
  endpoint = await world.capture();
});
beforeEach(async () => {
  page = await world.page();
});

/**
 * Keeps who connects to a port of its own, and what it hears. For some deeds browsers connect before they know
 * whether they may ask for anything.
 */
function listenBeside() {
  const heard: string[] = [];
  const seen = { connections: 0 };
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: () => {
        seen.connections += 1;
      },
      data: (_, bytes) => void heard.push(Buffer.from(bytes).toString('latin1')),
    },
  });
  return { host: `127.0.0.1:${server.port}`, heard, seen, [Symbol.dispose]: () => server.stop(true) };
}

/** What came of each deed of a script: its result as a text, or the name of the error. */
type Seen = Readonly<Record<string, string>>;

/** A script that tries one deed after another once the form is there, and keeps what came of each. */
function tries(deeds: Readonly<Record<string, string>>): string {
  const steps = Object.entries(deeds).map(
    ([name, code]) => `await attempt(${JSON.stringify(name)}, async () => { ${code} });`,
  );
  return `
    const seen = {};
    const attempt = async (name, act) => {
      try { seen[name] = String(await act()); } catch (error) { seen[name] = error.name; }
    };
    const forbidden = (tag, part, members) => new Promise((resolve) => {
      const element = Object.assign(document.createElement(tag), members);
      element.onload = () => resolve('loaded');
      addEventListener('securitypolicyviolation', ({ blockedURI, disposition }) => {
        if (blockedURI.endsWith(part)) resolve('forbidden by ' + disposition);
      });
      document.head.append(element);
    });
    const settled = (tag, directive, members) => new Promise((resolve) => {
      const element = Object.assign(document.createElement(tag), members);
      element.onload = () => resolve('loaded');
      addEventListener('securitypolicyviolation', (event) => {
        if (event.effectiveDirective === directive) resolve('forbidden');
      });
      document.body.append(element);
    });
    addEventListener('load', async () => { ${steps.join('\n')} window.seen = seen; });`;
}

declare const window: {
  readonly seen?: Seen;
  readonly events: readonly unknown[];
  readonly told: readonly unknown[];
};

/** Opens a form by itself and gives what its owner's script has seen. */
async function seenIn(settings: FormSettings): Promise<Seen> {
  const form = await world.form('pcd', settings);
  const { unique_id, secret } = endpoint;
  const fragment = new URLSearchParams({ unique_id, secret });
  await page.goto(`${world.url}/v1/capture/iframe/${form}#${fragment}`);
  const found = await page.waitForFunction(() => window.seen);
  return (await found.jsonValue()) ?? {};
}

describe("the owner's script", () => {
  test('reaches no host that the form does not name, in no way', async () => {
    using beside = listenBeside();
    const { host } = beside;
    const seen = await seenIn({
      embedded_js: base64(
        tries({
          fetch: `return (await fetch('http://${host}/', { mode: 'no-cors' })).type;`,
          beacon: `return navigator.sendBeacon('http://${host}/', 'x');`,
          image: `return settled('img', 'img-src', { src: 'http://${host}/x.png' });`,
          script: `return settled('script', 'script-src-elem', { src: 'http://${host}/x.js' });`,
          style: `return settled('link', 'style-src-elem', { rel: 'stylesheet', href: 'http://${host}/x.css' });`,
          frame: `return settled('iframe', 'frame-src', { src: 'http://${host}/' });`,
          font: `return (await new FontFace('x', 'url(http://${host}/x.woff2)').load()).status;`,
          socket: `return new Promise((resolve) => {
            const socket = new WebSocket('ws://${host}/');
            socket.onopen = () => resolve('open');
            socket.onerror = () => resolve('failed');
          });`,
          events: `return new Promise((resolve) => {
            const source = new EventSource('http://${host}/');
            source.onopen = () => resolve('open');
            source.onerror = () => resolve('failed');
          });`,
          worker: `return new Promise((resolve) => {
            const code = "fetch('http://${host}/').finally(() => postMessage('ran'))";
            const worker = new Worker(URL.createObjectURL(new Blob([code])));
            worker.onmessage = () => resolve('ran');
            worker.onerror = () => resolve('failed');
          });`,
          popup: `return String(window.open('http://${host}/'));`,
          form: `const form = Object.assign(document.createElement('form'), { action: 'http://${host}/' });
            document.body.append(form);
            form.submit();
            return 'submitted';`,
          eval: `return new Function('return 1')();`,
        }),
      ),
    });
    const { beacon, form, ...rest } = seen;
    expect(rest).toEqual({
      fetch: 'TypeError',
      image: 'forbidden',
      script: 'forbidden',
      style: 'forbidden',
      frame: 'forbidden',
      font: 'NetworkError',
      socket: 'failed',
      events: 'failed',
      worker: 'failed',
      popup: 'null',
      eval: 'EvalError',
    });
    expect(Object.keys(seen)).toContainValues(['beacon', 'form']);
    expect(beside.heard).toEqual([]);
    expect(page.url()).not.toContain(host);
  });

  test('has no host loaded that the form does not name, by no kind of script, link or hint', async () => {
    using beside = listenBeside();
    const link = (rel: string, rest = '') =>
      `return forbidden('link', '/${rel}', { rel: '${rel}', href: 'http://${beside.host}/${rel}'${rest} });`;
    const rules = JSON.stringify({
      prefetch: [{ urls: [`http://${beside.host}/rules`], eagerness: 'immediate' }],
    });
    const seen = await seenIn({
      embedded_js: base64(
        tries({
          classic: `return forbidden('script', '/classic', { src: 'http://${beside.host}/classic' });`,
          module: `return forbidden('script', '/module', { type: 'module', src: 'http://${beside.host}/module' });`,
          inline: `return forbidden('script', 'inline', { text: "fetch('http://${beside.host}/')" });`,
          imported: `return import('http://${beside.host}/imported');`,
          data: `return import('data:text/javascript,');`,
          stylesheet: link('stylesheet'),
          modulepreload: link('modulepreload'),
          preload: link('preload', ", as: 'script'"),
          prefetch: link('prefetch'),
          rules: `return forbidden('script', 'inline', { type: 'speculationrules', text: ${JSON.stringify(rules)} });`,
        }),
      ),
    });
    const { imported, data, ...rest } = seen;
    expect([imported, data]).toEqual(['TypeError', 'TypeError']);
    expect(new Set(Object.values(rest))).toEqual(new Set(['forbidden by enforce']));
    expect(Object.keys(rest)).toHaveLength(8);
    expect(beside.seen.connections).toBe(0);
  });

  test('finds the secret nowhere: it is gone before the script runs', async () => {
    const places = `[
      location.href, document.URL, document.baseURI, document.referrer, window.name, history.state, history.length,
      document.documentElement.outerHTML, navigation.currentEntry?.url, navigation.entries().map(({ url }) => url),
      performance.getEntries().map(({ name }) => name), performance.getEntries(), new Error().stack,
      performance.getEntries().map((entry) => entry.toJSON?.()), performance.timing, performance.toJSON(),
      performance.getEntriesByType('long-animation-frame').map(({ scripts }) => scripts),
      Object.keys(window).map((name) => {
        try { return String(window[name]); } catch { return ''; }
      }),
    ]`;
    const seen = await seenIn({
      embedded_js: base64(
        `const first = JSON.stringify(${places});` +
          tries({
            places: 'return first;',
            later: `return JSON.stringify(${places});`,
            observed: `return new Promise((resolve) => {
              const tell = (list) => resolve(JSON.stringify(list.getEntries().map(({ name }) => name)));
              new PerformanceObserver(tell).observe({ type: 'navigation', buffered: true });
            });`,
            afresh: `const frame = document.createElement('iframe');
              document.body.append(frame);
              return frame.contentWindow.PerformanceEntry;`,
          }),
      ),
    });
    expect(seen['places']).toContain('/v1/capture/iframe/');
    expect(seen['observed']).toContain('/v1/capture/iframe/');
    expect(seen['afresh']).toBe('SecurityError');
    for (const place of Object.values(seen)) {
      expect(place).not.toContain('vcs1_');
    }
    await page.goBack();
    await page.goForward();
    expect(page.url()).toMatch(/\/v1\/capture\/iframe\/[^/?#]+$/);
  });

  test('has neither storage nor cookies of the service', async () => {
    await page.goto(`${world.url}/forms/sri.json`);
    await page.evaluate("localStorage.setItem('canary', '1'); document.cookie = 'canary=1';");
    const seen = await seenIn({
      embedded_js: base64(
        tries({
          local: 'return localStorage.length;',
          session: 'return sessionStorage.length;',
          cookie: 'return document.cookie;',
          database: `return indexedDB.open('x') && 'open';`,
          caches: `return (await caches.keys()).length;`,
          worker: `return navigator.serviceWorker.register('/forms/vault-forms.js');`,
          around: 'return parent === window ? window.origin : parent.document.title;',
        }),
      ),
    });
    expect(seen).toEqual({
      local: 'SecurityError',
      session: 'SecurityError',
      cookie: 'SecurityError',
      database: 'SecurityError',
      caches: 'SecurityError',
      worker: expect.stringMatching(/Error$/),
      around: 'null',
    });
  });

  test('cannot ride on the password that the browser remembers', async () => {
    const { name, password } = world.owner;
    const own = `${world.url}/v1/vault?user=shop`;
    const login = new URL(own);
    login.username = encodeURIComponent(name);
    login.password = encodeURIComponent(password);
    expect((await page.goto(login.href))?.status()).toBe(200);
    expect((await page.goto(own))?.status()).toBe(200);
    world.vault.lines.length = 0;
    const seen = await seenIn({
      embedded_js: base64(
        tries({
          read: `return (await fetch('${own}', { credentials: 'include' })).status;`,
          blind: `return (await fetch('${own}', { credentials: 'include', mode: 'no-cors' })).type;`,
          erase: `return (await fetch('${own}', { credentials: 'include', method: 'DELETE', mode: 'cors' })).status;`,
          frame: `return settled('iframe', 'frame-src', { src: '${own}' });`,
        }),
      ),
    });
    expect(seen).toEqual({ read: 'TypeError', blind: 'opaque', erase: 'TypeError', frame: 'forbidden' });
    const answers = world.vault.lines.filter(({ route }) => route?.endsWith('/vault'));
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status !== 403 && status !== 405)).toEqual([]);
  });
});

describe('files of others', () => {
  let party: ThirdParty;
  beforeAll(async () => {
    party = await startThirdParty();
    party.script('/form.css', {
      headers: [['Content-Type', 'text/css']],
      body: '.vf-button { color: rgb(1, 2, 3) }',
    });
    party.script('/form.js', { headers: SCRIPT_HEADERS, body: SCRIPT });
  });
  afterAll(() => party.stop());

  const openWith = async (settings: FormSettings): Promise<void> => {
    page = await world.page({ ignoreHTTPSErrors: true });
    const form = await world.form('pcd', settings);
    const { unique_id, secret } = endpoint;
    const visit = new URLSearchParams({ unique_id, secret });
    await page.goto(`${world.url}/v1/capture/iframe/${form}?${visit}`);
    await page.locator('.vf-button').waitFor();
  };

  test('are used, and learn neither the secret nor where they are used', async () => {
    await openWith({ css_links: [party.url('/form.css')], js_links: [party.url('/form.js')] });
    expect(await page.evaluate(() => window.seen)).toEqual({ ran: 'yes' });
    const color = await page.locator('.vf-button').evaluate((button) => getComputedStyle(button).color);
    expect(color).toBe('rgb(1, 2, 3)');
    const calls = [...party.calls('/form.css'), ...party.calls('/form.js')];
    expect(calls).toHaveLength(2);
    for (const call of calls) {
      expect(call.header('referer')).toBeUndefined();
      expect(call.header('cookie')).toBeUndefined();
      expect(JSON.stringify(call)).not.toMatch(/vcs1_|iframe\//);
    }
  });

  test('are not used when they do not fit their hash', async () => {
    const pinned = (text: string): string => {
      const hash = new Bun.CryptoHasher('sha384').update(text).digest('base64');
      return `${party.url('/form.js')}#sha384-${hash}`;
    };
    await openWith({ js_links: [pinned('another script')] });
    expect(await page.evaluate(() => window.seen)).toBeUndefined();
    await openWith({ js_links: [pinned(SCRIPT)] });
    expect(await page.evaluate(() => window.seen)).toEqual({ ran: 'yes' });
  });
});

describe('the page around', () => {
  test('cannot look into the form, and nothing in it holds the secret', async () => {
    const before = await page.evaluate(() => history.length);
    await showForm(world, page, { way: 'element', form: 'pcd', endpoint });
    const places = await page.evaluate(() => [
      String(document.querySelector('iframe')?.contentDocument),
      document.documentElement.outerHTML,
      ...performance.getEntries().map(({ name }) => name),
    ]);
    expect(places[0]).toBe('null');
    const [source = '', ...rest] = places.slice(1);
    // The shop's own server wrote the secret into its page; the element has taken it out again.
    expect([source, ...rest].join(' ')).not.toContain(endpoint.secret);
    expect(await page.evaluate(() => history.length)).toBe(before + 1);
  });

  test('may embed the form only where the form says so', async () => {
    const outcomeOf = async (frame_ancestors: string[]): Promise<string> => {
      const form = await world.form('pcd', { frame_ancestors });
      const src = `${world.url}/v1/capture/iframe/${form}`;
      // The page is loaded once its frame is, whichever document that holds then.
      await page.goto(
        world.serve('/frame', `<iframe sandbox="allow-scripts allow-forms" src="${src}"></iframe>`),
      );
      return String(await page.frames()[1]?.evaluate('location.href'));
    };
    expect(await outcomeOf([world.shop])).toContain('/v1/capture/iframe/');
    expect(await page.frameLocator('iframe').locator('.vf-button').count()).toBe(1);
    expect(await outcomeOf(['https://shop.example', world.shop.replace('localhost', '127.0.0.1')])).toBe(
      'chrome-error://chromewebdata/',
    );
  });
});

declare const history: { readonly length: number };
declare const performance: { getEntries(): readonly { readonly name: string }[] };
declare const getComputedStyle: (element: unknown) => { readonly color: string };
declare const document: {
  readonly documentElement: { readonly outerHTML: string };
  querySelector(selector: string): { readonly contentDocument: unknown } | null;
};
