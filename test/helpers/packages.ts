/** The SDK as it is published: packed, and installed as a merchant does. */
import { join } from 'node:path';
import manifest from '../../sdk/package.json';

const root = join(import.meta.dir, '..', '..');
const PACKED = join(root, 'dist/packages');

/** Runs a command and returns its output. Throws with the output if it fails. */
export async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) {
    throw new Error(`${command.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  }
  return stdout;
}

/** Packs SDK and forms where their sources have changed, and gives the folder with the tarballs and the module. */
export async function packAll(): Promise<string> {
  await run([process.execPath, join(root, 'scripts/pack.ts'), '--if-changed'], root);
  return PACKED;
}

/** Installs the tarball with npm into a folder that may be empty. No registry is asked: it depends on nothing. */
export async function installSdk(folder: string): Promise<void> {
  const tarball = join(await packAll(), `cardvault-sdk-${manifest.version}.tgz`);
  await run(['npm', 'install', '--offline', '--no-audit', '--no-fund', tarball], folder);
}
