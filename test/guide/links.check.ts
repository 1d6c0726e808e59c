import { beforeAll, describe, expect, test } from 'bun:test';
import { ENTRIES } from '../../scripts/guide/contents.ts';
import api from '../../sdk/openapi.json' with { type: 'json' };
import { buildGuide } from '../helpers/built-guide.ts';
import { type Client, createClient } from '../http/client.ts';

const GUIDE = ['/guide', ...ENTRIES.map(({ address }) => `/guide/${address}`)];
const PAGES = [...GUIDE, '/docs', ...api.tags.map(({ name }) => `/docs/${name}`)];

const client: Client = createClient();
const pages = new Map<string, string>();
/** The places of every page, by its path. */
const places = new Map<string, readonly string[]>();
beforeAll(async () => {
  await buildGuide();
  for (const path of PAGES) {
    const answer = await client.send('GET', path);
    expect(answer.status).toBe(200);
    pages.set(path, answer.text);
    places.set(path, attributesOf(answer.text, 'id'));
  }
}, 60_000);

function attributesOf(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(`<[a-z][^>]* ${name}="([^"]*)"`, 'g'))].map(([, value = '']) => value);
}

/** What is wrong with a link of a page; undefined where all is well. */
function faultOf(from: string, href: string): string | undefined {
  const [path, anchor] = href.split('#');
  const target = path === '' ? from : (path ?? '');
  if (target.startsWith('https://') || target === '/openapi.json' || target.startsWith('/guide/assets/')) {
    return undefined;
  }
  const ids = places.get(target);
  return ids !== undefined && (anchor === undefined || ids.includes(anchor))
    ? undefined
    : `${from}: ${href} leads nowhere`;
}

test('links lead somewhere', () => {
  for (const [path, html] of pages) {
    const hrefs = attributesOf(html, 'href');
    const listed = GUIDE.includes(path) ? ENTRIES.filter(({ address }) => !address.includes('/')) : api.tags;
    expect(hrefs.length).toBeGreaterThan(listed.length);
    expect(hrefs.flatMap((href) => faultOf(path, href) ?? [])).toEqual([]);
  }
});

test('a page has no two places of one name, and one title', () => {
  for (const [path, html] of pages) {
    const ids = places.get(path) ?? [];
    expect([path, ids.length, html.match(/<h1>/g)]).toEqual([path, new Set(ids).size, ['<h1>']]);
  }
});

test('pages load what there is', async () => {
  const loaded = new Set<string>();
  for (const html of pages.values()) {
    const files = attributesOf(html, 'href').filter((href) => /\.(?:css|svg)$/.test(href));
    const own = [...attributesOf(html, 'src'), ...files];
    expect(own.length).toBeGreaterThanOrEqual(3);
    for (const target of own) {
      loaded.add(target);
    }
  }
  for (const target of loaded) {
    expect(target).toStartWith('/guide/');
    expect(await client.send('GET', target)).toMatchObject({ status: 200 });
  }
});

describe('a link of a Markdown file', () => {
  const html = (address: string): string => pages.get(`/guide/${address}`) ?? '';

  test('to another becomes one to its page, with its place', () => {
    expect(html('settings')).toContain('href="/guide/production#graceful-shutdown"');
    expect(html('decisions')).toContain('href="/guide/decisions/backup"');
    expect(html('capture')).toContain('href="/guide/settings#masking"');
  });

  test('to a file that the server has no page of becomes plain text', () => {
    for (const page of pages.values()) {
      expect(attributesOf(page, 'href').filter((href) => /\.md\b|\.yml\b|^\.|deploy/.test(href))).toEqual([]);
    }
  });
});
