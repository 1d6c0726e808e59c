/** Pieces of HTML that pages of the API consist of, with the classes of the guide. */
import { renderMarkdown } from '../guide/markdown.ts';

/** Renders a text of the document. */
export function proseOf(text: string): string {
  return renderMarkdown({ file: '', text, images: new Map() }).html;
}

/** A table with a name for those who hear it; nothing where it has no rows. */
export function tableOf(
  label: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[], name: 'th' | 'td'): string =>
    `<tr>${cells.map((cell) => `<${name}>${cell}</${name}>`).join('')}</tr>\n`;
  return rows.length === 0
    ? ''
    : `<div class="table" tabindex="0" role="group" aria-label="${Bun.escapeHTML(label)}"><table>\n<thead>${line(head, 'th')}</thead>\n<tbody>${rows.map((cells) => line(cells, 'td')).join('')}</tbody>\n</table></div>\n`;
}

/** A heading with a link to itself. */
export function headingOf(anchor: string, text: string): string {
  const shown = Bun.escapeHTML(text);
  return `<h2 id="${anchor}">${shown}<a class="anchor" href="#${anchor}" aria-label="Link to “${shown}”">#</a></h2>\n`;
}
