import { fileURLToPath } from 'node:url';
import { defineConfig } from 'tsup';

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** Only the types. The scripts are built by build.ts, so that the package has the same bytes as the server. */
export default defineConfig({
  entry: { index: here('index.ts') },
  outDir: here('dist'),
  tsconfig: here('tsconfig.json'),
  format: ['esm'],
  dts: { only: true },
});
