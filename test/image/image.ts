import { join } from 'node:path';

const root = join(import.meta.dir, '..', '..');

/** Lays out in an empty folder what an image holds, as its build does. */
export async function layOut(folder: string): Promise<void> {
  const path = [join(process.execPath, '..'), process.env['PATH']].join(':');
  const layout = Bun.spawn(['sh', join(root, 'scripts/image-files.sh'), folder], {
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if ((await layout.exited) !== 0) {
    throw new Error('the image could not be laid out');
  }
}
