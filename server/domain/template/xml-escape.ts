import { VaultError } from '../../core/errors.ts';
import { plainText, type TemplateEscape } from './render.ts';

const CDATA = '<![CDATA[';
const CDATA_END = ']]>';
const COMMENT = '<!--';
/** The longest delimiter less one: what may still become one with the text that follows. */
const TAIL = CDATA.length - 1;

type Place = 'markup' | 'cdata' | 'comment';

/** Characters that XML 1.0 cannot contain, not even as references; lone surrogates are looked for apart. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to find.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

const SPECIAL = /[&<>"'\t\n\r]/g;

const NAMED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function reference(character: string): string {
  return `&#${character.charCodeAt(0)};`;
}

/** In text and attributes: also line ends and tabs, which parsers would turn into others or into spaces. */
export function escapeXml(text: string): string {
  return text.replace(SPECIAL, (character) => NAMED[character] ?? reference(character));
}

/** In a CDATA section nothing is escaped: the section is closed and opened again around what it cannot contain. */
function escapeCdata(text: string): string {
  const whole = text.replaceAll('>', `${CDATA_END}${CDATA}>`).replaceAll('\r', `${CDATA_END}&#13;${CDATA}`);
  return whole.endsWith(']') ? `${whole}${CDATA_END}${CDATA}` : whole;
}

function escapeComment(text: string): string {
  return escapeXml(text).replaceAll('-', '&#45;');
}

/** The delimiters that matter in a place; each use sets where the search begins. */
const DELIMITERS: Readonly<Record<Place, RegExp>> = {
  markup: /<!\[CDATA\[|<!--/g,
  cdata: /\]\]>/g,
  comment: /-->/g,
};

/** The place after a text that begins in `from`, and what may still become a delimiter with the text after it. */
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
 * Escaping for templates of XML, for one rendering. Values are escaped as text that is right inside elements and
 * inside attributes with either kind of quotes; within CDATA sections and comments they are kept from ending
 * them. A value with a character that XML cannot contain (most control characters, half a surrogate pair) is rejected.
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
