import type { Entry } from './contents.ts';
import type { Found } from './found.ts';
import type { RenderedPage } from './markdown.ts';

/** All entries of the search index, page by page in reading order. */
export function indexOf(pages: readonly (readonly [Entry, RenderedPage])[]): readonly Found[] {
  return pages.flatMap(([{ address, title }, { sections }]) =>
    sections.map(({ anchor, headings, text }) => ({
      path: `/guide/${address}${anchor === '' ? '' : `#${anchor}`}`,
      page: title,
      headings,
      text,
    })),
  );
}
