import { fileURLToPath } from 'node:url';
import { defineConfig } from 'tsup';

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/**
 * Both module formats with their types, from one entry, for the oldest supported runtime. The code is not minified,
 * so that stack traces are readable; source maps would refer to files that are not in the package.
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
