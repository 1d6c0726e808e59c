/** The largest document that an operator can load, in bytes. */
export const PDF_BYTES_MAX = 10_485_760;

/** PDF 1.x and 2.x (ISO 32000). */
const HEAD = /^%PDF-[12]\.\d/;
/** The end mark is within these bytes. */
const TAIL_BYTES = 1_024;
const decoder = new TextDecoder('latin1');

/** Whether bytes look like a complete PDF document, by their start and end: not an HTML page, and not truncated. */
export function isPdf(bytes: Uint8Array): boolean {
  return (
    HEAD.test(decoder.decode(bytes.subarray(0, 8))) &&
    decoder.decode(bytes.subarray(Math.max(0, bytes.length - TAIL_BYTES))).includes('%%EOF')
  );
}
