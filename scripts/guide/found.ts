/** One entry of the search index, as the browser loads it. */
export interface Found {
  /** The path of the page, with the anchor of the section. */
  readonly path: string;
  /** The title of the page in the contents. */
  readonly page: string;
  /** The headings above the section, outermost first; empty for the start of a page. */
  readonly headings: readonly string[];
  readonly text: string;
}
