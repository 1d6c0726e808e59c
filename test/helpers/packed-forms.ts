/** The package of the forms, built, packed and installed as its page says, with React beside it. */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './packed-sdk.ts';

const ROOT = join(import.meta.dir, '..', '..');
/** Packages for a merchant's page with React, in the project's versions. */
const REACT = {
  react: import.meta.resolve('react/package.json'),
  'react-dom': import.meta.resolve('react-dom/package.json'),
  '@types/react': import.meta.resolve('@types/react/package.json'),
  '@types/react-dom': import.meta.resolve('@types/react-dom/package.json'),
};

/** Installs the package with npm into an empty folder. No registry is asked: it needs nothing, and React is optional. */
export async function installForms(folder: string): Promise<void> {
  const staged = join(folder, 'staged');
  await run([process.execPath, 'scripts/build-forms.ts', join(staged, 'dist')], ROOT);
  cpSync(join(ROOT, 'forms/package.json'), join(staged, 'package.json'));
  await run(['npm', 'install', '--install-links', '--offline', '--no-audit', '--no-fund', staged], folder);
  mkdirSync(join(folder, 'node_modules/@types'));
  for (const [name, path] of Object.entries(REACT)) {
    symlinkSync(dirname(fileURLToPath(path)), join(folder, 'node_modules', name));
  }
}
