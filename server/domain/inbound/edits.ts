/** Replacements in a text. */

/** A place of the source, and the text that replaces it: the token of a card by its index, or a text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly by: string | { readonly card: number };
  /** On both sides of what replaces it. */
  readonly quote?: string | undefined;
}

function quoteLength({ quote = '' }: Edit): number {
  return quote.length;
}

/** The longest of those with one start first, and of these that whose quote is of the innermost text. */
function compareEdits(a: Edit, b: Edit): number {
  return a.start - b.start || b.end - a.end || quoteLength(b) - quoteLength(a);
}

/** Sorts replacements; of those that overlap, the later one begins after the earlier one. */
function inOrder(edits: readonly Edit[]): readonly Edit[] {
  const ordered: Edit[] = [];
  let done = 0;
  for (const edit of edits.toSorted(compareEdits)) {
    const start = Math.max(edit.start, done);
    if (start < edit.end) {
      ordered.push(start === edit.start ? edit : { ...edit, start });
      done = edit.end;
    }
  }
  return ordered;
}

/** Replaces places of a text, for messages without cards of their own. */
export function editText(text: string, edits: readonly Edit[]): string {
  return edits.length === 0 ? text : piecesOf(text, edits, () => '').join('');
}

function piecesOf(text: string, edits: readonly Edit[], tokenOf: (card: number) => string): string[] {
  const pieces: string[] = [];
  let done = 0;
  for (const { start, end, by, quote = '' } of inOrder(edits)) {
    const written = typeof by === 'string' ? by : tokenOf(by.card);
    pieces.push(text.slice(done, start), quote + written + quote);
    done = end;
  }
  pieces.push(text.slice(done));
  return pieces;
}

interface Source {
  readonly text: string;
  readonly isSingleByte: boolean;
}

/** Replaces places of a text in its bytes by ASCII; all other bytes are copied. */
export function editBytes(
  { text, isSingleByte }: Source,
  bytes: Uint8Array,
  edits: readonly Edit[],
  tokenOf: (card: number) => string,
): Uint8Array {
  if (edits.length === 0) {
    return bytes;
  }
  const sizeOf = (piece: string): number => (isSingleByte ? piece.length : Buffer.byteLength(piece));
  const parts: Uint8Array[] = [];
  let [done, at] = [0, 0];
  for (const { start, end, by, quote = '' } of inOrder(edits)) {
    const from = at + sizeOf(text.slice(done, start));
    const written = typeof by === 'string' ? by : tokenOf(by.card);
    parts.push(bytes.subarray(at, from), Buffer.from(quote + written + quote, 'latin1'));
    at = from + sizeOf(text.slice(start, end));
    done = end;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts);
}

/** A text of the same length, with `x` at some of its places. */
export function blanked(text: string, places: readonly Pick<Edit, 'start' | 'end'>[]): string {
  let rest = '';
  let done = 0;
  for (const { start, end } of places.toSorted((a, b) => a.start - b.start)) {
    const from = Math.max(start, done);
    if (end > from) {
      rest += text.slice(done, from) + 'x'.repeat(end - from);
      done = end;
    }
  }
  return rest + text.slice(done);
}
