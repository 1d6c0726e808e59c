import { fileURLToPath } from 'node:url';
import { defineConfig } from 'tsup';

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** The types alone, beside the scripts: these come from build.ts, so that the package has the bytes that are served. */
export default defineConfig({
  entry: { index: here('index.ts') },
  outDir: here('dist'),
  tsconfig: here('tsconfig.json'),
  format: ['esm'],
  dts: { only: true },
});
