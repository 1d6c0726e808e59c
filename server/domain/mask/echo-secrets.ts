/** Which values of an item must not be shown to callers who may use them and not see them. */
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { wholeDigits } from './found-numbers.ts';
import { maskNames } from './mask.ts';
import { maskText } from './mask-text.ts';

/** What stands for a value that is hidden, whatever its length. */
export const HIDDEN = '********';
/** Stands for a value that is too short to be found in a reply: no other value of an item looks like it. */
export const SHORT = 'VaultHiddenShortValue';
/** Shorter numbers, and shorter texts, may be anything else in a reply. */
const DIGITS_MIN = 8;
const CHARACTERS_MIN = 6;
/** A number within a text. */
const NUMBER = /\d(?:[\s\p{Pd}]{0,2}\d){11,}/gu;

/** Values that can be found in a reply. */
export interface Secrets {
  /** Digits of stored numbers, whose last four may be seen. */
  readonly numbers: readonly string[];
  /** Digits that may not be seen at all. */
  readonly digits: readonly string[];
  readonly texts: readonly string[];
}

/** An item as it is stored, and as rules have made it; and both made of its masked copy, where the rules take that. */
export interface ItemViews {
  readonly stored: JsonObject;
  readonly storedMasked: JsonObject;
  readonly ruled: JsonObject;
  readonly ruledMasked: JsonObject | undefined;
}

/** Replaces every value in a tree, at any depth, and names that are numbers. Changes the tree and returns it. */
export function hideValues(object: JsonObject): JsonObject {
  hide(object);
  return object;
}

function hide(value: JsonValue): JsonValue {
  if (value instanceof Map) {
    for (const [name, member] of value) {
      value.set(name, hide(member));
    }
    maskNames(value);
    return value;
  }
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      value[at] = hide(item);
    }
    return value;
  }
  return value === null ? null : HIDDEN;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value instanceof JsonNumber ? value.text : value === undefined ? undefined : String(value ?? '');
}

/** What a leaf is replaced by, of its text and of that of its masked copy, if there is one. */
type Replace = (text: string, masked: string | undefined) => string | undefined;

/** Replaces the leaves that differ in the masked copy of a tree, and visits such names. A tree of another shape differs everywhere. */
function replaceHidden(value: JsonValue, masked: JsonValue | undefined, replace: Replace): JsonValue {
  if (value instanceof Map) {
    const others = masked instanceof Map && masked.size === value.size ? [...masked] : [];
    for (const [at, [name, member]] of [...value].entries()) {
      const [maskedName, other] = others[at] ?? [];
      if (maskedName !== name) {
        replace(name, maskedName);
      }
      value.set(name, replaceHidden(member, other, replace));
    }
    return value;
  }
  if (Array.isArray(value)) {
    const others = Array.isArray(masked) && masked.length === value.length ? masked : [];
    for (const [at, item] of value.entries()) {
      value[at] = replaceHidden(item, others[at], replace);
    }
    return value;
  }
  const text = textOf(value) ?? '';
  const maskedText = masked instanceof Map || Array.isArray(masked) ? undefined : textOf(masked);
  return text === '' || text === maskedText ? value : (replace(text, maskedText) ?? value);
}

/** The characters of a text without marks and spaces. */
function bareOf(text: string): string {
  return wholeDigits(text) ?? text.replaceAll(/[^\p{L}\p{N}]/gu, '');
}

function isShort(text: string): boolean {
  const bare = bareOf(text);
  return /^\d+$/.test(bare) ? bare.length < DIGITS_MIN : text.length < CHARACTERS_MIN;
}

/** All texts in a tree, names included. */
function textsOf(object: JsonObject): ReadonlySet<string> {
  const texts = new Set<string>();
  replaceHidden(object, undefined, (text) => {
    texts.add(text);
    return undefined;
  });
  return texts;
}

/**
 * What is secret of an item: what its masked copy does not show, and what rules have made of that. `marked` is the item as it
 * is sent, with {@link SHORT} for each secret that is too short to be found in a reply. Changes `stored` and `ruled`.
 */
export function secretsOf({ stored, storedMasked, ruled, ruledMasked }: ItemViews): {
  readonly secrets: Secrets;
  readonly marked: JsonObject;
} {
  const [numbers, digits, texts] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const add = (text: string, isNumber: boolean): void => {
    const bare = bareOf(text);
    if (isShort(text) || numbers.has(bare)) {
      return;
    }
    if (isNumber && /^\d+$/.test(bare)) {
      numbers.add(bare);
      return;
    }
    if (/^\d+$/.test(bare)) {
      digits.add(bare);
    } else {
      texts.add(text);
    }
    for (const [found] of text.matchAll(NUMBER)) {
      const number = bareOf(found);
      if (number !== bare) {
        numbers.add(number);
      }
    }
  };
  replaceHidden(stored, storedMasked, (text, masked) => {
    add(text, masked === maskText(text));
    return undefined;
  });
  // Where the rules reject the masked copy: what it shows is no secret.
  const shown = ruledMasked === undefined ? textsOf(storedMasked) : undefined;
  const marked = replaceHidden(ruled, ruledMasked, (text) => {
    if (shown?.has(text) === true) {
      return undefined;
    }
    add(text, false);
    return isShort(text) ? SHORT : undefined;
  });
  return {
    secrets: { numbers: [...numbers], digits: [...digits], texts: [...texts] },
    marked: marked as JsonObject,
  };
}
