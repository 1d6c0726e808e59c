import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Glob } from 'bun';
import { readSources } from './sources.ts';

const root = join(import.meta.dir, '..');
const pages = ['*.md', 'docs/**/*.md', 'sdk/*.md'].flatMap((pattern) => [
  ...new Glob(pattern).scanSync({ cwd: root }),
]);

test('there are pages', () => {
  expect(pages).toContain('README.md');
  expect(pages).toContain('docs/decisions/README.md');
});

test.each(pages)('every link of %s leads somewhere', async (page) => {
  const text = await Bun.file(join(root, page)).text();
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target]) => target ?? '');
  expect(links.filter((target) => !existsSync(join(root, page, '..', target)))).toEqual([]);
});

test('every page that the code refers to exists', async () => {
  const sources = await readSources('server', 'workers', 'sdk', 'forms', 'scripts');
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
