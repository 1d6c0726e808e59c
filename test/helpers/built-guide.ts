import { join } from 'node:path';
import { run } from './packages.ts';

const root = join(import.meta.dir, '..', '..');

/** Builds the guide that the server shows, where its sources have changed. */
export async function buildGuide(): Promise<void> {
  await run([process.execPath, join(root, 'scripts/build-guide.ts'), '--if-changed'], root);
}
