/** The search itself, without the page around it. */
import MiniSearch from 'minisearch';
import type { Found } from '../found.ts';

/** One result, and the terms that matched in it. */
export interface Hit {
  readonly found: Found;
  readonly terms: readonly string[];
}

const HITS_MAX = 20;
const WORD = /[\p{L}\p{N}_-]+/gu;
const PART = /\p{Lu}?[\p{Ll}\p{N}]+|\p{Lu}+(?!\p{Ll})/gu;

function wordsOf(text: string): string[] {
  return [...text.matchAll(WORD)]
    .map(([word]) => word.replaceAll(/^-+|-+$/g, ''))
    .filter((word) => word !== '');
}

/** A name is indexed as a whole (`endpoint_gone`, `decryptAll`) and by its parts. */
function termsOf(text: string): string[] {
  return wordsOf(text).flatMap((word) => {
    const parts = [...word.matchAll(PART)].map(([part]) => part);
    return parts.length > 1 ? [word, ...parts] : [word];
  });
}

/** Stop words: ignored in a query unless it has no others. */
const SMALL = new Set(
  'a an and are as at be by can do does for from has have how i if in is it me my of on or the to was we what when where which why with you your'.split(
    ' ',
  ),
);

/** What people ask for in other words than the pages have. */
const SAME: Readonly<Record<string, readonly string[]>> = {
  accessed: ['log'],
  adyen: ['relay'],
  arabic: ['locale'],
  backend: ['SDK'],
  branding: ['theme', 'logo_image'],
  brand: ['theme'],
  braintree: ['relay'],
  card: ['item'],
  cors: ['origins', 'origin'],
  cron: ['sweep'],
  'credit-card': ['item'],
  cursor: ['next_token'],
  customise: ['theme'],
  docker: ['image'],
  french: ['locale'],
  gateway: ['relay', 'proxy'],
  gdpr: ['erase'],
  german: ['locale'],
  'high-availability': ['cluster', 'Sentinel'],
  hsm: ['PKCS'],
  iframe: ['forms'],
  kms: ['master'],
  login: ['sign-in'],
  logo: ['logo_image'],
  paging: ['next_token'],
  pagination: ['next_token'],
  postgres: ['Redis'],
  psp: ['relay', 'proxy'],
  'self-signed': ['authorities'],
  sentry: ['traces'],
  spanish: ['locale'],
  stripe: ['relay'],
  timeout: ['timeoutMs', 'deadline'],
  translate: ['locale'],
  translation: ['locale'],
  vgs: ['relay', 'proxy'],
};

/** The words of a query to search for. */
function askedOf(query: string): string[] {
  const words = wordsOf(query);
  const asked = words.filter((word) => !SMALL.has(word.toLowerCase()));
  return asked.length > 0 ? asked : words;
}

/** A name, not a word: an error code, a setting, a status, a header, a call of the SDK. */
const NAME = /[_\d]|\w-\w|\p{Ll}\p{Lu}/u;

/** Stems words, so that deleting, deleted and delete are equal; names stay whole. */
function stemOf(term: string): string {
  const word = term.toLowerCase();
  return NAME.test(word) ? word : word.replace(/^(.{3,}?)(?:ing|ed|es|e|s)$/u, '$1');
}

/** A word is indexed as it is written and by its stem: `stripe` and `strip` share a stem, and are not the same. */
function formsOf(term: string): string[] {
  const [word, stem] = [term.toLowerCase(), stemOf(term)];
  return word === stem ? [word] : [word, stem];
}

/** What a word as it is written counts besides its stem. */
const WRITTEN_BOOST = 0.3;
/** A shorter stem begins too many other words. */
const STEM_PREFIX_MIN = 5;
/** Shorter words are not corrected: most have another word next to them. */
const FUZZY_LENGTH_MIN = 7;

interface Doc {
  readonly id: number;
  readonly page: string;
  readonly heading: string;
  readonly text: string;
}

/** Pages for developers of the vault, ranked lower. */
const ASIDE = /^\/guide\/(?:decisions|architecture|storage|testing|performance)\b/;
const LOOKED_UP = /^\/guide\/(?:errors|settings)\b/;
/** Lists of calls, which repeat the words of the guides. */
const CALLS = /^\/(?:guide\/sdk|docs)\b/;

