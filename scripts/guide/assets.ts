import { fileURLToPath } from 'node:url';
import type { AssetPaths } from './layout.ts';

/** A file that pages load. Its path contains the hash of its bytes. */
export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface Assets {
  readonly paths: AssetPaths;
  readonly files: readonly Asset[];
}

/** A card with a keyhole; the stroke follows the colours of the system. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><style>rect{fill:#1b1b1b}g{fill:#fff}@media(prefers-color-scheme:dark){rect{fill:#e7e7e7}g{fill:#0f0f0f}}</style><rect x="2" y="6" width="28" height="20" rx="4"/><g><circle cx="16" cy="14" r="3"/><path d="M14.8 15h2.4l1 6h-4.4z"/></g></svg>
`;

function here(path: string): URL {
  return new URL(path, import.meta.url);
}

async function buildScript(name: 'early' | 'main'): Promise<Uint8Array<ArrayBuffer>> {
  const { outputs } = await Bun.build({
    entrypoints: [fileURLToPath(here(`browser/${name}.ts`))],
    target: 'browser',
    format: name === 'main' ? 'esm' : 'iife',
    minify: true,
    sourcemap: 'none',
    // The environment of the build must not change its output.
    env: 'disable',
  });
  const [output] = outputs;
  if (output === undefined || outputs.length !== 1) {
    throw new Error(`a script of the guide must build to one file, but gave ${outputs.length}`);
  }
  return new Uint8Array(await output.arrayBuffer());
}

function assetOf(name: string, type: string, bytes: Uint8Array<ArrayBuffer>): Asset {
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 16);
  return { path: `/guide/assets/${hash}/${name}`, type, bytes };
}

/** In this order: of two rules with the same specificity the later one applies, and `screens` overrides the others. */
const STYLES = ['base', 'article', 'code', 'contents', 'headings', 'search', 'screens'];

async function joinStyles(): Promise<Uint8Array<ArrayBuffer>> {
  const texts = await Promise.all(STYLES.map((name) => Bun.file(here(`styles/${name}.css`)).text()));
  return new TextEncoder().encode(texts.join('\n'));
}

/** Joins the style sheets and bundles the browser script, in memory. */
export async function makeAssets(): Promise<Assets> {
  const [styles, early, script] = await Promise.all([
    joinStyles(),
    buildScript('early'),
    buildScript('main'),
  ]);
  const style = assetOf('guide.css', 'text/css; charset=utf-8', styles);
  const first = assetOf('early.js', 'text/javascript; charset=utf-8', early);
  const program = assetOf('guide.js', 'text/javascript; charset=utf-8', script);
  const icon = assetOf('icon.svg', 'image/svg+xml', new TextEncoder().encode(ICON));
  return {
    paths: { styles: style.path, early: first.path, script: program.path, icon: icon.path },
    files: [style, first, program, icon],
  };
}
