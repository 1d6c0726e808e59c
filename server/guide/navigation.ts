import { escapeHtml } from '../domain/form-page.ts';
import { CONTENTS, ENTRIES, type Entry, type Group } from './contents.ts';
import type { Heading } from './outline.ts';

const pathOf = ({ address }: Entry): string => `/guide/${address}`;

const holds = (entry: Entry, address: string | undefined): boolean =>
  entry.address === address || entry.pages.some((page) => page.address === address);

const item = (entry: Entry, address: string | undefined): string => {
  const current = entry.address === address ? ' aria-current="page"' : '';
  const link = `<a href="${pathOf(entry)}"${current}>${escapeHtml(entry.title)}</a>`;
  const isOpen = entry.pages.length > 0 && holds(entry, address);
  return `<li>${link}${isOpen ? list(entry.pages, address) : ''}</li>`;
};

const list = (entries: readonly Entry[], address: string | undefined, more = ''): string =>
  `<ul>${entries.map((entry) => item(entry, address)).join('')}${more}</ul>`;

/** The reference of the HTTP API is no page of the guide, and is listed with what one looks up. */
const API = '<li><a href="/docs">HTTP API</a></li>';

const group = ({ title, entries }: Group, address: string | undefined): string =>
  `<h2>${escapeHtml(title)}</h2>${list(entries, address, title === 'Reference' ? API : '')}`;

/** The table of contents, with the page at an address marked. */
export const contentsHtml = (address: string | undefined): string =>
  CONTENTS.map((each) => group(each, address)).join('\n');

/** Links to the headings of a page, or nothing where there are too few to choose from. */
export const headingsHtml = (headings: readonly Heading[]): string => {
  const links = headings
    .filter(({ depth }) => depth <= 3)
    .map(
      ({ depth, anchor, text }) =>
        `<li class="depth-${depth}"><a href="#${anchor}">${escapeHtml(text)}</a></li>`,
    );
  return links.length < 2 ? '' : `<ul>${links.join('')}</ul>`;
};

const neighbour = (entry: Entry | undefined, rel: 'prev' | 'next'): string =>
  entry === undefined
    ? ''
    : `<a rel="${rel}" href="${pathOf(entry)}"><span>${rel === 'prev' ? 'Previous' : 'Next'}</span>${escapeHtml(entry.title)}</a>`;

/** Links to the pages before and behind one, in the order of reading. */
export const neighboursHtml = (entry: Entry): string => {
  const at = ENTRIES.indexOf(entry);
  const links = neighbour(ENTRIES[at - 1], 'prev') + neighbour(ENTRIES[at + 1], 'next');
  return `<nav class="neighbours" aria-label="Neighbouring pages">${links}</nav>`;
};

/** All pages with what they are about: what the guide opens with. */
export const overviewHtml = (): string =>
  CONTENTS.map(({ title, entries }) => {
    const cards = entries.map(
      (entry) =>
        `<li><a href="${pathOf(entry)}">${escapeHtml(entry.title)}</a><p>${escapeHtml(entry.about)}</p></li>`,
    );
    const api =
      title === 'Reference'
        ? '<li><a href="/docs">HTTP API</a><p>Every route, to read and to try</p></li>'
        : '';
    return `<h2>${escapeHtml(title)}</h2>\n<ul class="cards">${cards.join('')}${api}</ul>`;
  }).join('\n');
