import { isMaskedNumberName, isSadName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';

/** How a value is masked: all but the last four non-space characters, or every character. */
type Style = 'last_four' | 'whole';

type StyleOf = (name: string) => Style | undefined;

const VISIBLE = 4;
const SPACE = 0x20;

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Whether the unit at `at` is the second half of a character outside the basic plane. */
function endsPair(text: string, at: number): boolean {
  return isLowSurrogate(text.charCodeAt(at)) && at > 0 && isHighSurrogate(text.charCodeAt(at - 1));
}

/** Where the part begins that stays visible: before the fourth-last non-space character, or at 0. */
function visibleFrom(text: string): number {
  let at = text.length;
  for (let visible = 0; at > 0 && visible < VISIBLE; ) {
    at -= endsPair(text, at - 1) ? 2 : 1;
    if (text.charCodeAt(at) !== SPACE) {
      visible++;
    }
  }
  return at;
}

/** One `*` for each code point before `end`, with the spaces kept. */
function starsUpTo(text: string, end: number): string {
  let stars = '';
  let run = 0;
  for (let at = 0; at < end; at++) {
    if (text.charCodeAt(at) === SPACE) {
      stars += `${'*'.repeat(run)} `;
      run = 0;
    } else if (!endsPair(text, at)) {
      run++;
    }
  }
  return stars + '*'.repeat(run);
}

/**
 * Masks a text: every non-space character becomes `*` except the last four non-space characters; spaces (U+0020)
 * stay. Characters are code points. A text of four or fewer non-space characters therefore stays as it is, which
 * is why codes such as a cvv are masked whole instead ({@link maskWhole}).
 */
export function maskText(text: string): string {
  const from = visibleFrom(text);
  return from === 0 ? text : starsUpTo(text, from) + text.slice(from);
}

/** Masks a text whole: one `*` for each code point, spaces included. */
export function maskWhole(text: string): string {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    if (!endsPair(text, at)) {
      count++;
    }
  }
  return '*'.repeat(count);
}

/** Masks a value, and all that it contains in the style for `within`; codes below it are masked whole. */
function maskValue(value: JsonValue, style: Style, within: Style): JsonValue {
  if (value === null) {
    return null;
  }
  if (value instanceof Map) {
    for (const [name, member] of value) {
      const inner = isSadName(name) ? 'whole' : within;
      value.set(name, maskValue(member, inner, inner));
    }
    return value;
  }
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      value[at] = maskValue(item, within, within);
    }
    return value;
  }
  const text = value instanceof JsonNumber ? value.text : String(value);
  return style === 'whole' ? maskWhole(text) : maskText(text);
}

/** Masks the members, at any depth, that `styleOf` names; `within`: the style of what such a member contains. */
function maskNamed(value: JsonValue, styleOf: StyleOf, within?: Style): void {
  if (value instanceof Map) {
    for (const [name, member] of value) {
      const style = styleOf(name);
      if (style !== undefined) {
        value.set(name, maskValue(member, style, within ?? style));
      } else if (typeof member === 'object') {
        maskNamed(member, styleOf, within);
      }
    }
  } else if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === 'object') {
        maskNamed(item, styleOf, within);
      }
    }
  }
}

const forcedStyle: StyleOf = (name) =>
  isMaskedNumberName(name) ? 'last_four' : isSadName(name) ? 'whole' : undefined;

/**
 * Masks what an account without unmasked output never sees: the number names and `pan` but for their last four
 * characters, sensitive authentication data whole, at any depth. Names compare without regard to case, since
 * `CVV` contains the same as `cvv`. Numbers and booleans become the masked string of their text, all that a
 * nested value contains is masked whole, null stays null. Changes the given tree in place and returns it.
 */
export function maskForced(value: JsonObject): JsonObject {
  // A number cut into a list of short pieces would show each of them.
  maskNamed(value, forcedStyle, 'whole');
  return value;
}

function isIndex(name: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(name);
}

function childOf(parent: JsonValue | undefined, name: string): JsonValue | undefined {
  if (parent instanceof Map) {
    return parent.get(name);
  }
  return Array.isArray(parent) && isIndex(name) ? parent[Number(name)] : undefined;
}

/** Masks the one place that a dotted path reaches, if it is there. */
function maskPath(root: JsonObject, path: string): void {
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  let parent: JsonValue | undefined = root;
  for (const step of steps) {
    parent = childOf(parent, step);
  }
  const value = childOf(parent, last);
  if (value === undefined) {
    return;
  }
  const style = isSadName(last) || steps.some(isSadName) ? 'whole' : 'last_four';
  const masked = maskValue(value, style, style);
  if (parent instanceof Map) {
    parent.set(last, masked);
  } else if (Array.isArray(parent)) {
    parent[Number(last)] = masked;
  }
}

/**
 * Masks the fields that a caller names (`mask_fields`): a plain name masks every member of exactly that name at
 * any depth, a dotted path the one place it reaches (`card.number`, `cards.0.number`). Members that contain sensitive
 * authentication data are masked whole, all others but for their last four characters; unknown fields are
 * ignored. Changes the given tree in place and returns it.
 */
export function maskFields(value: JsonObject, fields: readonly string[]): JsonObject {
  if (fields.length === 0) {
    return value;
  }
  const names = new Set(fields);
  maskNamed(value, (name) => (names.has(name) ? (isSadName(name) ? 'whole' : 'last_four') : undefined));
  for (const field of names) {
    if (field.includes('.')) {
      maskPath(value, field);
    }
  }
  return value;
}
