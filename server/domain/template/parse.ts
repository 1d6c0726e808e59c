import Mustache, { type TemplateSpans } from 'mustache';
import { VaultError } from '../../core/errors.ts';
import { countSteps, type Path, parseSteps } from '../json/path.ts';

/** Literal text, a value, or a section with its parts. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string; readonly bytes: number }
  | { readonly kind: 'value' | 'raw'; readonly path: Path }
  | { readonly kind: 'section' | 'inverted'; readonly path: Path; readonly parts: readonly TemplatePart[] };

/** A parsed template: plain data, for any number of renderings. */
export interface Template {
  readonly parts: readonly TemplatePart[];
  /** The first character of the template's own text that is not white space; empty if there is none. */
  readonly firstCharacter: string;
}

const SECTION_LEVELS_MAX = 32;
const NAME = /^[^{}]{1,1024}$/;
const NAME_STEPS_MAX = 64;
/** The patterns of the parser take quadratic time for a run of spaces in a tag. */
const SPACES_IN_TAG = /\s{65}/;

function invalid(): VaultError {
  return new VaultError('invalid_request');
}

/** Rejects templates that are slow to parse, and tags that change the delimiters. */
function checkTags(text: string): void {
  for (let open = text.indexOf('{{'); open >= 0; ) {
    const kind = /\S/g;
    kind.lastIndex = open + 2;
    const first = kind.exec(text);
    const closing = first?.[0] === '{' ? '}}}' : '}}';
    const end = first === null ? -1 : text.indexOf(closing, first.index);
    if (end < 0 || first?.[0] === '=' || SPACES_IN_TAG.test(text.slice(open, end))) {
      throw invalid();
    }
    open = text.indexOf('{{', end + closing.length);
  }
}

function parseName(name: string): Path {
  if (!NAME.test(name) || countSteps(name) > NAME_STEPS_MAX) {
    throw invalid();
  }
  return name === '.' ? undefined : parseSteps(name);
}

/** Converts the tokens of the parser, with a limit for nested sections. */
function toParts(tokens: TemplateSpans, levelsLeft: number): TemplatePart[] {
  const parts: TemplatePart[] = [];
  for (const [type, value, , , inner] of tokens) {
    if (type === 'text') {
      parts.push({ kind: 'text', text: value, bytes: Buffer.byteLength(value) });
    } else if (type === 'name' || type === '&') {
      parts.push({ kind: type === '&' ? 'raw' : 'value', path: parseName(value) });
    } else if (type === '#' || type === '^') {
      if (levelsLeft <= 0) {
        throw invalid();
      }
      const path = parseName(value);
      const kind = type === '#' ? 'section' : 'inverted';
      parts.push({ kind, path, parts: toParts(Array.isArray(inner) ? inner : [], levelsLeft - 1) });
    }
  }
  return parts;
}

function firstCharacterOf(parts: readonly TemplatePart[]): string {
  for (const part of parts) {
    const inner = 'parts' in part ? firstCharacterOf(part.parts) : '';
    const first = part.kind === 'text' ? part.text.trimStart().charAt(0) : inner;
    if (first !== '') {
      return first;
    }
  }
  return '';
}

function parseTokens(text: string): TemplateSpans {
  const writer = new Mustache.Writer();
  // The cache would keep every template forever; its type does not allow to disable it.
  Object.assign(writer, { templateCache: undefined });
  try {
    return writer.parse(text);
  } catch {
    throw invalid();
  }
}

/**
 * Parses a mustache template: `{{name}}`, `{{a.b}}`, `{{{raw}}}`, `{{& raw}}`, `{{.}}`, `{{#section}}`, `{{^inverted}}`,
 * `{{! comment}}`. Partials (`{{> name}}`) render nothing. Throws `invalid_request` (callers add the place) for unclosed
 * or crossed tags, empty names, changed delimiters, more than 32 nested sections, and text that is not well-formed
 * Unicode.
 */
export function parseTemplate(text: string): Template {
  if (!text.isWellFormed()) {
    throw invalid();
  }
  checkTags(text);
  const parts = toParts(parseTokens(text), SECTION_LEVELS_MAX);
  return { parts, firstCharacter: firstCharacterOf(parts) };
}
