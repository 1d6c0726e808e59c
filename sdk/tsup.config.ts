import { fileURLToPath } from 'node:url';
import { defineConfig } from 'tsup';

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/**
 * Both module kinds with their types, from one entry, for the oldest runtime that the SDK promises. The code is not
 * minified, so that a stack trace leads to lines that can be read; maps to sources that are not in the package would
 * only make it larger.
 */
export default defineConfig({
  entry: { index: here('index.ts') },
  outDir: here('dist'),
  tsconfig: here('../tsconfig.json'),
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: 'neutral',
  dts: true,
  clean: true,
});
