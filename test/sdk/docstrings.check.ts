import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packAll } from '../helpers/packages.ts';
import { type Documented, documentedOf, programOf } from './declarations.ts';

const root = join(import.meta.dir, '../..');
const READ_MS_MAX = 60_000;
/** Its one member is no call of ours but what headers must have. */
const NO_CALLS = /^WebhookHeaders\./;

let path = '';
let names: readonly Documented[] = [];
function calls(): readonly Documented[] {
  return names.filter(({ name, isCall }) => isCall && !NO_CALLS.test(name));
}
function textsOf({ tags }: Documented, tag: string): string[] {
  return tags.filter(({ name }) => name === tag).map(({ text }) => text);
}

beforeAll(async () => {
  path = join(await packAll(), 'cardvault-sdk.d.ts');
  names = documentedOf(programOf(path), path);
}, READ_MS_MAX);

describe('the declarations of the package', () => {
  test('say of every exported name and of every member what it is', () => {
    expect(names.length).toBeGreaterThan(500);
    expect(names.filter(({ text }) => text === '').map(({ name }) => name)).toEqual([]);
  });

  test('show every call in use', () => {
    expect(calls().length).toBeGreaterThan(60);
    const bare = calls().filter((call) => textsOf(call, 'example').every((text) => text === ''));
    expect(bare.map(({ name }) => name)).toEqual([]);
  });

  test('lead from every call to a page of the guide that is there', () => {
    const lost = calls().filter((call) => {
      const [page, ...more] = textsOf(call, 'see').map((text) => /^\/guide\/([a-z-]+)$/.exec(text)?.[1]);
      const files = [`docs/guides/${page}.md`, `docs/${page}.md`];
      return more.length > 0 || page === undefined || !files.some((file) => existsSync(join(root, file)));
    });
    expect(lost.map(({ name }) => name)).toEqual([]);
  });

  test('have no tag that editors show as such in place of the text', () => {
    const odd = names.filter(({ tags }) => tags.some(({ name }) => name === 'description'));
    expect(odd.map(({ name }) => name)).toEqual([]);
  });
});
