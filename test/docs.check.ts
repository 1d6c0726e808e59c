import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import manifest from '../package.json';
import { createAnchors } from '../scripts/guide/anchors.ts';
import { ALL_PAGES } from './pages/pages.ts';
import { readSources } from './sources.ts';

const root = join(import.meta.dir, '..');

test('there are pages', () => {
  expect(ALL_PAGES).toContain('README.md');
  expect(ALL_PAGES).toContain('docs/decisions/README.md');
});

test.each(ALL_PAGES)('every link of %s leads somewhere', async (page) => {
  const text = await Bun.file(join(root, page)).text();
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target]) => target ?? '');
  expect(links.filter((target) => !existsSync(join(root, page, '..', target)))).toEqual([]);
});

function anchorsOf(markdown: string): string[] {
  const anchorOf = createAnchors();
  return [...markdown.matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

test.each(ALL_PAGES)('every link of %s into a page meets a heading', async (page) => {
  const text = await Bun.file(join(root, page)).text();
  const missing: string[] = [];
  for (const [, target = '', anchor = ''] of text.matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)) {
    const into = target === '' ? text : await Bun.file(join(root, page, '..', target)).text();
    if (!anchorsOf(into).includes(anchor)) {
      missing.push(`${target}#${anchor}`);
    }
  }
  expect(missing).toEqual([]);
});

test.each(ALL_PAGES)('every script that %s names is there', async (page) => {
  const text = await Bun.file(join(root, page)).text();
  const named = [...text.matchAll(/\bbun run (\w[\w:]*)/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !Object.hasOwn(manifest.scripts, name))).toEqual([]);
});

test('every page that the code refers to exists', async () => {
  const sources = await readSources('server', 'workers', 'sdk', 'forms', 'console', 'scripts');
  const missing = [...sources].flatMap(([path, text]) =>
    [...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)]
      .filter(([page]) => !existsSync(join(root, page)))
      .map(([page]) => `${path} refers to ${page}`),
  );
  expect(missing).toEqual([]);
});

test('the index of decisions lists every page', async () => {
  const index = await Bun.file(join(root, 'docs/decisions/README.md')).text();
  const names = (await readdir(join(root, 'docs/decisions'))).filter((name) => name !== 'README.md');
  expect(names.filter((name) => !index.includes(`](${name})`))).toEqual([]);
});
