/** Editing of a field of digits or letters that keeps the position of the caret. */
import { asciiDigits, withoutSeparators } from '../../server/domain/card/digits.ts';

/** The most words of a text in which a value is searched, and the most characters that a value has. */
const WORDS_MAX = 50;
const VALUE_MAX = 40;

/** The digits of a text, of any script, as ASCII digits. */
export function digitsOf(text: string): string {
  return asciiDigits(text).replace(/\D/g, '');
}

/** The text without separators, with ASCII digits. */
export function compact(text: string): string {
  return withoutSeparators(asciiDigits(text));
}

/**
 * The first value in a text that is one word or consecutive ones, whatever is between them. `read` returns the value
 * of the joined words. A letter or digit at a word is part of it, so that no value is made by dropping one.
 */
export function findValue(text: string, read: (joined: string) => string | undefined): string | undefined {
  const words = (asciiDigits(text).match(/[A-Za-z\d]+/g) ?? []).slice(0, WORDS_MAX);
  for (let start = 0; start < words.length; start++) {
    let joined = '';
    for (const word of words.slice(start)) {
      joined += word;
      const value = joined.length > VALUE_MAX ? undefined : read(joined);
      if (value !== undefined) {
        return value;
      }
    }
  }
  return undefined;
}

/** One change of a field: its text before, its text now, the caret, and the event's `inputType`. */
export interface Typed {
  readonly before: string;
  readonly value: string;
  readonly caret: number;
  readonly kind: string;
}

/** The new text of the field and the new position of the caret. */
export interface Edited {
  readonly value: string;
  readonly caret: number;
}

/** Formats a field after a change. */
export type Edit = (typed: Typed) => Edited;

/** The characters of a field. */
export interface Shape {
  /** Characters that the field does not have, with the flag `g`. By default it has all but separators. */
  readonly foreign?: RegExp;
  /** Changes the notation of a text without separators. */
  readonly tidy?: (text: string) => string;
  /** Adds spaces between groups. */
  readonly format?: (plain: string) => string;
  /** More characters cannot be typed. */
  readonly lengthMax?: (plain: string) => number;
  /** The value in a text that came at once; undefined if there is none. */
  readonly pick?: (text: string) => string | undefined;
}

function isInsert(kind: string): boolean {
  return !kind.startsWith('delete');
}

/**
 * True for a single key. Texts that came at once were pasted, dropped, dictated or filled in; browsers report that in
 * different ways.
 */
export function isKey({ before, value, kind }: Typed): boolean {
  return !isInsert(kind) || (kind === 'insertText' && value.length - before.length <= 1);
}

/** The position after a number of characters; after an insertion also after the following space. */
function placeAfter(text: string, count: number, skipSpace: boolean): number {
  let left = count;
  let at = 0;
  while (at < text.length && left > 0) {
    left -= text.charAt(at) === ' ' ? 0 : 1;
    at += 1;
  }
  return skipSpace && text.charAt(at) === ' ' ? at + 1 : at;
}

function same(text: string): string {
  return text;
}

/**
 * An edit that never changes a value unseen. A key that the field does not have, or that would be one too many, has no
 * effect. A text that came at once is taken whole: without its separators, or unchanged if it has foreign characters,
 * so that the check rejects it. The caret stays between the same characters. Deleting a space deletes the character
 * next to it.
 */
export function createEdit({ foreign = /(?!)/g, tidy = same, format = same, lengthMax, pick }: Shape): Edit {
  const written = (text: string): string => tidy(compact(text));
  const plain = (text: string): string => written(text).replace(foreign, '');
  const isForeign = (text: string): boolean => written(text).search(foreign) >= 0;
  return (typed) => {
    const { before, value, caret, kind } = typed;
    const byKey = isKey(typed);
    const picked = byKey ? undefined : pick?.(value);
    if (picked !== undefined) {
      const text = format(picked);
      return { value: text, caret: text.length };
    }
    if (isForeign(value) && (!byKey || isForeign(before))) {
      return { value, caret };
    }
    const had = plain(before);
    let text = plain(value);
    let at = plain(value.slice(0, caret)).length;
    if (text === had && value.length < before.length && !isInsert(kind)) {
      const cut = kind === 'deleteContentForward' ? at : at - 1;
      text = cut < 0 ? text : text.slice(0, cut) + text.slice(cut + 1);
      at = Math.min(at, Math.max(cut, 0));
    }
    const isTooMany = kind === 'insertText' && text.length > had.length;
    if (byKey && isTooMany && lengthMax !== undefined && text.length > lengthMax(text)) {
      at -= text.length - had.length;
      text = had;
    }
    const shown = format(text);
    return { value: shown, caret: placeAfter(shown, at, isInsert(kind)) };
  };
}

/** An edit for a field of digits without groups. */
export function plainDigits(lengthMax: () => number): Edit {
  return createEdit({ foreign: /\D/g, lengthMax });
}
