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
  javascript: { grammar: 'typescript', label: 'JavaScript' },
  json: { grammar: 'json', label: 'JSON' },
  html: { grammar: 'xml', label: 'HTML' },
  xml: { grammar: 'xml', label: 'XML' },
  python: { grammar: 'python', label: 'Python' },
};

/** A code block, and whether it shows the output of the block before it. */
export interface CodeBlock {
  readonly text: string;
  /** The info string of the fence: a language, then a file name, or the program or page whose output this is. */
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

/** A block as HTML: its label, and its escaped and highlighted text. */
export function renderCode(block: CodeBlock): string {
  const language = LANGUAGES[block.info.split(/\s+/)[0] ?? ''];
  const html = language === undefined ? Bun.escapeHTML(block.text) : highlight(block.text, language.grammar);
  const label = Bun.escapeHTML(labelOf(block));
  const kind = block.isOutput ? 'code output' : 'code';
  // A scrolling box must be focusable with the keyboard, and a focusable element needs a name.
  return `<figure class="${kind}"><figcaption>${label}</figcaption><pre tabindex="0" role="group" aria-label="${label}"><code>${html}\n</code></pre></figure>\n`;
}
