/** One thing that search can find, as the browser gets it. */
export interface Found {
  /** The path of the page, with the anchor of the place in it. */
  readonly path: string;
  /** What the contents call the page. */
  readonly page: string;
  /** The headings that the place stands under; empty for the beginning of a page. */
  readonly headings: readonly string[];
  readonly text: string;
}
