import { JsonNumber, type JsonValue, stringifyJson } from '../json/json.ts';
import { type Path, readPath } from '../json/path.ts';
import type { Template, TemplatePart } from './parse.ts';

/** Converts values to text that is safe at its position, for one rendering. */
export interface TemplateEscape {
  /** The output for `{{name}}`; undefined is a missing value. */
  readonly insert: (value: JsonValue | undefined) => string;
  /** Receives all unescaped output, in order, so that `insert` knows its position. */
  readonly pass?: (text: string) => void;
}

/** The caller's limits; each function throws the caller's error when the limit is exceeded. */
export interface TemplateMeter {
  /** Counts tags, looked-up levels and section iterations. */
  readonly spend: (steps: number) => void;
  /** Counts bytes of output (UTF-8) before they are added. */
  readonly write: (bytes: number) => void;
}

interface Frame {
  readonly value: JsonValue;
  readonly outer: Frame | undefined;
}

interface Rendering {
  readonly escape: TemplateEscape;
  readonly meter: TemplateMeter;
  output: string;
}

/** Literals with the value zero. */
const FALSY_NUMBER = /^-?[0.]+(?:[eE]|$)/;

/** The text of a value without a format: null and missing values are empty, objects and arrays are JSON. */
export function plainText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) {
    return '';
  }
  return typeof value === 'string' ? value : stringifyJson(value);
}

/** The value of a name in the innermost frame that has it. Without a path (`.`) it is the value of the frame. */
function lookUp(path: Path, frames: Frame, meter: TemplateMeter): JsonValue | undefined {
  if (path === undefined) {
    return frames.value;
  }
  for (let frame: Frame | undefined = frames; frame !== undefined; frame = frame.outer) {
    meter.spend(1);
    const value = readPath(frame.value, path);
    if (value !== undefined) {
      return value;
    }
  }
  return undefined;
}

/** Tells whether a section with this value is skipped, as in mustache.js. */
function isFalsy(value: JsonValue | undefined): boolean {
  return (
    value === undefined ||
    value === null ||
    value === false ||
    value === '' ||
    (value instanceof JsonNumber && FALSY_NUMBER.test(value.text)) ||
    (Array.isArray(value) && value.length === 0)
  );
}

function emit(rendering: Rendering, text: string, bytes: number): void {
  rendering.meter.write(bytes);
  rendering.output += text;
}

function renderPart(rendering: Rendering, part: TemplatePart, frames: Frame): void {
  if (part.kind === 'text') {
    rendering.escape.pass?.(part.text);
    emit(rendering, part.text, part.bytes);
    return;
  }
  const value = lookUp(part.path, frames, rendering.meter);
  if (part.kind === 'section' || part.kind === 'inverted') {
    if (isFalsy(value) === (part.kind === 'section')) {
      return;
    }
    const isFrame = part.kind === 'section' && value !== true;
    for (const item of Array.isArray(value) && isFrame ? value : [value]) {
      renderParts(rendering, part.parts, isFrame ? { value: item ?? null, outer: frames } : frames);
    }
    return;
  }
  const text = part.kind === 'raw' ? plainText(value) : rendering.escape.insert(value);
  if (part.kind === 'raw') {
    rendering.escape.pass?.(text);
  }
  emit(rendering, text, Buffer.byteLength(text));
}

function renderParts(rendering: Rendering, parts: readonly TemplatePart[], frames: Frame): void {
  rendering.meter.spend(1 + parts.length);
  for (const part of parts) {
    renderPart(rendering, part, frames);
  }
}

/** The first name outside of sections that the data does not have; undefined when it has all. */
export function findMissing({ parts }: Template, view: JsonValue): string | undefined {
  for (const part of parts) {
    const path = part.kind === 'value' || part.kind === 'raw' ? part.path : undefined;
    if (path !== undefined && readPath(view, path) === undefined) {
      return path.rest;
    }
  }
  return undefined;
}

/**
 * Fills a template from a JSON value. Dotted names follow the rules of `readPath`; a name that the innermost section
 * does not have is searched in the outer ones. Sections follow mustache.js: missing values, null, false, 0, empty texts
 * and empty arrays are false, arrays repeat, other values are rendered once.
 */
export function renderTemplate(
  template: Template,
  view: JsonValue,
  {
    outer,
    ...options
  }: {
    readonly escape: TemplateEscape;
    readonly meter: TemplateMeter;
    /** Fallback for names that the value does not have. */
    readonly outer?: JsonValue | undefined;
  },
): string {
  const rendering: Rendering = { ...options, output: '' };
  const frame = outer === undefined ? undefined : { value: outer, outer: undefined };
  renderParts(rendering, template.parts, { value: view, outer: frame });
  return rendering.output;
}
