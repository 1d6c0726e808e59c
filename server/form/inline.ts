import { createHash } from 'node:crypto';
import type { ShownFormSettings } from './schema.ts';
import { decodeFormText } from './settings.ts';

/** The owner's code in a form page; each text is the complete content of one element. */
export interface FormInline {
  readonly style?: string | undefined;
  readonly callbacks: readonly string[];
  readonly script?: string | undefined;
}

/** The text as an HTML parser reads it, so that its hash is equal. */
function parsed(code: string): string {
  return code.replaceAll(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');
}

/**
 * Escapes what would end a script element. In strings and patterns, where such text occurs, the backslash changes
 * nothing.
 */
function insideScript(code: string): string {
  return code.replaceAll(/<(?=\/script)/gi, '<\\').replaceAll('<!--', '\\x3c!--');
}

/** Escapes what would end a style element. */
function insideStyle(code: string): string {
  return code.replaceAll(/<(?=\/style)/gi, '<\\');
}

/** The decoded text, undefined if it is empty. */
function decoded(code: string | undefined): string | undefined {
  const text = code === undefined ? undefined : decodeFormText(code);
  return text === undefined || text.trim() === '' ? undefined : parsed(text);
}

const DROPPED = new Set([' ', '\t', '\n', '\f', ';']);

/** Removes blanks and semicolons at the end in one pass; a pattern would take quadratic time. */
function withoutEnd(code: string): string {
  let end = code.length;
  while (end > 0 && DROPPED.has(code.charAt(end - 1))) {
    end -= 1;
  }
  return code.slice(0, end);
}

/**
 * A script that stores the owner's function under a name that the page calls. The line break ends a trailing comment.
 */
function callbackOf(name: 'success' | 'error', code: string | undefined): string[] {
  const text = decoded(code);
  return text === undefined
    ? []
    : [insideScript(`(window.vaultCallbacks??={}).${name}=(\n${withoutEnd(text)}\n);`)];
}

/** Decodes the owner's code for the page, in the form that the parser reads and the policy hashes. */
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

/**
 * The hash of an element's content for the policy (CSP level 3). Not even a script of the page can then add another
 * element.
 */
export function hashSource(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
