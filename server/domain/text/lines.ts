/** The plaintext of an export. */

/** The plaintext of each chunk of a file in the age format but the last. */
export const CHUNK_BYTES = 65_536;

const END_OF_LINE = Uint8Array.of(0x0a);

/** JSON texts as a line each: the vault's own, which have line breaks nowhere. */
export function linesOf(texts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(texts.flatMap((text) => [text, END_OF_LINE]));
}
