/** The secrets of a connection in the reply of a third party that repeats them. */
import type { HeaderEntries } from '../../core/headers.ts';
import { HIDDEN } from '../mask/mask-text.ts';
import { Matcher, Patterns, type Span } from '../text/matcher.ts';
import { ESCAPING, Unescaper, unescaped } from '../text/unescaper.ts';
import type { Signing } from './signing.ts';

/** What of a connection has secrets. */
interface SecretParts {
  readonly headers: HeaderEntries;
  readonly sign?: Pick<Signing, 'key'> | undefined;
}

/** Texts that no reply may show, as they are searched for. */
export interface Secrets {
  /** In common notations, so that a text is also found behind bytes that look like the beginning of an escape. */
  readonly written: Patterns;
  /** Without notations, see {@link Unescaper}. */
  readonly unescaped: Patterns;
  /** All of these. */
  readonly patterns: readonly Buffer[];
}

/** Headers whose values may stand in any reply. */
const NOT_SECRET = /^(?:accept|accept-.*|content-.*|user-agent|.*-version)$/i;
/** Headers whose values may begin with the name of a scheme. */
const WITH_SCHEME = /auth|key|token|secret/i;
/** Shorter texts may be anything else in a reply. */
const LENGTH_MIN = 8;
/** A text of escapes may be shorter without them: it is then searched for as it is written only. */
const UNESCAPED_MIN = 6;
const STARS = Buffer.from(HIDDEN);

/** A value, and what it has behind the name of a scheme; of Basic also the password, or the name that has none. */
function partsOf(name: string, value: string): readonly string[] {
  const [, scheme = '', rest = ''] = (WITH_SCHEME.test(name) && /^([\w-]+)\s+(.*)$/s.exec(value)) || [];
  if (scheme.toLowerCase() !== 'basic') {
    return [value, rest];
  }
  const pair = Buffer.from(rest, 'base64').toString('latin1');
  const at = pair.indexOf(':');
  return [value, rest, pair, at + 1 < pair.length ? pair.slice(at + 1) : pair.slice(0, at)];
}

/** The texts of a connection that no reply may show. */
export function secretTexts({ headers, sign }: SecretParts): string[] {
  const values = headers
    .filter(([name]) => !NOT_SECRET.test(name))
    .flatMap(([name, value]) => partsOf(name, value));
  const texts = [...values, sign?.key ?? ''].filter((text) => text.length >= LENGTH_MIN);
  return [...new Set(texts)];
}

/** The bytes of a text in UTF-8, and in Latin-1 where that has all its characters. */
function encodingsOf(text: string): readonly Buffer[] {
  const utf8 = Buffer.from(text);
  return utf8.length > text.length && /^[\0-\xff]*$/.test(text)
    ? [utf8, Buffer.from(text, 'latin1')]
    : [utf8];
}

/** Bytes that differ. */
function distinct(list: readonly Uint8Array[]): readonly Buffer[] {
  const texts = new Set(list.map((bytes) => Buffer.from(bytes).toString('latin1')));
  return [...texts].map((text) => Buffer.from(text, 'latin1'));
}

/** Texts as they are searched for; undefined without any. */
export function prepareSecrets(texts: readonly string[]): Secrets | undefined {
  if (texts.length === 0) {
    return undefined;
  }
  const written = texts.flatMap((text) => {
    const json = JSON.stringify(text).slice(1, -1);
    const url = encodeURIComponent(text.toWellFormed());
    return [text, json, json.replaceAll('/', '\\/'), url].flatMap(encodingsOf);
  });
  // JSON without its backslashes has letters for line breaks. And the end of a text may be read as an escape with what follows.
  const bare = texts
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1)].flatMap(encodingsOf))
    .flatMap((bytes) => [unescaped(bytes), unescaped(bytes, false)])
    .filter(({ length }) => length >= UNESCAPED_MIN);
  const [ofWritten, ofBare] = [distinct(written), distinct(bare)];
  return {
    written: new Patterns(ofWritten),
    unescaped: new Patterns(ofBare),
    patterns: distinct([...ofWritten, ...ofBare]),
  };
}

/** The secrets of a connection; undefined if it has none. */
export function secretsOf(connection: SecretParts): Secrets | undefined {
  return prepareSecrets(secretTexts(connection));
}

/** Searches bytes that come in pieces. */
class Scanner {
  /** The secrets found so far, as places in all bytes. */
  readonly spans: Span[] = [];
  readonly #written: Matcher;
  readonly #unescaped: Matcher;
  readonly #unescaper: Unescaper;
  #read = 0;

