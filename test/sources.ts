/** The project's own source files, for the tests that read them. */

import { join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');

/** Generated or built: held to no rule of style. */
const GENERATED = /^sdk\/(?:api\.d\.ts$|dist\/)|^forms\/dist\/|\/node_modules\//;

/** Reads all TypeScript files under some folders; the keys are paths from the project's root. */
export async function readSources(...folders: string[]): Promise<Map<string, string>> {
  const sources = new Map<string, string>();
  for (const folder of folders) {
    for await (const name of new Glob(`${folder}/**/*.{ts,mts,cts,tsx}`).scan({ cwd: ROOT })) {
      if (!GENERATED.test(name)) {
        sources.set(name, await Bun.file(join(ROOT, name)).text());
      }
    }
  }
  return sources;
}
