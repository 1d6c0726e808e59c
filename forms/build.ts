/** Builds the scripts of the hosted forms for browsers: for the server at its start, and for the published package. */
import { join } from 'node:path';
import manifest from './package.json';
import { pageStyles } from './styles/styles.macro.ts';

/** One script as it is served. The same sources always result in the same bytes. */
export interface FormBundle {
  readonly name: string;
  readonly text: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** `sha384-…`, for the integrity attribute of a script tag. */
  readonly integrity: string;
}

/** All scripts of one build. */
export interface FormBundles {
  /** The version of the package and eight hex digits that change with any byte of any script. */
  readonly version: string;
  readonly files: readonly FormBundle[];
  /** The hash source of the styles that the page's script adds: `'sha256-…'`. */
  readonly styles: string;
}

interface Entry {
  readonly name: string;
  readonly source: string;
  readonly format: 'esm' | 'iife';
}

/** The scripts and their sources. */
const ENTRIES: readonly Entry[] = [
  { name: 'vault-forms.js', source: 'index.ts', format: 'esm' },
  { name: 'vault-forms.global.js', source: 'global.ts', format: 'iife' },
  { name: 'vault-form-page.js', source: 'page.ts', format: 'iife' },
  { name: 'vault-element.js', source: 'element-page.ts', format: 'iife' },
];

/**
 * Builds the scripts in memory, in less than a second. It writes nothing and reads only the sources of this
 * project. Rejects with the message of the compiler if they do not compile.
 */
export async function buildForms(): Promise<FormBundles> {
  const files = await Promise.all(ENTRIES.map((entry) => buildBundle(entry)));
  const hash = new Bun.CryptoHasher('sha256').update(pageStyles()).digest('base64');
  return { version: `${manifest.version}-${fingerprintOf(files)}`, files, styles: `'sha256-${hash}'` };
}

/** Builds the React entry of the package. It imports the module from `vault-forms.js` in its folder. */
export function buildReact(): Promise<FormBundle> {
  return buildBundle(
    { name: 'react.js', source: 'react.ts', format: 'esm' },
    {
      // Elements are made in browsers, never by React's server components.
      banner: "'use client';",
      external: ['react'],
      plugins: [
        {
          name: 'module beside',
          setup: (build) =>
            void build.onResolve({ filter: /^\.\/index\.js$/ }, () => ({
              path: './vault-forms.js',
              external: true,
            })),
        },
      ],
    },
  );
}

/** Builds one script, minified and without a source map. */
async function buildBundle(
  { name, source, format }: Entry,
  more: Partial<Bun.BuildConfig> = {},
): Promise<FormBundle> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, source)],
    root: import.meta.dir,
    target: 'browser',
    format,
    minify: true,
    sourcemap: 'none',
    // The environment must not change the result.
    env: 'disable',
    ...more,
  });
  const [output] = outputs;
  if (output === undefined || outputs.length !== 1) {
    throw new Error(`${source} must build to one script, but gave ${outputs.length}`);
  }
  const bytes = new Uint8Array(await output.arrayBuffer());
  const integrity = `sha384-${new Bun.CryptoHasher('sha384').update(bytes).digest('base64')}`;
  return { name, text: new TextDecoder().decode(bytes), bytes, integrity };
}

/** A short hash over all scripts. */
function fingerprintOf(files: readonly FormBundle[]): string {
  const hasher = new Bun.CryptoHasher('sha256');
  for (const { name, integrity } of files) {
    hasher.update(`${name} ${integrity}\n`);
  }
  return hasher.digest('hex').slice(0, 8);
}
