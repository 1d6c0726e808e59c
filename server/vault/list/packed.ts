/** Reads what a thread has made of a page: byte strings in one piece, of which the empty ones stand for no item. */
import type { Packed } from '../../../workers/jobs/vault/jobs.ts';

const NO_BYTES = new Uint8Array(0);

/** The string of an item of the page: all that was written for it, empty when there is none. */
export function stringAt({ bytes, ends }: Packed, index: number): Uint8Array {
  const from = index === 0 ? 0 : ends[index - 1];
  const to = ends[index];
  // A view costs as much as all else of a string, and most items have some empty ones.
  return from === to ? NO_BYTES : bytes.subarray(from, to);
}

/** The JSON text of an item of the page, without the comma that stands before each but the first. */
export function textAt(texts: Packed, index: number): Uint8Array {
  const isFirst = index === 0 || texts.ends[index - 1] === 0;
  return stringAt(texts, index).subarray(isFirst ? 0 : 1);
}

/** How many strings are not empty. */
export function countOf({ ends }: Packed): number {
  let count = 0;
  let before = 0;
  for (const end of ends) {
    count += end > before ? 1 : 0;
    before = end;
  }
  return count;
}

/** All texts of the page with commas between them, as one element of a list; an empty list for none. */
export function joinedTexts({ bytes }: Packed): readonly Uint8Array[] {
  return bytes.length === 0 ? [] : [bytes];
}
