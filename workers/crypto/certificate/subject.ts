/** The subject of a certificate signing request: its attributes and what each may contain. */
import { VaultError } from '../../../server/core/errors.ts';

/** The subject that a certificate is requested for, by the wire names of its attributes. */
export interface CsrSubject {
  readonly cn: string;
  readonly o?: string;
  readonly ou?: string;
  readonly l?: string;
  readonly st?: string;
  readonly c?: string;
}

/** Upper bounds in characters (code points): X.520, and RFC 5280, appendix A.1. */
const CHARACTERS_MAX = { cn: 64, o: 64, ou: 64, l: 128, st: 128 } as const;

const COUNTRY = /^[A-Za-z]{2}$/;
const CONTROL_OR_LINE_END = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Whether a text is a valid attribute of at most `max` characters. */
function isAttribute(text: string, max: number): boolean {
  // A code point has at most two units: a long text is rejected before it is split.
  if (text.length > 2 * max || !text.isWellFormed() || text.trim() === '') {
    return false;
  }
  return [...text].length <= max && !CONTROL_OR_LINE_END.test(text);
}

/**
 * The subject as it is written to a request: C in capitals, the other attributes unchanged, no other members. Throws
 * `invalid_request` with the place for a C that is not two letters, and for any other attribute that is blank, longer
 * than its bound, not well-formed, or contains control characters or line ends.
 */
export function toCsrSubject(subject: CsrSubject): CsrSubject {
  const kept: { -readonly [Name in keyof CsrSubject]: CsrSubject[Name] } = { cn: subject.cn };
  for (const name of ['cn', 'o', 'ou', 'l', 'st'] as const) {
    const text = subject[name];
    if (text === undefined) {
      continue;
    }
    if (!isAttribute(text, CHARACTERS_MAX[name])) {
      const expected = `must have 1 to ${CHARACTERS_MAX[name]} characters, without control characters, and not be blank`;
      throw new VaultError('invalid_request', { field: `body.${name}`, expected });
    }
    kept[name] = text;
  }
  if (subject.c !== undefined) {
    if (!COUNTRY.test(subject.c)) {
      throw new VaultError('invalid_request', {
        field: 'body.c',
        expected: 'must be a country code of two letters',
      });
    }
    kept.c = subject.c.toUpperCase();
  }
  return kept;
}