/** A row of a table of names has its name in one of the first two cells. */
function isRow({ headings, text }: Found): boolean {
  const [name = ''] = headings.slice(-1);
  const cells = text.split(' · ');
  return name !== '' && cells.length > 1 && cells.slice(0, 2).some((cell) => cell.includes(name));
}

/**
 * The weight of an entry. For a name, pages that explain it rank above pages that mention it. For a word, the page with
 * that title ranks first; names that contain the word, rows of tables and lists of calls rank lower, because they
 * repeat the same words.
 */
function weightOf(found: Found, term: string, isNameAsked: boolean): number {
  const { path, page, headings } = found;
  if (isNameAsked) {
    return LOOKED_UP.test(path) ? 1.5 : isRow(found) ? 0.6 : 1;
  }
  const isAside = ASIDE.test(path);
  if (!isAside && headings.length === 0 && wordsOf(page).some((word) => formsOf(word).includes(term))) {
    return 4;
  }
  const isName = isRow(found) || NAME.test(headings.at(-1) ?? '');
  return (isName ? 0.15 : 1) * (CALLS.test(path) ? 0.3 : isAside ? 0.5 : 1);
}

export type Finder = (query: string) => readonly Hit[];

/** Builds the search over an index, in chunks, so that the page stays responsive. */
export async function createFinder(index: readonly Found[]): Promise<Finder> {
  const engine = new MiniSearch<Doc>({
    fields: ['page', 'heading', 'text'],
    tokenize: termsOf,
    processTerm: formsOf,
    searchOptions: {
      tokenize: wordsOf,
      boost: { heading: 4, page: 3 },
      fuzzy: (term) => (term.length >= FUZZY_LENGTH_MIN ? 0.2 : false),
      weights: { prefix: 0.4, fuzzy: 0.2 },
    },
  });
  await engine.addAllAsync(
    index.map(({ page, headings, text }, id) => ({ id, page, heading: headings.join(' '), text })),
    { chunkSize: 100 },
  );
  return (query) => {
    const asked = askedOf(query);
    const names = asked.filter((word) => NAME.test(word));
    const isNameAsked = names.length > 0;
    const boostDocument = (id: number, term: string): number => {
      const found = index[id];
      // `decryptAll` is the call, `DecryptAll` the shape of its options: a name is meant as it is written.
      const isWritten = names.some((name) => found?.headings.at(-1)?.includes(name));
      return found === undefined ? 0 : weightOf(found, term, isNameAsked) * (isWritten ? 2 : 1);
    };
    const queries = asked.map((word) => {
      const [written = word, stem] = formsOf(word);
      const others = SAME[written] ?? SAME[stem ?? written] ?? [];
      return {
        combineWith: 'OR' as const,
        queries: [word, ...others],
        boostTerm: (term: string) => (stem !== undefined && term === written ? WRITTEN_BOOST : 1),
        prefix: (term: string) => term.length >= (term === stem ? STEM_PREFIX_MIN : 2),
      };
    });
    const all = engine.search({ combineWith: 'AND', queries }, { boostDocument });
    const some = all.length > 0 ? all : engine.search({ combineWith: 'OR', queries }, { boostDocument });
    return some.slice(0, HITS_MAX).flatMap(({ id, terms }) => {
      const found = index[id];
      return found === undefined ? [] : [{ found, terms }];
    });
  };
}

/** A piece of a text, and whether it is highlighted. */
export interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

const BEFORE = 50;
const LENGTH = 200;

/** Terms consist of letters, digits, `_` and `-` only, so they need no escaping in a pattern. */
function patternOf(terms: readonly string[]): RegExp {
  return new RegExp(
    [...terms]
      .sort((a, b) => b.length - a.length)
      .map((term) => `${term}\\p{L}*`)
      .join('|'),
    'giu',
  );
}

/** Splits a text into pieces, with all matches highlighted. */
export function markedOf(text: string, terms: readonly string[]): readonly Piece[] {
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
}

/** Cuts a text around its first match. */
export function excerptOf(text: string, terms: readonly string[]): string {
  const line = text.replaceAll(/\s+/g, ' ');
  const first = terms.length === 0 ? 0 : Math.max(0, line.search(patternOf(terms)));
  const from = first <= BEFORE ? 0 : line.indexOf(' ', first - BEFORE) + 1 || first;
  const end = line.length > from + LENGTH ? ' …' : '';
  return `${from > 0 ? '… ' : ''}${line.slice(from, from + LENGTH)}${end}`;
}
