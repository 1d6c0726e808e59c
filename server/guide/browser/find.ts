/** What a search finds: the part that needs no page. */
import MiniSearch from 'minisearch';
import type { Found } from '../found.ts';

/** One place that was found, and the words of its text that fitted. */
export interface Hit {
  readonly found: Found;
  readonly terms: readonly string[];
}

const HITS_MAX = 20;
const WORD = /[\p{L}\p{N}_-]+/gu;
const PART = /\p{Lu}?[\p{Ll}\p{N}]+|\p{Lu}+(?!\p{Ll})/gu;

const wordsOf = (text: string): string[] =>
  [...text.matchAll(WORD)].map(([word]) => word.replaceAll(/^-+|-+$/g, '')).filter((word) => word !== '');

/** A name is found as a whole (`endpoint_gone`, `decryptAll`) and by its parts. */
const termsOf = (text: string): string[] =>
  wordsOf(text).flatMap((word) => {
    const parts = [...word.matchAll(PART)].map(([part]) => part);
    return parts.length > 1 ? [word, ...parts] : [word];
  });

interface Doc {
  readonly id: number;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** The pages that one looks names up in come before those that mention them. */
const LOOKED_UP = /^\/guide\/(?:errors|settings|sdk)\b/;

/** Makes a search over everything that can be found. */
export const createFinder = (index: readonly Found[]): ((query: string) => readonly Hit[]) => {
  const engine = new MiniSearch<Doc>({
    fields: ['page', 'heading', 'text'],
    tokenize: termsOf,
    processTerm: (term) => term.toLowerCase(),
    searchOptions: {
      tokenize: wordsOf,
      boost: { heading: 4, page: 2 },
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 3 ? 0.2 : false),
      weights: { prefix: 0.4, fuzzy: 0.2 },
      boostDocument: (id) => (LOOKED_UP.test(index[id]?.path ?? '') ? 1.5 : 1),
    },
  });
  engine.addAll(
    index.map(({ page, headings, text }, id) => ({ id, page, heading: headings.join(' '), text })),
  );
  return (query) => {
    const all = engine.search(query, { combineWith: 'AND' });
    const some = all.length > 0 ? all : engine.search(query, { combineWith: 'OR' });
    return some.slice(0, HITS_MAX).flatMap(({ id, terms }) => {
      const found = index[id];
      return found === undefined ? [] : [{ found, terms }];
    });
  };
};

/** A piece of a text, and whether it is to be marked. */
export interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

const BEFORE = 50;
const LENGTH = 200;

const patternOf = (terms: readonly string[]): RegExp =>
  new RegExp(
    [...terms]
      .sort((a, b) => b.length - a.length)
      .map((term) => term.replaceAll(/[^\p{L}\p{N}_]/gu, '\\$&'))
      .join('|'),
    'giu',
  );

/** Cuts a text around the first word that fitted, and marks all that did. */
export const excerptOf = (text: string, terms: readonly string[]): readonly Piece[] => {
  const line = text.replaceAll(/\s+/g, ' ');
  const pattern = patternOf(terms);
  const first = terms.length === 0 ? 0 : Math.max(0, line.search(pattern));
  const from = first <= BEFORE ? 0 : line.indexOf(' ', first - BEFORE) + 1 || first;
  const cut = `${from > 0 ? '… ' : ''}${line.slice(from, from + LENGTH)}${line.length > from + LENGTH ? ' …' : ''}`;
  if (terms.length === 0) {
    return [{ text: cut, isMarked: false }];
  }
  const pieces: Piece[] = [];
  let at = 0;
  for (const { 0: word, index } of cut.matchAll(pattern)) {
    pieces.push({ text: cut.slice(at, index), isMarked: false }, { text: word, isMarked: true });
    at = index + word.length;
  }
  return [...pieces, { text: cut.slice(at), isMarked: false }].filter((piece) => piece.text !== '');
};
