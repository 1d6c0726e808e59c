import { fileURLToPath } from 'node:url';
import { makeAssets } from './assets.ts';
import { ENTRIES, type Entry } from './contents.ts';
import { findImages } from './images.ts';
import { keep } from './keep.ts';
import { type RenderedPage, renderMarkdown } from './markdown.ts';
import { entryPage, missingPage, openingPage } from './pages.ts';
import { indexOf } from './search-index.ts';

const FOLDER = fileURLToPath(new URL('../../docs', import.meta.url));
const ADDRESSES = new Map(ENTRIES.map((entry) => [entry.address, entry]));

/** Something that the guide answers with. */
export interface Leaf {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Whether its path is never the path of other bytes. */
  readonly isForEver: boolean;
  /** Whether it takes fewer bytes when packed. */
  readonly isPackable: boolean;
}

/** The guide: everything in it is made when it is first asked for, from the Markdown files of `docs/` alone. */
export interface Guide {
  /** What lies at a path, such as `/guide/capture`; undefined where there is nothing. */
  readonly find: (path: string) => Promise<Leaf | undefined>;
  /** The page for paths where there is nothing. */
  readonly missing: () => Promise<Leaf>;
}

const leafOf = (type: string, text: string): Leaf => ({
  type,
  bytes: new TextEncoder().encode(text),
  isForEver: false,
  isPackable: true,
});
const pageOf = (html: string): Leaf => leafOf('text/html; charset=utf-8', html);

/** Opens the guide. Nothing is read before somebody asks, and paths are only ever looked up, never opened. */
export const createGuide = (): Guide => {
  const assets = keep((_: 'assets') => makeAssets());
  const images = keep((_: 'images') => findImages(FOLDER));
  const rendered = keep(async ({ file }: Entry): Promise<RenderedPage> => {
    const text = await Bun.file(`${FOLDER}/${file}`).text();
    return renderMarkdown({ file, text, images: (await images('images')).sizes });
  });
  const index = async (): Promise<Leaf> => {
    const all: (readonly [Entry, RenderedPage])[] = [];
    for (const entry of ENTRIES) {
      // One after another: between two of them the server answers others.
      all.push([entry, await rendered(entry)]);
    }
    return leafOf('application/json', JSON.stringify(indexOf(all)));
  };
  const imageAt = async (path: string): Promise<Leaf | undefined> => {
    const { sizes, read } = await images('images');
    if (!sizes.has(path)) {
      return undefined;
    }
    const isDrawing = path.endsWith('.svg');
    const type = isDrawing ? 'image/svg+xml' : 'image/png';
    return { type, bytes: await read(path), isForEver: false, isPackable: isDrawing };
  };

  return {
    missing: async () => pageOf(missingPage((await assets('assets')).paths)),
    find: async (path) => {
      const { paths, files } = await assets('assets');
      if (path === '/guide') {
        return pageOf(openingPage(paths));
      }
      const address = path.slice('/guide/'.length);
      const entry = ADDRESSES.get(address);
      if (entry !== undefined) {
        return pageOf(entryPage(entry, await rendered(entry), paths));
      }
      if (address === 'search.json') {
        return index();
      }
      const asset = files.find((file) => file.path === path);
      return asset === undefined ? imageAt(address) : { ...asset, isForEver: true, isPackable: true };
    },
  };
};
