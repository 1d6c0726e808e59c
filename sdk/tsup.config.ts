import { fileURLToPath } from 'node:url';
import { defineConfig } from 'tsup';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Both module kinds with their types, from one entry, for the oldest runtime that the SDK promises. */
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
