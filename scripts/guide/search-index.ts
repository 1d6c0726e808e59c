import type { Entry } from './contents.ts';
import type { Found } from './found.ts';
import type { RenderedPage } from './markdown.ts';

/** Everything that search can find, page by page in the order of reading. */
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
