import { fileURLToPath } from 'node:url';
import { defineConfig, type Options } from 'tsup';

function here(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

const TYPES: Options = {
  outDir: here('dist'),
  tsconfig: here('tsconfig.json'),
  format: ['esm'],
  dts: { only: true },
};

/** Only the types. The scripts are built by build.ts, so that the package has the same bytes as the server. */
export default defineConfig([
  { ...TYPES, entry: { index: here('index.ts') } },
  { ...TYPES, entry: { react: here('react.ts') }, external: ['./index.js'] },
]);
