/**
 * Packs the SDK into `dist/sdk`: `cardvault-sdk-<version>.tgz`, which a package manager installs as it lies there, and
 * beside it its module and types for whoever loads these by their URL. The same sources give the same bytes. With
 * `--if-changed` it does nothing where the folder is of these very sources.
 *
 *     bun scripts/pack-sdk.ts [--if-changed] [FOLDER]
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { $, Glob } from 'bun';
import manifest from '../sdk/package.json';

const root = join(import.meta.dir, '..');
const TARBALL = `cardvault-sdk-${manifest.version}.tgz`;
/** Says what the files beside it were made of; written last. */
const STAMP = 'sources.sha256';
/** All that a change of can change the package. The lock file stands for the compiler. */
const SOURCES = [
  'sdk/{*,calls/*,transport/*,webhook/*}.{ts,json,md}',
  'LICENSE',
  'bun.lock',
  'tsconfig.json',
  'scripts/pack-sdk.ts',
];

const fingerprint = async (): Promise<string> => {
  const paths = SOURCES.flatMap((pattern) => [...new Glob(pattern).scanSync(root)]).sort();
  const hasher = new Bun.CryptoHasher('sha256').update(Bun.version);
  for (const path of paths) {
    hasher.update(`\n${path}\n`).update(await Bun.file(join(root, path)).bytes());
  }
  return hasher.digest('hex');
};

/**
 * All that the compiler and the packer are told of the surroundings. A start packs the SDK as well, and the settings of a
 * server, the master key among them, are nothing that a hundred packages for development need to see.
 */
const { PATH = '', HOME = '' } = process.env;
const BARE = { PATH, HOME };

/** Compiles both kinds of modules and their types. */
const build = async (folder: string): Promise<void> => {
  const tsup = join(root, 'node_modules/tsup/dist/cli-default.js');
  await $`${process.execPath} --no-env-file ${tsup} --config sdk/tsup.config.ts --out-dir ${folder} --silent`
    .cwd(root)
    .env(BARE);
};

/** Lays the package out as it is published, with the project's own licence, and packs it. */
const pack = async (work: string): Promise<void> => {
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
};

/** Puts the files where they belong, each in one step, so that somebody who reads meanwhile has whole ones. */
const publish = async (work: string, folder: string, made: string): Promise<void> => {
  const names = readdirSync(work);
  for (const name of names) {
    renameSync(join(work, name), join(folder, name));
  }
  for (const old of new Glob('*.tgz').scanSync(folder)) {
    if (old !== TARBALL) {
      rmSync(join(folder, old));
    }
  }
  await Bun.write(join(folder, STAMP), `${made}\n`);
};

const folder = process.argv.slice(2).find((argument) => !argument.startsWith('-')) ?? join(root, 'dist/sdk');
const made = await fingerprint();
const stamp = Bun.file(join(folder, STAMP));
const isPacked = (await stamp.exists()) && (await stamp.text()).trim() === made;
if (!isPacked || !process.argv.includes('--if-changed')) {
  mkdirSync(folder, { recursive: true });
  // Beside the files, as nothing can be moved between file systems in one step.
  const work = mkdtempSync(join(folder, '.making-'));
  try {
    await pack(work);
    await publish(work, folder, made);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  console.log(`${join(folder, TARBALL)}, ${Bun.file(join(folder, TARBALL)).size} bytes`);
}
