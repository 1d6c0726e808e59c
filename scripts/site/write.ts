/** Files of a site that the server serves as they were built, with an index of their paths. */
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { BuiltFile, BuiltSite } from '../../server/http/pages/built.ts';

/** A file to write. */
export interface SiteFile {
  /** Where it is served. */
  readonly path: string;
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isCompressible: boolean;
  /** Whether its path contains the hash of its bytes. */
  readonly isImmutable: boolean;
}

/** All files of a site, and the page for unknown paths. */
export interface Site {
  readonly files: readonly SiteFile[];
  readonly missing: SiteFile;
}

/** The path without the common prefix, flattened; the hash keeps names unique. */
function nameOf({ path, type }: SiteFile, tag: string): string {
  const extension = type.startsWith('text/html') ? '.html' : extname(path);
  const stem = path
    .replace(/^\/\w+\/?(?:assets\/(?:\w+\/)?)?/, '')
    .slice(0, extension === '.html' ? undefined : -extension.length);
  return `${(stem || 'index').replaceAll('/', '-')}.${tag.slice(0, 16)}${extension}`;
}

async function writeFile(folder: string, file: SiteFile): Promise<BuiltFile> {
  const { type, bytes, isCompressible, isImmutable } = file;
  const tag = new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32);
  const name = nameOf(file, tag);
  await Bun.write(join(folder, name), bytes);
  if (isCompressible) {
    await Bun.write(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  }
  return { name, type, tag, isCompressed: isCompressible, isImmutable };
}

/** Writes the files of a site, each also compressed where that helps, and then the index. */
export async function writeSite(folder: string, index: string, { files, missing }: Site): Promise<void> {
  const entries = await Promise.all(
    files.map(async (file) => [file.path, await writeFile(folder, file)] as const),
  );
  const built: BuiltSite = {
    files: Object.fromEntries(entries),
    missing: await writeFile(folder, missing),
  };
  await Bun.write(join(folder, index), `${JSON.stringify(built, null, 2)}\n`);
}
