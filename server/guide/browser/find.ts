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

/** A name rather than a word: a code, a setting, a status, a header. */
const NAME = /[_\d]|\w-\w/;
const LOOKED_UP = /^\/guide\/(?:errors|settings)\b/;

/**
 * Who asks for a name wants the page that explains it, before those that mention it. Who asks for a word wants what
 * is told about it, before rows of tables and the reference of the SDK, which repeat the same words again and again.
 */
const weightOf = ({ path, headings }: Found, term: string): number => {
  if (NAME.test(term)) {
    return LOOKED_UP.test(path) ? 1.5 : 1;
  }
  const isRow = !LOOKED_UP.test(path) && /^[\w.-]*[_.][\w.-]*$/.test(headings.at(-1) ?? '');
  return path.startsWith('/guide/sdk') ? 0.3 : isRow ? 0.4 : 1;
};

export type Finder = (query: string) => readonly Hit[];

/** Makes a search over everything that can be found; between pieces of the work the page answers its reader. */
export const createFinder = async (index: readonly Found[]): Promise<Finder> => {
  const engine = new MiniSearch<Doc>({
    fields: ['page', 'heading', 'text'],
    tokenize: termsOf,
    processTerm: (term) => term.toLowerCase(),
    searchOptions: {
      tokenize: wordsOf,
      boost: { heading: 4, page: 3 },
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 3 ? 0.2 : false),
      weights: { prefix: 0.4, fuzzy: 0.2 },
      boostDocument: (id, term) => {
        const found = index[id];
        return found === undefined ? 0 : weightOf(found, term);
      },
    },
  });
  await engine.addAllAsync(
    index.map(({ page, headings, text }, id) => ({ id, page, heading: headings.join(' '), text })),
    { chunkSize: 100 },
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

/** Terms are made of letters, digits, `_` and `-` alone, so that none of them means anything to a pattern. */
const patternOf = (terms: readonly string[]): RegExp =>
  new RegExp([...terms].sort((a, b) => b.length - a.length).join('|'), 'giu');

/** A text in pieces, with all marked that fitted. */
export const markedOf = (text: string, terms: readonly string[]): readonly Piece[] => {
  if (terms.length === 0) {
    return [{ text, isMarked: false }];
  }
  const pieces: Piece[] = [];
  let at = 0;
  for (const { 0: word, index } of text.matchAll(patternOf(terms))) {
    pieces.push({ text: text.slice(at, index), isMarked: false }, { text: word, isMarked: true });
    at = index + word.length;
  }
  return [...pieces, { text: text.slice(at), isMarked: false }].filter((piece) => piece.text !== '');
};

/** Cuts a text around the first word that fitted. */
export const excerptOf = (text: string, terms: readonly string[]): string => {
  const line = text.replaceAll(/\s+/g, ' ');
  const first = terms.length === 0 ? 0 : Math.max(0, line.search(patternOf(terms)));
  const from = first <= BEFORE ? 0 : line.indexOf(' ', first - BEFORE) + 1 || first;
  const end = line.length > from + LENGTH ? ' …' : '';
  return `${from > 0 ? '… ' : ''}${line.slice(from, from + LENGTH)}${end}`;
};
