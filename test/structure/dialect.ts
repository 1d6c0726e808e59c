/** Phrases of comments that a reader must decode, each with the pattern that finds it. */
import ts from 'typescript';
import type { Sources } from './source.ts';

/** A pattern is held against one comment at a time, its lines joined by spaces. */
const PATTERNS: Readonly<Record<string, RegExp>> = {
  'begins with a question word':
    /(?:^|[.:;] )(?:What|Who|Whoever|Whose|Whether|Where|How|Those|Somebody|Nobody)\b(?![^.]*\?)/g,
  'whoever, nobody, somebody': /\b(?:who|what)ever\b|\b(?:no|some|any)body\b/gi,
  'of its own': /\bof (?:its|his|her|their|our) own\b/gi,
  'beside, behind': /\b(?:beside|behind)\b/gi,
  'in hand, comes to nothing': /\bin hand\b|\b(?:comes?|came) to nothing\b|\bpower cut\b|\bwhat remains\b/gi,
  'door, gate, turn, fair share': /\b(?:doors?|gates?|fair share)\b|\b(?:a|its|their|his|in) turn\b/gi,
  refusal: /\brefusals?\b|\brefus(?:es|ed|e)\b/gi,
  'look at, renew, strange': /\blook(?:s|ed)? at\b|\brenew(?:s|ed)?\b|\bstrange\b/gi,
  'people for programs': /\b(?:tell|tells|told|ask|asks|asked) (?:the|a|an|its|by|for|us|it|them)\b/gi,
};

/** Texts of all comments of a TypeScript or Lua file. */
export function commentsOf(path: string, text: string): string[] {
  if (path.endsWith('.lua')) {
    return [...text.matchAll(/(?:^[ \t]*--.*\n?)+/gm)].map(([found]) => plain(found, /^[ \t]*--+[ \t]?/gm));
  }
  const found: string[] = [];
  const tree = ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true);
  const seen = new Set<number>();
  const visit = (node: ts.Node): void => {
    const ranges = [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.getEnd()) ?? []),
    ];
    for (const range of ranges) {
      if (!seen.has(range.pos)) {
        seen.add(range.pos);
        found.push(plain(text.slice(range.pos, range.end), /^[ \t]*(?:\/\*\*?|\*\/|\*|\/\/)[ \t]?/gm));
      }
    }
    node.getChildren().forEach(visit);
  };
  visit(tree);
  return found;
}

function plain(comment: string, lead: RegExp): string {
  return comment
    .replace(lead, '')
    .replace(/\s*\*\/$/, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** How often each pattern fits the comments of the files. */
export function countDialect(files: Sources): Record<string, number> {
  const comments = [...files].flatMap(([path, text]) => commentsOf(path, text));
  return Object.fromEntries(
    Object.entries(PATTERNS).map(([name, pattern]) => [
      name,
      comments.reduce((sum, comment) => sum + [...comment.matchAll(pattern)].length, 0),
    ]),
  );
}

if (import.meta.main) {
  const paths = process.argv
    .slice(2)
    .flatMap((scope) => [...new Bun.Glob(`${scope}/**/*.{ts,lua}`).scanSync('.')]);
  for (const path of paths) {
    const found = commentsOf(path, await Bun.file(path).text());
    for (const comment of found) {
      const names = Object.entries(PATTERNS).filter(([, pattern]) => comment.search(pattern) >= 0);
      if (names.length > 0) {
        console.log(`${path}: ${names.map(([name]) => `[${name}]`).join(' ')} ${comment}`);
      }
    }
  }
}
