import { isMaskedNumberName, isSad, isSadName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { indexIn } from '../json/path.ts';
import { maskNumberLiteral, maskNumbersIn } from './found-numbers.ts';
import { maskText, maskWhole } from './mask-text.ts';

/** Style of masking: all but the last four non-space characters, or all characters. */
type Style = 'last_four' | 'whole';

/** Style for a member; undefined: not masked. */
type StyleOf = (name: string, member: JsonValue) => Style | undefined;

/**
 * Masks a value; values inside it in the style `within`, verification codes inside it completely, and names that are
 * card numbers as everywhere.
 */
function maskValue(value: JsonValue, style: Style, within: Style): JsonValue {
  if (value === null) {
    return null;
  }
  if (value instanceof Map) {
    for (const [name, member] of value) {
      const inner = isSad(name, member) ? 'whole' : within;
      value.set(name, maskValue(member, inner, inner));
    }
    maskNames(value);
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

/** Settings of a walk over a tree. */
interface Masks {
  readonly styleOf: StyleOf;
  /** Style of values inside a masked member, if different. */
  readonly within: Style | undefined;
  /** Card numbers are masked in names and in values without a style. */
  readonly findsNumbers: boolean;
}

function maskMember(name: string, member: JsonValue, masks: Masks): JsonValue {
  const style = masks.styleOf(name, member);
  return style === undefined ? maskWith(member, masks) : maskValue(member, style, masks.within ?? style);
}

/** Masks names that are card numbers. Two that become the same stay two members. */
export function maskNames(object: JsonObject): void {
  if (object.keys().every((name) => maskNumbersIn(name) === name)) {
    return;
  }
  const members = [...object];
  object.clear();
  for (const [name, member] of members) {
    let masked = maskNumbersIn(name);
    while (object.has(masked)) {
      masked += '*';
    }
    object.set(masked, member);
  }
}

function maskWith(value: JsonValue, masks: Masks): JsonValue {
  if (value instanceof Map) {
    for (const [name, member] of value) {
      value.set(name, maskMember(name, member, masks));
    }
    if (masks.findsNumbers) {
      maskNames(value);
    }
  } else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      value[at] = maskWith(item, masks);
    }
  } else if (masks.findsNumbers && (typeof value === 'string' || value instanceof JsonNumber)) {
    return maskUnnamed(value);
  }
  return value;
}

/** Masks card numbers in a value whose name tells nothing; returns the value itself if it has none. */
export function maskUnnamed(value: string | JsonNumber): JsonValue {
  if (typeof value === 'string') {
    return maskNumbersIn(value);
  }
  const masked = maskNumberLiteral(value.text);
  return masked === value.text ? value : masked;
}

const FORCED: Masks = {
  styleOf: (name, member) =>
    isMaskedNumberName(name) ? 'last_four' : isSad(name, member) ? 'whole' : undefined,
  // A number that is split into a list of short texts would otherwise be visible.
  within: 'whole',
  findsNumbers: true,
};

/**
 * Masks the data that an account without unmasked output never sees (PCI DSS 3.4.1): members with number names except
 * for their last four characters, sensitive authentication data completely, at any depth, and card numbers within other
 * texts, numbers and names. Numbers and booleans become the masked text of their literal, nested values are masked
 * completely, null is unchanged. Changes the given tree and returns it.
 */
export function maskForced(value: JsonObject): JsonObject {
  maskWith(value, FORCED);
  return value;
}

function childOf(parent: JsonValue | undefined, name: string): JsonValue | undefined {
  if (parent instanceof Map) {
    return parent.get(name);
  }
  const index = Array.isArray(parent) ? indexIn(parent, name) : undefined;
  return Array.isArray(parent) && index !== undefined ? parent[index] : undefined;
}

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
 * Masks the fields that a caller lists (`mask_fields`): a plain name masks every member of that name at any depth, a
 * dotted path the value at it (`card.number`, `cards.0.number`). Sensitive authentication data is masked completely, all
 * other members except for their last four characters; unknown fields are ignored. Changes the given tree and returns
 * it.
 */
export function maskFields(value: JsonObject, fields: readonly string[]): JsonObject {
  if (fields.length === 0) {
    return value;
  }
  const names = new Set(fields);
  const styleOf: StyleOf = (name) =>
    names.has(name) ? (isSadName(name) ? 'whole' : 'last_four') : undefined;
  maskWith(value, { styleOf, within: undefined, findsNumbers: false });
  for (const field of names) {
    if (field.includes('.')) {
      maskPath(value, field);
    }
  }
  return value;
}
