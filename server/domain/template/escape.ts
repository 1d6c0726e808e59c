import { VaultError } from '../../core/errors.ts';
import { type JsonValue, quoteJson, stringifyJson } from '../json/json.ts';
import type { BodyFormat } from '../text/media-type.ts';
import { plainText, type TemplateEscape } from './render.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export const plainEscape: TemplateEscape = { insert: plainText };

/**
 * Escaping for JSON templates, for one rendering. Inside a string literal, the plain text of the value becomes escaped
 * characters; outside, the value becomes JSON (null if it is missing). A value can end neither the literal nor the
 * structure around it, at any position, even directly after a backslash.
 */
export function createJsonEscape(): TemplateEscape {
  let inString = false;
  let afterBackslash = false;

  const pass = (text: string): void => {
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      if (!inString) {
        inString = unit === QUOTE;
      } else if (afterBackslash) {
        afterBackslash = false;
      } else if (unit === BACKSLASH) {
        afterBackslash = true;
      } else {
        inString = unit !== QUOTE;
      }
    }
  };
  const insert = (value: JsonValue | undefined): string => {
    if (!inString) {
      return stringifyJson(value ?? null);
    }
    const characters = quoteJson(plainText(value)).slice(1, -1);
    // An open backslash would consume the first escape and expose a quote of the value: complete it.
    const completion = afterBackslash ? '\\' : '';
    afterBackslash = false;
    return completion + characters;
  };
  return { insert, pass };
}

/** Characters that `encodeURIComponent` keeps although some parsers give them a meaning. */
const LEFT = /[!'()*~]/g;

/** Encodes a text for a path, query or form body: everything but letters, digits, `-`, `.`, `_` (RFC 3986). */
export function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    LEFT,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export const percentEscape: TemplateEscape = {
  insert: (value: JsonValue | undefined) => percentEncode(plainText(value)),
};

/** Escaping for a body of this format, for one rendering. */
export function createBodyEscape(format: BodyFormat): TemplateEscape {
  switch (format) {
    case 'json':
      return createJsonEscape();
    case 'form':
      return percentEscape;
    case 'xml':
      return createXmlEscape();
    case 'text':
      return plainEscape;
  }
}

const CDATA = '<![CDATA[';
const CDATA_END = ']]>';
const COMMENT = '<!--';
/** Length of a text that can still become a delimiter with the following text. */
const TAIL = CDATA.length - 1;

/** Context of a value. */
type Place = 'markup' | 'cdata' | 'comment';
/** Characters that XML 1.0 cannot contain, not even as references; lone surrogates are checked separately. */
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

/**
 * Escapes a text for elements and attributes, including line ends and tabs, which parsers normalise (XML 1.0, sections
 * 2.11 and 3.3.3).
 */
export function escapeXml(text: string): string {
  return text.replace(SPECIAL, (character) => NAMED[character] ?? `&#${character.charCodeAt(0)};`);
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

/** The delimiters of each context; each use sets the start of the search. */
const DELIMITERS: Readonly<Record<Place, RegExp>> = {
  markup: /<!\[CDATA\[|<!--/g,
  cdata: /\]\]>/g,
  comment: /-->/g,
};

/** The context after a text that starts in `from`, and the rest that can still become a delimiter. */
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
 * Escaping for XML templates, for one rendering: values cannot end an element, attribute, CDATA section or comment.
 * Throws `invalid_request` for characters that XML cannot contain: most control characters and lone surrogates.
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
