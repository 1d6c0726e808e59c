/**
 * Builds the guide that the server serves under `/guide` into `dist/guide`: pages, search index and assets, each also
 * compressed, with the hash of its bytes in its name, and `guide.json`, which maps paths to files. With `--if-changed`
 * it does nothing if the sources have not changed.
 *
 *     bun scripts/build-guide.ts [--if-changed] [FOLDER]
 */
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { BuiltFile, BuiltGuide } from '../server/http/pages/guide.ts';
import { folderOf, makeArtifact } from './artifact.ts';
import { type Guide, type GuideFile, renderGuide } from './guide/render.ts';

const INDEX = 'guide.json';

/** The path without the common prefix, flattened; the hash keeps names unique. */
function nameOf({ path, type }: GuideFile, tag: string): string {
  const extension = type.startsWith('text/html') ? '.html' : extname(path);
  const stem = path
    .replace(/^\/guide\/?(?:assets\/\w+\/)?/, '')
    .slice(0, extension === '.html' ? undefined : -extension.length);
  return `${(stem || 'index').replaceAll('/', '-')}.${tag.slice(0, 16)}${extension}`;
}

async function writeFile(folder: string, file: GuideFile): Promise<BuiltFile> {
  const { type, bytes, isCompressible, isImmutable } = file;
  const tag = new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32);
  const name = nameOf(file, tag);
  await Bun.write(join(folder, name), bytes);
  if (isCompressible) {
    await Bun.write(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  }
  return { name, type, tag, isCompressed: isCompressible, isImmutable };
}

async function writeGuide(folder: string, { files, missing }: Guide): Promise<void> {
  const entries = await Promise.all(
    files.map(async (file) => [file.path, await writeFile(folder, file)] as const),
  );
  const built: BuiltGuide = {
    files: Object.fromEntries(entries),
    missing: await writeFile(folder, missing),
  };
  await Bun.write(join(folder, INDEX), `${JSON.stringify(built, null, 2)}\n`);
}

const folder = folderOf('guide');
const isMade = await makeArtifact({
  folder,
  // The lock file represents the packages.
  sources: ['docs/**/*.{md,png,svg}', 'scripts/guide/**/*', 'bun.lock', 'scripts/{artifact,build-guide}.ts'],
  index: INDEX,
  make: async (work) => writeGuide(work, await renderGuide()),
});
if (isMade) {
  console.log(folder);
}
