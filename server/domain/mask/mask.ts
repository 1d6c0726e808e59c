import { isMaskedNumberName, isSadName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { indexIn } from '../json/path.ts';

/** How a value is masked: all but the last four non-space characters, or all characters. */
type Style = 'last_four' | 'whole';

/** How a member with this name is masked; undefined: not at all. */
type StyleOf = (name: string) => Style | undefined;

/** The characters that stay visible (PCI DSS 3.4.1). */
const VISIBLE = 4;
const SPACE = 0x20;

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Whether the unit at `at` is the second half of a surrogate pair. */
function endsPair(text: string, at: number): boolean {
  return isLowSurrogate(text.charCodeAt(at)) && at > 0 && isHighSurrogate(text.charCodeAt(at - 1));
}

/** The start of the visible part: before the fourth-last non-space character, or 0. */
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

/** One `*` for each code point before `end`; spaces are kept. */
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
 * Masks a text: every non-space character becomes `*`, except the last four non-space characters; spaces (U+0020) are
 * kept. Characters are code points. A text of at most four non-space characters is therefore unchanged, which is why
 * verification codes are masked with {@link maskWhole}.
 */
export function maskText(text: string): string {
  const from = visibleFrom(text);
  return from === 0 ? text : starsUpTo(text, from) + text.slice(from);
}

/** Masks a text completely: one `*` for each code point, including spaces. */
export function maskWhole(text: string): string {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    if (!endsPair(text, at)) {
      count++;
    }
  }
  return '*'.repeat(count);
}

/**
 * Masks a value. Values inside it are masked in the style `within`; verification codes inside it are masked
 * completely.
 */
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

/**
 * Masks the members, at any depth, for which `styleOf` returns a style. `within`: the style of values inside such a
 * member.
 */
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
 * Masks what an account without unmasked output never sees (PCI DSS 3.4.1): members with number names and `pan`
 * except for their last four characters, sensitive authentication data completely, at any depth. Names are
 * case-insensitive, since `CVV` has the same meaning as `cvv`. Numbers and booleans become the masked text of their
 * literal, nested values are masked completely, null is unchanged. Changes the given tree and returns it.
 */
export function maskForced(value: JsonObject): JsonObject {
  // A number that is split into a list of short texts would otherwise be visible.
  maskNamed(value, forcedStyle, 'whole');
  return value;
}

/** The member or item of a value; undefined if there is none. */
function childOf(parent: JsonValue | undefined, name: string): JsonValue | undefined {
  if (parent instanceof Map) {
    return parent.get(name);
  }
  const index = Array.isArray(parent) ? indexIn(parent, name) : undefined;
  return Array.isArray(parent) && index !== undefined ? parent[index] : undefined;
}

/** Masks the value at a dotted path, if it exists. */
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
 * Masks the fields that a caller lists (`mask_fields`): a plain name masks every member with exactly that name at any
 * depth, a dotted path the one value at it (`card.number`, `cards.0.number`). Sensitive authentication data is masked
 * completely, all other members except for their last four characters; unknown fields are ignored. Changes the given
 * tree and returns it.
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
