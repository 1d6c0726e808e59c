import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ENTRIES } from '../../scripts/guide/contents.ts';
import { createApp } from '../../server/boot/app.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { guidePages } from '../../server/http/pages/built.ts';
import { buildGuide } from '../helpers/built-guide.ts';
import { createClient } from '../http/client.ts';
import { createStubParts } from '../http/stub-parts.ts';
import { talkTo } from '../http/talk.ts';

const NOBODY = { headers: { authorization: '' } };
const client = createClient();
function get(path: string, headers: Record<string, string> = {}) {
  return client.send('GET', path, { headers: { ...NOBODY.headers, ...headers } });
}

let html = '';
beforeAll(async () => {
  await buildGuide();
  html = (await get('/guide/capture')).text;
}, 60_000);

function loadedBy(page: string): string[] {
  return [...page.matchAll(/(?:src|href)="(\/guide\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
}

describe('a page of the guide', () => {
  test('is HTML for everybody, to be asked for again', async () => {
    const answer = await get('/guide/capture');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('Cache-Control')).toBe('no-cache');
    expect(answer.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(answer.headers.get('X-Request-Id')).toBe('fresh-request-id');
    expect(answer.text).toContain('<title>Capture endpoints · Cardvault</title>');
    expect(answer.text).toContain('<a href="/guide/capture" aria-current="page">');
  });

  test.each(['/guide', '/guide/capture', '/guide/nothing'])(
    '%s has a policy without exceptions',
    async (path) => {
      const { headers, text } = await get(path);
      const policy = headers.get('Content-Security-Policy') ?? '';
      expect(policy).toStartWith(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';",
      );
      expect(policy).not.toMatch(/unsafe|data:|blob:|http|nonce|sha\d/);
      expect(policy).toContain("frame-ancestors 'none'");
      // What the policy would block is not there to begin with.
      expect(text).not.toMatch(/<style|<script(?! (?:type="module" )?src="\/guide\/)| style=|<[^>]+ on\w+=/);
    },
  );

  test('repeats no name under which it was asked for: its script asks the browser', async () => {
    const named = {
      host: 'evil.example"><script>',
      'x-forwarded-host': 'evil.example',
      origin: 'http://evil.example',
    };
    const answer = await get('/guide/capture', named);
    expect(answer.text).toBe(html);
    expect([...answer.headers.values()].join()).not.toContain('evil');
  });

  test('is not sent to who holds it', async () => {
    const tag = (await get('/guide/capture')).headers.get('ETag') ?? '';
    expect(tag).toMatch(/^W\/"[0-9a-f]{32}"$/);
    expect(await get('/guide/capture', { 'if-none-match': tag })).toMatchObject({ status: 304, text: '' });
    expect((await get('/guide/retrieve', { 'if-none-match': tag })).status).toBe(200);
  });

  test('travels packed to those who take it so', async () => {
    const answer = await get('/guide/capture', { 'accept-encoding': 'gzip, br' });
    expect(answer.headers.get('Content-Encoding')).toBe('gzip');
    expect(answer.headers.get('Vary')).toBe('Accept-Encoding');
    expect((await get('/guide/capture')).headers.get('Content-Encoding')).toBeNull();
  });

  test('takes GET and HEAD alone', async () => {
    for (const path of ['/guide', '/guide/capture', '/guide/search.json']) {
      expect(await client.send('HEAD', path, NOBODY)).toMatchObject({ status: 200 });
      const answer = await client.send('POST', path, NOBODY);
      expect(answer.status).toBe(405);
      expect(answer.headers.get('Allow')).toBe('GET, HEAD');
    }
  });
});

describe('what pages load', () => {
  test('has a path of its own for its bytes, to be kept', async () => {
    const paths = loadedBy(html);
    expect(paths.map((path) => path.split('/').at(-1)).sort()).toEqual([
      'early.js',
      'guide.css',
      'guide.js',
      'icon.svg',
    ]);
    for (const path of paths) {
      const { status, headers } = await get(path);
      expect(status).toBe(200);
      expect(headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
    }
    expect((await get('/guide/assets/0000000000000000/guide.css')).status).toBe(404);
  });

  test('is small', async () => {
    for (const [path = '', max = 0] of [
      ['/guide/capture', 16_000],
      [loadedBy(html).find((each) => each.endsWith('.js')) ?? '', 14_000],
      [loadedBy(html).find((each) => each.endsWith('.css')) ?? '', 6_000],
      ['/guide/search.json', 400_000],
    ] as const) {
      expect(Bun.gzipSync(new TextEncoder().encode((await get(path)).text)).length).toBeWithin(100, max);
    }
  });

  test('includes the images of docs/, with their size in the page', async () => {
    const forms = await get('/guide/forms');
    expect(forms.text).toMatch(
      /<img src="\/guide\/forms\/gallery\.png" alt="[^"]+" width="\d{3,4}" height="\d{3,4}"/,
    );
    const image = await get('/guide/forms/gallery.png', { 'accept-encoding': 'gzip' });
    expect(image.status).toBe(200);
    expect(image.headers.get('Content-Type')).toBe('image/png');
    expect(image.headers.get('Content-Encoding')).toBeNull();
    expect(image.headers.get('ETag')).not.toBeNull();
  });

  test('includes drawings likewise, packed on the way', async () => {
    const { text } = await get('/guide/concepts');
    const [, path = '', width, height] =
      /<img src="(\/guide\/[\w-]+\.svg)" alt="[^"]+" width="(\d+)" height="(\d+)"/.exec(text) ?? [];
    const drawing = await get(path, { 'accept-encoding': 'gzip' });
    expect(drawing.headers.get('Content-Type')).toBe('image/svg+xml');
    expect(drawing.headers.get('Content-Encoding')).toBe('gzip');
    expect((await get(path)).text).toStartWith('<svg ');
    expect((await get(path)).text).toContain(`width="${width}" height="${height}"`);
  });
});

describe('a path without a page', () => {
  test.each([
    '/guide/nothing',
    '/guide/capture.md',
    '/guide/CAPTURE',
    '/guide//example.com',
    '/guide/%2e%2e%2fsettings',
    '/guide/..%2f..%2fpackage.json',
    '/guide/%00',
    '/guide/%E0%A4%A',
    '/guide/__proto__',
    '/guide/<script>alert(1)</script>',
  ])('%s is a page that says so, and says nothing of the path', async (path) => {
    const answer = await get(path);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('Content-Type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('Cache-Control')).toBe('no-cache');
    expect(answer.text).toContain('<h1>No such page</h1>');
    expect(answer.text).toBe((await get('/guide/another')).text);
  });

  test.each(['/guide/../v1/none', '/guidebook', '/none', '/v1/guide'])(
    '%s is not of the guide',
    async (path) => {
      const answer = await get(path);
      expect(answer.status).toBe(404);
      expect(answer.error.code).toBe('not_found');
    },
  );

  test('with a slash too many at the end leads to the one without', async () => {
    for (const path of ['/guide', '/guide/capture', '/guide/decisions/backup']) {
      const answer = await get(`${path}/`);
      expect(answer.status).toBe(308);
      expect(answer.headers.get('Location')).toBe(path);
    }
  });
});

test('the log names no path that a caller made up', async () => {
  const { lines } = client.parts;
  lines.length = 0;
  await get('/guide/4111111111111111?q=4111111111111111');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ event: 'request', route: '/guide/*', status: 404 });
  expect(JSON.stringify(lines)).not.toContain('4111');
});

test('the host that is for forms alone has no guide', async () => {
  const { parts } = createClient();
  const forms = createClient({ http: { ...parts.http, formsUrl: 'https://forms.test' } });
  for (const path of ['/guide', `/guide/${ENTRIES[0]?.address}`, '/guide/search.json']) {
    expect((await forms.send('GET', path, { headers: { 'x-test-host': 'forms.test' } })).error.code).toBe(
      'not_found',
    );
    expect((await forms.send('GET', path)).status).toBe(200);
  }
});

describe('over a socket', () => {
  const server = listen(createApp(createStubParts()), {
    hostname: '127.0.0.1',
    port: 0,
    idleTimeoutSeconds: 30,
  });
  afterAll(() => server.stop(true));
  const ask = async (method: string, path: string): Promise<string> =>
    (await talkTo(server.port, `${method} ${path} HTTP/1.1\r\nHost: vault.test\r\nConnection: close\r\n\r\n`))
      .text;

  test('HEAD has the head alone, with the length of the page', async () => {
    const { text } = await get('/guide/capture');
    const head = await ask('HEAD', '/guide/capture');
    expect(head).toStartWith('HTTP/1.1 200 ');
    expect(head).toMatch(new RegExp(`^content-length: ${new TextEncoder().encode(text).length}\r$`, 'im'));
    expect(head).toEndWith('\r\n\r\n');
  });
});

describe('a server that runs while its guide is built', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cv-guide-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const [page] = guidePages(pathToFileURL(`${folder}/`));
  const ask = async () => page?.respond(new Request('http://localhost/guide/capture'));
  const build = async (text: string, seconds: number): Promise<void> => {
    const name = `${text}.html`;
    const file = { name, type: 'text/html', tag: text, isCompressed: false, isImmutable: false };
    await Bun.write(join(folder, name), text);
    await Bun.write(
      join(folder, 'guide.json'),
      JSON.stringify({ files: { '/guide/capture': file }, missing: file }),
    );
    utimesSync(join(folder, 'guide.json'), seconds, seconds);
  };

  test('says how to build it until then', async () => {
    const response = await ask();
    expect(response?.status).toBe(404);
    expect(response?.headers.get('Cache-Control')).toBe('no-store');
    expect(await response?.text()).toContain('bun run build:guide');
  });

  test('shows it from then on, and what is built after that', async () => {
    await build('first', 1);
    expect(await (await ask())?.text()).toBe('first');
    await build('second', 2);
    const response = await ask();
    expect(await response?.text()).toBe('second');
    expect(response?.headers.get('ETag')).toBe('W/"second"');
  });
});
