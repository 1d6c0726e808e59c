/** The package of the forms, packed and installed as its page says, with React beside it. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import manifest from '../../forms/package.json';
import { packAll, run } from './packages.ts';

/** Packages for a merchant's page with React, in the project's versions. */
const REACT = {
  react: import.meta.resolve('react/package.json'),
  'react-dom': import.meta.resolve('react-dom/package.json'),
  '@types/react': import.meta.resolve('@types/react/package.json'),
  '@types/react-dom': import.meta.resolve('@types/react-dom/package.json'),
};

/** Installs the package with npm into an empty folder. No registry is asked: it needs nothing, and React is optional. */
export async function installForms(folder: string): Promise<void> {
  const tarball = join(await packAll(), `cardvault-forms-${manifest.version}.tgz`);
  await run(['npm', 'install', '--offline', '--no-audit', '--no-fund', tarball], folder);
  mkdirSync(join(folder, 'node_modules/@types'));
  for (const [name, path] of Object.entries(REACT)) {
    symlinkSync(dirname(fileURLToPath(path)), join(folder, 'node_modules', name));
  }
}
