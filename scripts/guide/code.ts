import { type Grammar, highlight } from './highlighter.js';

interface Language {
  readonly grammar: Grammar;
  readonly label: string;
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  sh: { grammar: 'bash', label: 'Shell' },
  bash: { grammar: 'bash', label: 'Shell' },
  console: { grammar: 'bash', label: 'Terminal' },
  ts: { grammar: 'typescript', label: 'TypeScript' },
  js: { grammar: 'typescript', label: 'JavaScript' },
  json: { grammar: 'json', label: 'JSON' },
  html: { grammar: 'xml', label: 'HTML' },
  xml: { grammar: 'xml', label: 'XML' },
  python: { grammar: 'python', label: 'Python' },
};

/** A block of code, and whether it is what the block before it prints. */
export interface CodeBlock {
  readonly text: string;
  /** What stands behind the fence: a language, and the name of the file, or of the program or page that this is the output of. */
  readonly info: string;
  readonly isOutput: boolean;
}

function labelOf({ info, isOutput }: CodeBlock): string {
  const [language = '', name] = info.split(/\s+/);
  if (name !== undefined && language === 'text') {
    return name.startsWith('http') ? `${name} shows` : `${name} prints`;
  }
  if (name !== undefined) {
    return name;
  }
  return isOutput ? 'Output' : (LANGUAGES[language]?.label ?? 'Text');
}

/** A block as HTML: its label, and its text with every character escaped and the words of its language marked. */
export function renderCode(block: CodeBlock): string {
  const language = LANGUAGES[block.info.split(/\s+/)[0] ?? ''];
  const html = language === undefined ? Bun.escapeHTML(block.text) : highlight(block.text, language.grammar);
  const label = Bun.escapeHTML(labelOf(block));
  const kind = block.isOutput ? 'code output' : 'code';
  // A box that scrolls must be reached with the keyboard, and a place that is reached needs a name.
  return `<figure class="${kind}"><figcaption>${label}</figcaption><pre tabindex="0" role="group" aria-label="${label}"><code>${html}\n</code></pre></figure>\n`;
}
