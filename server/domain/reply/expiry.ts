import type { Candidate } from './cards.ts';

/** A part of an expiry with its place in the text of the reply. */
export interface ExpiryPart {
  readonly value: string;
  readonly start: number;
  readonly end: number;
  /** As in a leaf: what a tag writes in this place. */
  readonly write?: ((text: string) => string) | undefined;
}

/** Month and year of one expiry, each as it is written. */
export interface ExpiryParts {
  readonly month: ExpiryPart;
  readonly year: ExpiryPart;
}

/** What may stand between month and year, also as JSON, XML and forms write it. */
const BETWEEN = String.raw`(?:[\s+/.-]|\\/|%2[0f]|&#(?:47|x2f);){1,5}`;
const MONTH = '(?<month>0?[1-9]|1[0-2])';
const MONTH_2 = '(?<month>0[1-9]|1[0-2])';

const FORMS: readonly RegExp[] = [
  `^${MONTH}${BETWEEN}(?<year>20\\d\\d|\\d\\d)$`,
  `^(?<year>20\\d\\d)${BETWEEN}${MONTH}(?:${BETWEEN}\\d{1,2}(?:[T ].*)?)?$`,
  `^${MONTH_2}(?<year>20\\d\\d|\\d\\d)$`,
  `^(?<year>20\\d\\d|\\d\\d)${MONTH_2}$`,
].map((form) => new RegExp(form, 'di'));

/**
 * Month and year of an expiry in one text: `12/27`, `12/2027`, `2027-12`, `2027-12-31`, `1227`, `122027`, `202712`
 * and, where the first two digits can be no month, `2712`.
 */
export function splitExpiry(source: string, offset: number): ExpiryParts | undefined {
  for (const form of FORMS) {
    const found = form.exec(source);
    const month = found?.indices?.groups?.['month'];
    const year = found?.indices?.groups?.['year'];
    if (month !== undefined && year !== undefined) {
      return { month: part(source, month, offset), year: part(source, year, offset) };
    }
  }
  return undefined;
}

function part(source: string, [start, end]: [number, number], offset: number): ExpiryPart {
  return { value: source.slice(start, end), start: offset + start, end: offset + end };
}

/** As {@link splitExpiry}, for a place in a reply. */
export function expiryOf(text: string, { start, end, write }: Candidate): ExpiryParts | undefined {
  const parts = splitExpiry(text.slice(start, end), start);
  return parts && { month: { ...parts.month, write }, year: { ...parts.year, write } };
}
