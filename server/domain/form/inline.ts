import { createHash } from 'node:crypto';
import type { ShownFormSettings } from '../../http/schema/form.ts';
import { decodeFormText } from './code.ts';

/** The owner's code as it stands in a page, each text the whole content of one element. */
export interface FormInline {
  readonly style?: string | undefined;
  readonly callbacks: readonly string[];
  readonly script?: string | undefined;
}

/** What a parser of HTML makes of a text before anybody hashes it: the same text for both. */
const parsed = (code: string): string => code.replaceAll(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');

/** In strings and patterns of a script, where such text belongs, the backslash changes nothing. */
const insideScript = (code: string): string =>
  code.replaceAll(/<(?=\/script)/gi, '<\\').replaceAll('<!--', '\\x3c!--');

const insideStyle = (code: string): string => code.replaceAll(/<(?=\/style)/gi, '<\\');

const decoded = (code: string | undefined): string | undefined => {
  const text = code === undefined ? undefined : decodeFormText(code);
  return text === undefined || text.trim() === '' ? undefined : parsed(text);
};

const DROPPED = new Set([' ', '\t', '\n', '\f', ';']);

/** Without the blanks and semicolons at its end, in one walk: a pattern would look at each of them again and again. */
function withoutEnd(code: string): string {
  let end = code.length;
  while (end > 0 && DROPPED.has(code.charAt(end - 1))) {
    end -= 1;
  }
  return code.slice(0, end);
}

/** A line break ends a last comment; the function is called by what the page finds under this name. */
function callbackOf(name: 'success' | 'error', code: string | undefined): string[] {
  const text = decoded(code);
  return text === undefined
    ? []
    : [insideScript(`(window.vaultCallbacks??={}).${name}=(\n${withoutEnd(text)}\n);`)];
}

/** An owner's code as the page holds it and as its policy knows it. */
export function inlineOf(settings: ShownFormSettings): FormInline {
  const style = decoded(settings.embedded_css);
  const script = decoded(settings.embedded_js);
  return {
    style: style && insideStyle(style),
    callbacks: [
      ...callbackOf('success', settings.success_callback),
      ...callbackOf('error', settings.error_callback),
    ],
    script: script && insideScript(script),
  };
}

/** How a policy names the content of an element: nobody can add another one under it, not even a script of the page. */
export const hashSource = (content: string): string =>
  `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
