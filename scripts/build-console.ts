/**
 * Builds the console that the server serves under `/console` into `dist/console`: one page, its script and its styles,
 * with their hashes in their names. With `--if-changed` it does nothing if the sources have not changed.
 *
 *     bun scripts/build-console.ts [--if-changed] [FOLDER]
 */
import { join } from 'node:path';
import { folderOf, makeArtifact } from './artifact.ts';
import { type Site, type SiteFile, writeSite } from './site/write.ts';

const INDEX = 'console.json';
const CONSOLE = join(import.meta.dir, '..', 'console');
const encoder = new TextEncoder();

async function buildScript(): Promise<Uint8Array<ArrayBuffer>> {
  const { outputs } = await Bun.build({
    entrypoints: [join(CONSOLE, 'main.tsx')],
    target: 'browser',
    format: 'esm',
    minify: true,
    sourcemap: 'none',
    env: 'disable',
    // Without it the development runtime of the library would be part of it.
    define: { 'process.env.NODE_ENV': '"production"' },
  });
  const [script] = outputs;
  if (script === undefined || outputs.length !== 1) {
    throw new Error(`The console must build to one script, but gave ${outputs.length}.`);
  }
  return new Uint8Array(await script.arrayBuffer());
}

function asset(name: string, extension: string, type: string, bytes: Uint8Array<ArrayBuffer>): SiteFile {
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 16);
  const path = `/console/assets/${name}.${hash}.${extension}`;
  return { path, type, bytes, isCompressible: true, isImmutable: true };
}

function pageOf(script: string, styles: string): SiteFile {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Cardvault console</title>
<link rel="icon" href="/console/assets/icon.svg">
<link rel="stylesheet" href="${styles}">
<script type="module" src="${script}"></script>
</head>
<body>
<div id="console"></div>
<noscript>This page needs JavaScript. What it does is also in the <a href="/guide">API and the command line</a>.</noscript>
</body>
</html>
`;
  const bytes = encoder.encode(html);
  return {
    ...{ path: '/console', type: 'text/html; charset=utf-8', bytes },
    ...{ isCompressible: true, isImmutable: false },
  };
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#27346b"/><path d="M8 12h16M8 12v9h16v-9M8 15.5h16" fill="none" stroke="#fff" stroke-width="2"/></svg>';

async function buildSite(): Promise<Site> {
  const script = asset('console', 'js', 'text/javascript; charset=utf-8', await buildScript());
  const css = new Uint8Array(await Bun.file(join(CONSOLE, 'styles', 'console.css')).arrayBuffer());
  const styles = asset('console', 'css', 'text/css; charset=utf-8', css);
  const icon: SiteFile = {
    ...{ path: '/console/assets/icon.svg', type: 'image/svg+xml', bytes: encoder.encode(ICON) },
    ...{ isCompressible: true, isImmutable: false },
  };
  const page = pageOf(script.path, styles.path);
  return { files: [page, script, styles, icon], missing: page };
}

const folder = folderOf('console');
const isMade = await makeArtifact({
  folder,
  // The lock file represents the packages.
  sources: [
    'console/**/*',
    'sdk/**/*.ts',
    'server/**/*schema.ts',
    'server/core/scopes.ts',
    'bun.lock',
    'scripts/site/*',
    'scripts/{artifact,build-console}.ts',
  ],
  index: INDEX,
  make: async (work) => writeSite(work, INDEX, await buildSite()),
});
if (isMade) {
  console.log(folder);
}
