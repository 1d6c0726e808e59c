import { Marked, type RendererObject, type Tokens } from 'marked';
import { escapeHtml } from '../domain/form-page.ts';
import { renderCode } from './code.ts';
import { hrefOf, imageOf } from './links.ts';
import { type Heading, type Outline, outlineOf, type Section } from './outline.ts';

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** A Markdown file, and what it is rendered with. */
export interface MarkdownSource {
  /** Its path in `docs/`. */
  readonly file: string;
  readonly text: string;
  /** The sizes of images by their path in `docs/`. */
  readonly images: ReadonlyMap<string, ImageSize>;
}

/** A Markdown file as HTML, with what else is known of it. */
export interface RenderedPage {
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly Section[];
}

const parts = ({ file, images }: MarkdownSource, outline: Outline): RendererObject => ({
  heading(token) {
    const html = this.parser.parseInline(token.tokens);
    const { anchor, text } = outline.headings.get(token) ?? {};
    if (anchor === undefined || token.depth === 1) {
      return `<h${token.depth}>${html}</h${token.depth}>\n`;
    }
    const label = escapeHtml(`Link to “${text}”`);
    return `<h${token.depth} id="${anchor}">${html}<a class="anchor" href="#${anchor}" aria-label="${label}">#</a></h${token.depth}>\n`;
  },
  code: (token) =>
    renderCode({ text: token.text, info: token.lang ?? '', isOutput: outline.outputs.has(token) }),
  codespan(token) {
    const anchor = outline.names.get(token);
    const id = anchor === undefined ? '' : ` id="${anchor}"`;
    return `<code${id}>${escapeHtml(token.text)}</code>`;
  },
  link({ href, tokens }) {
    const html = this.parser.parseInline(tokens);
    const target = hrefOf(file, href);
    return target === undefined ? html : `<a href="${escapeHtml(target)}">${html}</a>`;
  },
  image({ href, text }) {
    const image = imageOf(file, href);
    const size = image === undefined ? undefined : images.get(image);
    return size === undefined
      ? escapeHtml(text)
      : `<img src="/guide/${image}" alt="${escapeHtml(text)}" width="${size.width}" height="${size.height}" loading="lazy">`;
  },
  table({ header, rows }) {
    const line = (cells: readonly Tokens.TableCell[]): string =>
      `<tr>${cells.map((cell) => this.tablecell(cell)).join('')}</tr>\n`;
    return `<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n<thead>${line(header)}</thead>\n<tbody>${rows.map(line).join('')}</tbody>\n</table></div>\n`;
  },
  // What looks like HTML is shown as it was written; comments are for whoever edits the file.
  html: ({ text }) => (/^\s*<!--.*-->\s*$/s.test(text) ? '' : escapeHtml(text)),
});

/** Renders one file. All of its text is escaped: nothing that a file says becomes markup but Markdown's own. */
export const renderMarkdown = (source: MarkdownSource): RenderedPage => {
  const marked = new Marked({ gfm: true });
  const tokens = marked.lexer(source.text);
  const outline = outlineOf(tokens);
  marked.use({ renderer: parts(source, outline) });
  const { title, sections } = outline;
  const headings = [...outline.headings.values()].filter(({ depth }) => depth > 1);
  return { title, html: marked.parser(tokens), headings, sections };
};
