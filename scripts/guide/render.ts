import { fileURLToPath } from 'node:url';
import type { Site, SiteFile } from '../site/write.ts';
import { makeAssets } from './assets.ts';
import { ENTRIES, type Entry } from './contents.ts';
import type { Found } from './found.ts';
import { findImages, type Images } from './images.ts';
import { layOut, type PageParts } from './layout.ts';
import { type RenderedPage, renderMarkdown } from './markdown.ts';
import { entryPage, missingPage, openingPage } from './pages.ts';
import { indexOf } from './search-index.ts';

const FOLDER = fileURLToPath(new URL('../../docs', import.meta.url));

function textFile(path: string, type: string, text: string): SiteFile {
  const bytes = new TextEncoder().encode(text);
  return { path, type, bytes, isCompressible: true, isImmutable: false };
}

function pageFile(path: string, html: string): SiteFile {
  return textFile(path, 'text/html; charset=utf-8', html);
}

async function imageFile(path: string, { read }: Images): Promise<SiteFile> {
  const isDrawing = path.endsWith('.svg');
  return {
    path: `/guide/${path}`,
    type: isDrawing ? 'image/svg+xml' : 'image/png',
    bytes: await read(path),
    isCompressible: isDrawing,
    isImmutable: false,
  };
}

/** Pages that come from elsewhere, and what the search finds in them. */
export interface MorePages {
  readonly pages: readonly PageParts[];
  readonly found: readonly Found[];
}

/** Renders the guide from the Markdown files and the images of `docs/`, and more pages with its layout. */
export async function renderGuide(more: MorePages): Promise<Site> {
  const images = await findImages(FOLDER);
  const { paths, files: assets } = await makeAssets();
  const rendered = await Promise.all(
    ENTRIES.map(async (entry): Promise<readonly [Entry, RenderedPage]> => {
      const text = await Bun.file(`${FOLDER}/${entry.file}`).text();
      return [entry, renderMarkdown({ file: entry.file, text, images: images.sizes })];
    }),
  );
  const pages = rendered.map(([entry, page]) =>
    pageFile(`/guide/${entry.address}`, entryPage(entry, page, paths)),
  );
  const found = [...indexOf(rendered), ...more.found];
  return {
    files: [
      pageFile('/guide', openingPage(paths)),
      ...pages,
      ...more.pages.map((page) => pageFile(page.path ?? '', layOut(page, paths))),
      textFile('/guide/search.json', 'application/json', JSON.stringify(found)),
      ...(await Promise.all([...images.sizes.keys()].map((path) => imageFile(path, images)))),
      ...assets.map((asset) => ({ ...asset, isCompressible: true, isImmutable: true })),
    ],
    missing: pageFile('/guide/missing', missingPage(paths)),
  };
}
