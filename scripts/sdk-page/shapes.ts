/** The shapes that options and results are made of: each once, at the end of the page. */
import ts from 'typescript';
import { linkTo, membersTable, table } from './markdown.ts';
import type { Source } from './source.ts';
import { anchorOf } from './type-text.ts';

/** Shapes that have a page of their own. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  ErrorCode: 'Every code has its place in [the list of errors](errors.md).',
};

const LINK = /\]\(#([\w-]+)\)/g;

const shapeText = (source: Source, symbol: ts.Symbol): string[] => {
  const type = source.typeOf(symbol);
  const { text, examples: _ } = source.commentOf(symbol);
  const elsewhere = ELSEWHERE[symbol.name];
  if (elsewhere !== undefined) {
    return [text, elsewhere];
  }
  const literals = source.literalsOf(symbol);
  if (literals.length > 0) {
    const rows = literals.map(([literal, comment]) => [`\`${literal}\``, comment]);
    return [text, table(['Value', 'What it means'], rows)];
  }
  const value = source.anyMemberOf(type);
  if (value !== undefined) {
    return [text, `An object whose members have any name, each a ${source.linked([value])}.`];
  }
  if (type.isUnion() && type.types.some((each) => source.anyMemberOf(each) !== undefined)) {
    return [text];
  }
  const named = type.isUnion() ? type.types.flatMap((each) => source.nameOf(each) ?? []) : [];
  return named.length > 0
    ? [text, `One of ${named.map(linkTo).join(', ')}.`]
    : [text, membersTable(source.membersOf(type))];
};

/** The sections of all shapes that these parts have a link to, and of those that they lead to, by name. */
export const shapesText = (source: Source, parts: readonly string[]): string[] => {
  const headings = new Set(parts.flatMap((part) => /^#+ (.*)$/.exec(part)?.[1] ?? []).map(anchorOf));
  const byAnchor = new Map(
    [...source.exports]
      .map(([name, symbol]) => [anchorOf(name), symbol] as const)
      .filter(([anchor, { flags }]) => flags & ts.SymbolFlags.Type && !headings.has(anchor)),
  );
  const told = new Map<string, string[]>();
  const waiting = [...parts];
  for (let text = waiting.pop(); text !== undefined; text = waiting.pop()) {
    for (const [, anchor = ''] of text.matchAll(LINK)) {
      const symbol = byAnchor.get(anchor);
      if (symbol !== undefined && !told.has(symbol.name)) {
        const section = shapeText(source, symbol);
        told.set(symbol.name, [`### ${symbol.name}`, ...section]);
        waiting.push(...section);
      }
    }
  }
  const sections = [...told].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, section]) => section);
  return ['## Shapes', ...sections];
};
