/**
 * Packs the SDK and the forms into `dist/packages`: `cardvault-sdk-<version>.tgz` and `cardvault-forms-<version>.tgz`, which a
 * package manager installs as they lie there, and beside them the module and types of the SDK for whoever loads these by their
 * URL. The same sources give the same bytes. With `--if-changed` it does nothing if the sources have not changed.
 *
 *     bun scripts/pack.ts [--if-changed] [FOLDER]
 */
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { $ } from 'bun';
import manifest from '../sdk/package.json';
import { folderOf, makeArtifact } from './artifact.ts';

const root = join(import.meta.dir, '..');
const TARBALL = `cardvault-sdk-${manifest.version}.tgz`;

/**
 * The environment of the compiler and the packer. `bun run start` packs too, and a hundred development packages must not see the
 * settings of a server, such as the master key.
 */
const { PATH = '', HOME = '' } = process.env;
const BARE = { PATH, HOME };

/** Compiles the SDK to both kinds of modules, with their types. */
async function buildSdk(folder: string): Promise<void> {
  const tsup = join(root, 'node_modules/tsup/dist/cli-default.js');
  await $`${process.execPath} --no-env-file ${tsup} --config sdk/tsup.config.ts --out-dir ${folder} --silent`
    .cwd(root)
    .env(BARE);
}

/** Builds the scripts of the forms, with their types. */
async function buildForms(folder: string): Promise<void> {
  await $`${process.execPath} --no-env-file scripts/build-forms.ts ${folder}`.cwd(root).env(BARE).quiet();
}

/** Assembles a package with the project's licence, and packs it; returns its folder. */
async function pack(work: string, name: 'sdk' | 'forms', build: (folder: string) => Promise<void>) {
  const staged = join(work, name);
  mkdirSync(staged);
  await build(join(staged, 'dist'));
  for (const path of [`${name}/package.json`, `${name}/README.md`, 'LICENSE']) {
    cpSync(join(root, path), join(staged, basename(path)));
  }
  await $`${process.execPath} pm pack --destination ${work}`.cwd(staged).env(BARE).quiet();
  return staged;
}

const folder = folderOf('packages');
const isMade = await makeArtifact({
  folder,
  // The lock file represents the compiler.
  sources: [
    'sdk/*.{ts,json,md}',
    'sdk/*/*.ts',
    'forms/*.{ts,json,md}',
    'forms/*/*.{ts,css}',
    'server/domain/card/*.ts',
    'server/form/schema.ts',
    'LICENSE',
    'bun.lock',
    'tsconfig.json',
    'scripts/{artifact,build-forms,pack}.ts',
  ],
  index: TARBALL,
  make: async (work) => {
    const [sdk, forms] = await Promise.all([pack(work, 'sdk', buildSdk), pack(work, 'forms', buildForms)]);
    for (const [from, to] of [
      ['index.js', 'cardvault-sdk.js'],
      ['index.d.ts', 'cardvault-sdk.d.ts'],
    ] as const) {
      cpSync(join(sdk, 'dist', from), join(work, to));
    }
    rmSync(sdk, { recursive: true });
    rmSync(forms, { recursive: true });
  },
});
if (isMade) {
  console.log(`${join(folder, TARBALL)}, ${Bun.file(join(folder, TARBALL)).size} bytes`);
}
