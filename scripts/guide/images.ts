import { Glob } from 'bun';
import type { ImageSize } from './markdown.ts';

export interface Images {
  readonly sizes: ReadonlyMap<string, ImageSize>;
  readonly read: (path: string) => Promise<Uint8Array<ArrayBuffer>>;
}

/** Width and height follow the signature and the header of the first chunk (PNG, section 11.2.1). */
async function sizeOfPng(file: Bun.BunFile): Promise<ImageSize> {
  const head = new DataView(await file.slice(16, 24).arrayBuffer());
  return { width: head.getUint32(0), height: head.getUint32(4) };
}

/** Our drawings have their size in whole pixels on the first line. */
async function sizeOfDrawing(file: Bun.BunFile): Promise<ImageSize> {
  const { width, height } =
    /^<svg [^>]*\bwidth="(?<width>\d+)" height="(?<height>\d+)"/.exec(await file.text())?.groups ?? {};
  return { width: Number(width), height: Number(height) };
}

function sizeOf(path: string, file: Bun.BunFile): Promise<ImageSize> {
  return path.endsWith('.svg') ? sizeOfDrawing(file) : sizeOfPng(file);
}

/** Finds the images of a folder, by their paths in it. */
export async function findImages(folder: string): Promise<Images> {
  const paths = [...new Glob('**/*.{png,svg}').scanSync({ cwd: folder })];
  const sizes = await Promise.all(
    paths.map(async (path) => [path, await sizeOf(path, Bun.file(`${folder}/${path}`))] as const),
  );
  return { sizes: new Map(sizes), read: (path) => Bun.file(`${folder}/${path}`).bytes() };
}
