import { VaultError } from '../../core/errors.ts';
import { plainText, type TemplateEscape } from './render.ts';

const CDATA = '<![CDATA[';
const CDATA_END = ']]>';
const COMMENT = '<!--';
/** The longest delimiter minus one: what can still become a delimiter with the following text. */
const TAIL = CDATA.length - 1;

/** Where a value is inserted. */
type Place = 'markup' | 'cdata' | 'comment';

/** Characters that XML 1.0 cannot contain, not even as references; lone surrogates are looked for apart. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to find.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** Characters with a meaning in text or attributes. */
const SPECIAL = /[&<>"'\t\n\r]/g;

const NAMED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** A numeric character reference. */
function reference(character: string): string {
  return `&#${character.charCodeAt(0)};`;
}

/**
 * Escapes a text for elements and attributes, including line ends and tabs, which parsers normalise (XML 1.0,
 * sections 2.11 and 3.3.3).
 */
export function escapeXml(text: string): string {
  return text.replace(SPECIAL, (character) => NAMED[character] ?? reference(character));
}

/** A CDATA section has no escapes: it is closed and reopened around what it cannot contain. */
function escapeCdata(text: string): string {
  const whole = text.replaceAll('>', `${CDATA_END}${CDATA}>`).replaceAll('\r', `${CDATA_END}&#13;${CDATA}`);
  return whole.endsWith(']') ? `${whole}${CDATA_END}${CDATA}` : whole;
}

/** A comment must not contain two hyphens. */
function escapeComment(text: string): string {
  return escapeXml(text).replaceAll('-', '&#45;');
}

/** The delimiters that matter in a place; each use sets the start of the search. */
const DELIMITERS: Readonly<Record<Place, RegExp>> = {
  markup: /<!\[CDATA\[|<!--/g,
  cdata: /\]\]>/g,
  comment: /-->/g,
};

/** The place after a text that starts in `from`, and the rest that can still become a delimiter. */
function follow(from: Place, text: string): { readonly place: Place; readonly tail: string } {
  let place = from;
  let at = 0;
  for (;;) {
    const delimiter = DELIMITERS[place];
    delimiter.lastIndex = at;
    const found = delimiter.exec(text)?.[0];
    if (found === undefined) {
      return { place, tail: text.slice(Math.max(at, text.length - TAIL)) };
    }
    at = delimiter.lastIndex;
    place = found === CDATA ? 'cdata' : found === COMMENT ? 'comment' : 'markup';
  }
}

/**
 * Escaping for XML templates, for one rendering. Values are escaped for element content and for attributes in both
 * kinds of quotes; in CDATA sections and comments they cannot end these. Throws `invalid_request` for a value with a
 * character that XML cannot contain: most control characters and lone surrogates.
 */
export function createXmlEscape(): TemplateEscape {
  let place: Place = 'markup';
  let tail = '';

  const pass = (text: string): void => {
    ({ place, tail } = follow(place, tail + text));
  };
  return {
    pass,
    insert: (value) => {
      const text = plainText(value);
      if (FORBIDDEN.test(text) || !text.isWellFormed()) {
        throw new VaultError('invalid_request');
      }
      if (text !== '') {
        tail = '';
      }
      return place === 'markup'
        ? escapeXml(text)
        : place === 'cdata'
          ? escapeCdata(text)
          : escapeComment(text);
    },
  };
}