  constructor(secrets: Secrets) {
    this.#written = new Matcher(secrets.written, this.spans);
    this.#unescaped = new Matcher(secrets.unescaped, this.spans);
    this.#unescaper = new Unescaper(this.#unescaped);
  }

  scan(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; at++) {
      this.#written.put(piece[at] as number, this.#read + at, this.#read + at + 1);
    }
    this.#unescaper.write(piece, this.#read);
    this.#read += piece.length;
  }

  end(): void {
    this.#unescaper.end();
  }

  /** Nothing that is found later starts before this place. */
  get settled(): number {
    return Math.min(this.#read, this.#written.from, this.#unescaped.from, this.#unescaper.from);
  }
}

/** Bytes that wait until it is known whether they are part of a secret. */
class Waiting {
  #bytes = new Uint8Array(0);
  #from = 0;
  #to = 0;
  /** The place of the first of these among all bytes; that up to which all is hidden. */
  #at = 0;
  #hiddenTo = 0;

  add(piece: Uint8Array): void {
    if (this.#to + piece.length > this.#bytes.length) {
      const kept = this.#bytes.subarray(this.#from, this.#to);
      this.#bytes = new Uint8Array(2 * (kept.length + piece.length));
      this.#bytes.set(kept);
      [this.#from, this.#to] = [0, kept.length];
    }
    this.#bytes.set(piece, this.#to);
    this.#to += piece.length;
  }

  /** The bytes before `end` with secrets hidden. Later spans start at or after `end`; those before it are removed from the list. */
  take(spans: Span[], end: number): Uint8Array {
    const parts: Uint8Array[] = [];
    spans.sort((a, b) => b.start - a.start);
    for (let span = spans.at(-1); span !== undefined && span.start < end; span = spans.at(-1)) {
      if (span.start >= this.#hiddenTo) {
        parts.push(this.#shift(span.start), STARS);
      }
      this.#hiddenTo = Math.max(this.#hiddenTo, span.end);
      spans.pop();
    }
    spans.reverse();
    parts.push(this.#shift(end));
    return Buffer.concat(parts);
  }

  /** Takes the bytes before a place, and returns those that are not hidden. */
  #shift(end: number): Uint8Array {
    const hidden = Math.min(Math.max(this.#hiddenTo - this.#at, 0), end - this.#at);
    const shown = this.#bytes.subarray(this.#from + hidden, this.#from + end - this.#at);
    this.#from += end - this.#at;
    this.#at = end;
    return shown;
  }
}

/** Whether bytes have neither a secret nor anything that may be an escape. */
function isClear(bytes: Uint8Array, { patterns }: Secrets): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return ![...ESCAPING, ...patterns].some((each) => buffer.includes(each));
}

/** Bytes that are whole, without these secrets: the same ones if they have none. */
export function hideSecrets(bytes: Uint8Array, secrets: Secrets): Uint8Array {
  if (isClear(bytes, secrets)) {
    return bytes;
  }
  const scanner = new Scanner(secrets);
  scanner.scan(bytes);
  scanner.end();
  if (scanner.spans.length === 0) {
    return bytes;
  }
  const waiting = new Waiting();
  waiting.add(bytes);
  return waiting.take(scanner.spans, bytes.length);
}

/** The value of a header, each of whose characters is a byte, without these secrets. */
export function hideSecretsInText(text: string, secrets: Secrets): string {
  const bytes = Buffer.from(text, 'latin1');
  const shown = hideSecrets(bytes, secrets);
  return shown === bytes ? text : Buffer.from(shown).toString('latin1');
}

/** The same for bytes that come in pieces. What may be the beginning of a secret waits for the next one. */
export function createSecretFilter(secrets: Secrets): Transformer<Uint8Array, Uint8Array> {
  const scanner = new Scanner(secrets);
  const waiting = new Waiting();
  let read = 0;
  const show = (end: number, controller: TransformStreamDefaultController<Uint8Array>): void => {
    const shown = waiting.take(scanner.spans, end);
    if (shown.length > 0) {
      controller.enqueue(shown);
    }
  };
  return {
    transform(piece, controller) {
      read += piece.length;
      scanner.scan(piece);
      waiting.add(piece);
      show(scanner.settled, controller);
    },
    flush(controller) {
      scanner.end();
      show(read, controller);
    },
  };
}
