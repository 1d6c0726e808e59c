import type { Token, Tokens } from 'marked';
import { createAnchors } from './anchors.ts';
import { plainBlock, plainOf, plainRow } from './plain.ts';

export interface Heading {
  readonly depth: number;
  readonly anchor: string;
  readonly text: string;
}

/** A searchable part of a page: the text under a heading, or one row of a table of names. */
export interface Section {
  /** Empty for the text between the title and the first heading. */
  readonly anchor: string;
  /** The headings above it, outermost first, without the page's title. */
  readonly headings: readonly string[];
  readonly text: string;
}

/** Data about a page that the renderer needs; the tokens are the ones that it renders. */
export interface Outline {
  readonly title: string;
  readonly headings: ReadonlyMap<Token, Heading>;
  /** The anchors of names in tables: settings, error codes, fields. */
  readonly names: ReadonlyMap<Token, string>;
  /** Code blocks that show the output of the block directly before them. */
  readonly outputs: ReadonlySet<Token>;
  readonly sections: readonly Section[];
}

const RUNNABLE = /^(?:sh|ts|js|html)\b/;
const PRINTED = /^(?:json|text)\b/;

function isCode(token: Token | undefined): token is Tokens.Code {
  return token?.type === 'code';
}
function isTable(token: Token): token is Tokens.Table {
  return token.type === 'table';
}

function outputsOf(tokens: readonly Token[]): ReadonlySet<Token> {
  const blocks = tokens.filter(({ type }) => type !== 'space');
  return new Set(
    blocks.filter((block, at) => {
      const before = blocks[at - 1];
      return (
        isCode(block) && isCode(before) && PRINTED.test(block.lang ?? '') && RUNNABLE.test(before.lang ?? '')
      );
    }),
  );
}

function headingsOf(
  tokens: readonly Token[],
  anchorOf: (text: string) => string,
): ReadonlyMap<Token, Heading> {
  return new Map(
    tokens
      .filter((token): token is Tokens.Heading => token.type === 'heading')
      .map((token) => {
        const text = plainOf(token.tokens);
        return [token, { depth: token.depth, anchor: anchorOf(text), text }];
      }),
  );
}

const NAMES = /^`[A-Za-z][\w.-]{2,}`(?:, `[A-Za-z][\w.-]{2,}`)*$/;

/** The names that a row describes: in its first cell, or in the second where the first is a status. */
function namesOf([first, second]: readonly Tokens.TableCell[]): readonly Token[] {
  const cell = /^\d{3}$/.test(first?.text ?? '') ? second : first;
  return cell !== undefined && NAMES.test(cell.text)
    ? cell.tokens.filter(({ type }) => type === 'codespan')
    : [];
}

/** The headings above a heading, from those above its predecessor. */
function under(trail: readonly Heading[], heading: Heading): readonly Heading[] {
  return [...trail.filter(({ depth }) => depth < heading.depth), heading];
}

interface Part {
  readonly anchor: string;
  readonly headings: readonly string[];
  readonly texts: string[];
}

/** Derives title, anchors and searchable sections from the tokens of a file. */
export function outlineOf(tokens: readonly Token[]): Outline {
  const anchorOf = createAnchors();
  const headings = headingsOf(tokens, anchorOf);
  const names = new Map<Token, string>();
  const rows: Section[] = [];
  let trail: readonly Heading[] = [];
  let part: Part = { anchor: '', headings: [], texts: [] };
  const parts = [part];
  for (const token of tokens) {
    const heading = headings.get(token);
    if (heading !== undefined && heading.depth > 1) {
      trail = under(trail, heading);
      part = { anchor: heading.anchor, headings: trail.map(({ text }) => text), texts: [] };
      parts.push(part);
    } else if (heading === undefined) {
      part.texts.push(plainBlock(token));
    }
    for (const row of isTable(token) ? token.rows : []) {
      for (const name of namesOf(row)) {
        const text = plainOf([name]);
        const anchor = anchorOf(text);
        names.set(name, anchor);
        rows.push({ anchor, headings: [...part.headings, text], text: plainRow(row) });
      }
    }
  }
  const sections = parts
    .map(({ texts, ...rest }) => ({ ...rest, text: texts.join('\n').trim() }))
    .filter(({ text, anchor }) => text !== '' || anchor !== '');
  const title = [...headings.values()].find(({ depth }) => depth === 1)?.text ?? '';
  return { title, headings, names, outputs: outputsOf(tokens), sections: [...sections, ...rows] };
}
