import type { JsonValue } from '../json/json.ts';
import type { Value } from './leaves.ts';

/** A place in a text, and the tag that replaces it. */
interface Hole {
  readonly start: number;
  readonly end: number;
  readonly tag: string;
}

const PARTS = 'original_parts';
/** Braces that would open a tag: two or more, or any before a tag. */
const OPENING = /\{{2,}/g;
const OPENING_AT_END = /\{{2,}|\{$/g;

/** A template that is made from a well-formed text: its holes, and the parts that tags of named values cannot reproduce. */
export class Original {
  readonly parts: JsonValue[] = [];
  readonly #holes: Hole[] = [];
  /** The tags of the parts, by name and text. */
  readonly #tags = new Map<string, string>();

  constructor(private readonly text: string) {}

  /** Replaces a value by the tag of its name, by a raw one if only that reproduces the source. */
  tagValue(name: string, { value, start, end, write }: Value): void {
    const raw = this.text.slice(start, end);
    if (value === raw && write?.(value) !== raw) {
      this.#holes.push({ start, end, tag: `{{{${name}}}}` });
    } else if (write !== undefined) {
      this.#holes.push({ start, end, tag: `{{${name}}}` });
    } else {
      this.keepPlace(name, start, end);
    }
  }

  /** Replaces a place by a raw tag, and keeps its source as a part under `name`. */
  keepPlace(name: string, start: number, end: number): void {
    this.#holes.push({ start, end, tag: this.#partTag(name, this.text.slice(start, end)) });
  }

  /** Keeps places that do not overlap earlier replacements. They are given in ascending order. */
  keepFree(name: string, places: Iterable<{ readonly start: number; readonly end: number }>): void {
    const isFree = this.#createFreeCheck();
    for (const { start, end } of places) {
      if (isFree(start, end)) {
        this.keepPlace(name, start, end);
      }
    }
  }

  /** Replaces all other occurrences of a text by a raw tag: of its name, or of a part when `kept`. */
  hideText(name: string, value: string, kept = false): void {
    const isFree = this.#createFreeCheck();
    for (let start = this.text.indexOf(value); start >= 0; ) {
      const end = start + value.length;
      const free = isFree(start, end);
      if (free) {
        this.#holes.push({ start, end, tag: kept ? this.#partTag(name, value) : `{{{${name}}}}` });
      }
      start = this.text.indexOf(value, free ? end : start + 1);
    }
  }

  /** Returns the template; `parts` is complete from then on. */
  finish(): string {
    let template = '';
    let at = 0;
    for (const { start, end, tag } of this.#holes.sort((a, b) => a.start - b.start)) {
      template += this.#literal(this.text.slice(at, start), OPENING_AT_END) + tag;
      at = end;
    }
    return template + this.#literal(this.text.slice(at), OPENING);
  }

  #literal(text: string, opening: RegExp): string {
    return text.replace(opening, (braces) => this.#partTag('braces', braces));
  }

  #partTag(name: string, raw: string): string {
    const key = `${name} ${raw}`;
    const tag = this.#tags.get(key) ?? `{{{${PARTS}.${this.parts.length}.${name}}}}`;
    if (!this.#tags.has(key)) {
      this.#tags.set(key, tag);
      this.parts.push(new Map([[name, raw]]));
    }
    return tag;
  }

  /** Checks that places, in ascending order, do not overlap the present holes. */
  #createFreeCheck(): (start: number, end: number) => boolean {
    const taken = this.#holes.toSorted((a, b) => a.start - b.start);
    let next = 0;
    return (start, end) => {
      while ((taken[next]?.end ?? this.text.length + 1) <= start) {
        next++;
      }
      return (taken[next]?.start ?? this.text.length) >= end;
    };
  }
}
