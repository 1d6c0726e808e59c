/**
 * Packs the SDK into `dist/sdk`: `cardvault-sdk-<version>.tgz`, which a package manager installs as it lies there, and
 * beside it its module and types for whoever loads these by their URL. The same sources give the same bytes. With
 * `--if-changed` it does nothing if the sources have not changed.
 *
 *     bun scripts/pack-sdk.ts [--if-changed] [FOLDER]
 */
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { $ } from 'bun';
import manifest from '../sdk/package.json';
import { folderOf, makeArtifact } from './artifact.ts';

const root = join(import.meta.dir, '..');
const TARBALL = `cardvault-sdk-${manifest.version}.tgz`;

/**
 * The environment of the compiler and the packer. `bun run start` packs the SDK too, and a hundred development packages
 * must not see the settings of a server, such as the master key.
 */
const { PATH = '', HOME = '' } = process.env;
const BARE = { PATH, HOME };

/** Compiles both kinds of modules and their types. */
async function build(folder: string): Promise<void> {
  const tsup = join(root, 'node_modules/tsup/dist/cli-default.js');
  await $`${process.execPath} --no-env-file ${tsup} --config sdk/tsup.config.ts --out-dir ${folder} --silent`
    .cwd(root)
    .env(BARE);
}

/** Assembles the package with the project's licence, and packs it. */
async function pack(work: string): Promise<void> {
  const staged = join(work, 'package');
  mkdirSync(staged);
  await build(join(staged, 'dist'));
  for (const path of ['sdk/package.json', 'sdk/README.md', 'LICENSE']) {
    cpSync(join(root, path), join(staged, basename(path)));
  }
  await $`${process.execPath} pm pack --destination ${work}`.cwd(staged).env(BARE).quiet();
  for (const [from, to] of [
    ['index.js', 'cardvault-sdk.js'],
    ['index.d.ts', 'cardvault-sdk.d.ts'],
  ] as const) {
    cpSync(join(staged, 'dist', from), join(work, to));
  }
  rmSync(staged, { recursive: true });
}

const folder = folderOf('sdk');
const isMade = await makeArtifact({
  folder,
  // The lock file represents the compiler.
  sources: [
    'sdk/*.{ts,json,md}',
    'sdk/*/*.ts',
    'LICENSE',
    'bun.lock',
    'tsconfig.json',
    'scripts/{artifact,pack-sdk}.ts',
  ],
  index: TARBALL,
  make: pack,
});
if (isMade) {
  console.log(`${join(folder, TARBALL)}, ${Bun.file(join(folder, TARBALL)).size} bytes`);
}
