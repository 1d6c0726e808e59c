import { type Beside, CONTENTS, ENTRIES, type Entry, type Group } from './contents.ts';
import type { Heading } from './outline.ts';

function pathOf({ address }: Entry): string {
  return `/guide/${address}`;
}

function holds(entry: Entry, address: string | undefined): boolean {
  return entry.address === address || entry.pages.some((page) => page.address === address);
}

function item(entry: Entry, address: string | undefined): string {
  const current = entry.address === address ? ' aria-current="page"' : '';
  const isOpen = entry.pages.length > 0 && holds(entry, address);
  return `<li><a href="${pathOf(entry)}"${current}>${Bun.escapeHTML(entry.title)}</a>${isOpen ? list(entry.pages, address) : ''}</li>`;
}

function list(entries: readonly Entry[], address: string | undefined, more = ''): string {
  return `<ul>${entries.map((entry) => item(entry, address)).join('')}${more}</ul>`;
}

function link({ path, title }: Beside): string {
  return `<a href="${path}">${Bun.escapeHTML(title)}</a>`;
}

function group({ title, entries, beside = [] }: Group, address: string | undefined): string {
  return `<h2>${Bun.escapeHTML(title)}</h2>${list(entries, address, beside.map((each) => `<li>${link(each)}</li>`).join(''))}`;
}

/** The table of contents, with the current page marked. */
export function contentsHtml(address: string | undefined): string {
  return CONTENTS.map((each) => group(each, address)).join('\n');
}

/** Links to the headings of a page; empty for a page with fewer than two. */
export function headingsHtml(headings: readonly Heading[]): string {
  const links = headings
    .filter(({ depth }) => depth <= 3)
    .map(
      ({ depth, anchor, text }) =>
        `<li class="depth-${depth}"><a href="#${anchor}">${Bun.escapeHTML(text)}</a></li>`,
    );
  return links.length < 2 ? '' : `<ul>${links.join('')}</ul>`;
}

function neighbour(entry: Entry | undefined, rel: 'prev' | 'next'): string {
  return entry === undefined
    ? ''
    : `<a rel="${rel}" href="${pathOf(entry)}"><span>${rel === 'prev' ? 'Previous' : 'Next'}</span>${Bun.escapeHTML(entry.title)}</a>`;
}

/** Links to the previous and the next page, in reading order. */
export function neighboursHtml(entry: Entry): string {
  const at = ENTRIES.indexOf(entry);
  const links = neighbour(ENTRIES[at - 1], 'prev') + neighbour(ENTRIES[at + 1], 'next');
  return `<nav class="neighbours" aria-label="Neighbouring pages">${links}</nav>`;
}

/** All pages with what they are about: the start page of the guide. */
export function overviewHtml(): string {
  return CONTENTS.map(({ title, entries, beside = [] }) => {
    const places = [...entries.map((entry) => ({ ...entry, path: pathOf(entry) })), ...beside];
    const cards = places.map((place) => `<li>${link(place)}<p>${Bun.escapeHTML(place.about)}</p></li>`);
    return `<h2>${Bun.escapeHTML(title)}</h2>\n<ul class="cards">${cards.join('')}</ul>`;
  }).join('\n');
}
