import { createHash } from 'node:crypto';
import type { ShownFormSettings } from '../../http/schema/form.ts';
import { decodeFormText } from './code.ts';

/** The owner's code in a page; each text is the complete content of one element. */
export interface FormInline {
  readonly style?: string | undefined;
  readonly callbacks: readonly string[];
  readonly script?: string | undefined;
}

/** The text as an HTML parser reads it, so that its hash is the same. */
function parsed(code: string): string {
  return code.replaceAll(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');
}

/** In strings and patterns of a script, where such text belongs, the backslash changes nothing. */
function insideScript(code: string): string {
  return code.replaceAll(/<(?=\/script)/gi, '<\\').replaceAll('<!--', '\\x3c!--');
}

function insideStyle(code: string): string {
  return code.replaceAll(/<(?=\/style)/gi, '<\\');
}

function decoded(code: string | undefined): string | undefined {
  const text = code === undefined ? undefined : decodeFormText(code);
  return text === undefined || text.trim() === '' ? undefined : parsed(text);
}

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

/** Decodes an owner's code for the page, in the form that the parser of the page reads and its policy hashes. */
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

/** The hash of an element's content for the policy: even a script of the page cannot add another element under it. */
export function hashSource(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
