import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob } from 'bun';
import { ENTRIES } from '../../scripts/guide/contents.ts';

const docs = join(import.meta.dir, '..', '..', 'docs');
const addresses = ENTRIES.map(({ address }) => address);

describe('the contents of the guide', () => {
  test('are the Markdown files of docs/, each once: whoever adds a file adds its line to contents.ts', () => {
    const files = [...new Glob('**/*.md').scanSync({ cwd: docs })];
    expect(ENTRIES.map(({ file }) => file).sort()).toEqual(files.sort());
  });

  test('have an address for each, which no other page and nothing else of the guide has', () => {
    expect(new Set(addresses).size).toBe(addresses.length);
    expect(addresses.filter((address) => !/^[a-z0-9]+(?:[-/][a-z0-9]+)*$/.test(address))).toEqual([]);
    expect(addresses.filter((address) => /^assets\//.test(address))).toEqual([]);
  });
});
