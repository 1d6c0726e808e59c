export type Grammar = 'bash' | 'json' | 'python' | 'typescript' | 'xml';

/** Code as HTML: escaped, with a span of a class for each highlighted token. */
export const highlight: (code: string, language: Grammar) => string;
