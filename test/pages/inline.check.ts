/** Commands and routes that stand within the text of the pages: they name what there is. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandFaults } from './commands.ts';
import { ALL_PAGES } from './pages.ts';

const ROOT = join(import.meta.dir, '..', '..');
const PAGES = ALL_PAGES.filter((path) =>
  /^docs\/(?:operations|quick-start|concepts|guides\/.*|pci-dss|threats)\.md$/.test(path),
);
const METHODS = /^(GET|POST|PUT|DELETE) (?:\/v1)?(\/[^\s?]*?)\/?(?:\?(\S*))?$/;

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
}
const api: { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> } = JSON.parse(
  readFileSync(join(ROOT, 'sdk/openapi.json'), 'utf8'),
);
/** What is served beside the documented API. */
const OTHER = /^\/(?:health\/(?:live|ready)|metrics|docs|guide|openapi\.json|sdk\/.*|forms(?:\/.*)?)$/;

/** The code within the text of a page, without its blocks. */
function inlineCode(markdown: string): readonly string[] {
  const text = markdown.replaceAll(/^```.*?^```$/gms, '');
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
}

/** The operation of a route as a page writes it: `{id}`, `…`, `:id` and capitals stand for a value. */
function operationOf(method: string, path: string): Operation | undefined {
  const parts = path.split('/');
  const isValue = (part = ''): boolean => /^(?:\{.*\}|…|:.*|[A-Z_]+)$/.test(part);
  const found = Object.entries(api.paths).find(([known]) => {
    const own = known.split('/');
    return (
      own.length === parts.length &&
      own.every((part, at) => part === parts[at] || (isValue(part) && isValue(parts[at])))
    );
  });
  return found?.[1][method.toLowerCase()];
}

function routeFaults(code: string): readonly string[] {
  const [, method = '', path = '', query = ''] = METHODS.exec(code) ?? [];
  if (method === '' || OTHER.test(path)) {
    return [];
  }
  const operation = operationOf(method, path);
  if (operation === undefined) {
    return [`${code}: there is no such route`];
  }
  const known = (operation.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name);
  const named = query === '' ? [] : query.split('&').map((pair) => pair.split('=')[0] ?? '');
  return named.filter((name) => !known.includes(name)).map((name) => `${code}: it takes no ${name}`);
}

/** A command in the text, with the argument that the sentence around it leaves out. */
async function inlineFaults(code: string): Promise<readonly string[]> {
  const [, line] = /^(?:bun run )?(vault [a-z].*)$/.exec(code.replaceAll("'", '')) ?? [];
  if (line === undefined) {
    return /^bun run [a-z]/.test(code) ? commandFaults(code) : routeFaults(code);
  }
  const shapes = [line, `${line} NAME`];
  const found = await Promise.all(shapes.map((shape) => commandFaults(`bun run ${shape}`)));
  return found.some((faults) => faults.length === 0) ? [] : (found[0] ?? []);
}

const COMMANDS = PAGES.flatMap((page) =>
  inlineCode(readFileSync(join(ROOT, page), 'utf8'))
    .filter((code) => code !== 'bun run vault')
    .filter((code) => METHODS.test(code) || /^(?:bun run|vault) [a-z]/.test(code))
    .map((code) => ({ page, code })),
);

test('there are some', () => {
  expect(COMMANDS.length).toBeGreaterThan(60);
});

test.each(PAGES)('%s names routes and commands that there are', async (path) => {
  const codes = new Set(COMMANDS.filter(({ page }) => page === path).map(({ code }) => code));
  expect((await Promise.all([...codes].map(inlineFaults))).flat()).toEqual([]);
});
