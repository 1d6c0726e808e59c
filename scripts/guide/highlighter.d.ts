export type Grammar = 'bash' | 'json' | 'python' | 'typescript' | 'xml';

/** Code as HTML: every character that could be markup is escaped, and words stand in spans by their kind. */
export const highlight: (code: string, language: Grammar) => string;
