/** Hides the secrets of a connection in replies that repeat them. */
import type { HeaderEntries } from '../../core/headers.ts';
import { HIDDEN } from '../mask/mask-text.ts';
import { Matcher, Patterns, type Span } from '../text/matcher.ts';
import { ESCAPING, type Stretch, Unescaper } from '../text/unescaper.ts';

/** The part of a connection that has secrets. */
interface SecretSource {
  readonly headers: HeaderEntries;
  readonly sign?: { readonly key: string } | undefined;
}

/** Searched texts, which no reply may show. */
export interface Secrets {
  readonly patterns: Patterns;
  /** The same in Latin-1. */
  readonly list: readonly string[];
}

/** Headers without secrets. */
const NOT_SECRET = /^(?:accept|accept-.*|content-.*|user-agent|.*-version)$/i;
/** Headers whose values may begin with the name of a scheme. */
const WITH_SCHEME = /auth|key|token|secret/i;
/** Shorter texts may be anything else in a reply. */
const LENGTH_MIN = 8;
/** Minimum of a text after unescaping; a shorter one is searched for as written only. */
const UNESCAPED_MIN = 6;
/** Nested notations that are removed. */
const LEVELS = 3;
/** Bytes per search step, to bound memory. */
const SLICE = 65_536;
const STARS = Buffer.from(HIDDEN);

/** A value, and its part after the name of a scheme; for Basic also the password, or the name without one. */
function partsOf(name: string, value: string): readonly string[] {
  const [, scheme = '', rest = ''] = (WITH_SCHEME.test(name) && /^([\w-]+)\s+(.*)$/s.exec(value)) || [];
  if (scheme.toLowerCase() !== 'basic') {
    return [value, rest];
  }
  const pair = Buffer.from(rest, 'base64').toString('latin1');
  const at = pair.indexOf(':');
  return [value, rest, pair, at + 1 < pair.length ? pair.slice(at + 1) : pair.slice(0, at)];
}

export function secretTexts({ headers, sign }: SecretSource): string[] {
  const values = headers
    .filter(([name]) => !NOT_SECRET.test(name))
    .flatMap(([name, value]) => partsOf(name, value));
  const texts = [...values, sign?.key ?? ''].filter((text) => text.length >= LENGTH_MIN);
  return [...new Set(texts)];
}

/** A text as UTF-8, and as Latin-1 if possible, each in a text of Latin-1. */
function encodingsOf(text: string): readonly string[] {
  const utf8 = Buffer.from(text).toString('latin1');
  return /^[\0-\xff]*$/.test(text) ? [utf8, text] : [utf8];
}

/** Removes all notations from a text of Latin-1. If not whole, an escape at its end may continue. */
function unescaped(text: string, isWhole: boolean): string {
  let stretch: Stretch = { bytes: Buffer.from(text, 'latin1'), ends: new Float64Array(text.length) };
  for (let level = 0; level < LEVELS; level++) {
    stretch = new Unescaper().read(stretch, isWhole);
  }
  return stretch.bytes.toString('latin1').replaceAll('+', ' ');
}

/** Prepares a search; undefined without texts. */
export function prepareSecrets(texts: readonly string[]): Secrets | undefined {
  if (texts.length === 0) {
    return undefined;
  }
  const list = texts.flatMap((text) => {
    const json = JSON.stringify(text).slice(1, -1);
    // In common notations too, since bytes before a text can make it look like an escape.
    const written = [text, json, json.replaceAll('/', '\\/'), encodeURIComponent(text.toWellFormed())];
    // Each surrogate may be escaped by itself. JSON without its backslashes has letters for line breaks.
    const units = text.replaceAll(/[\ud800-\udfff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
    const bare = [text, json, units]
      .flatMap(encodingsOf)
      .flatMap((bytes) => [unescaped(bytes, true), unescaped(bytes, false)])
      .filter(({ length }) => length >= UNESCAPED_MIN);
    return [...written.flatMap(encodingsOf), ...bare];
  });
  const distinct = [...new Set(list)];
  return { patterns: new Patterns(distinct), list: distinct };
}

/** Hides secrets in a stream. A possible beginning of a secret is withheld until the next piece. */
class SecretFilter {
  /** The secrets found, by their positions in all bytes. */
  readonly #spans: Span[] = [];
  readonly #written: Matcher;
  readonly #unescaped: Matcher;
  readonly #unescapers = Array.from({ length: LEVELS }, () => new Unescaper());
  /** The last received bytes, and the end of those that were shown or hidden. */
  #waiting = Buffer.alloc(0);
  #received = 0;
  #done = 0;

  constructor({ patterns }: Secrets) {
    this.#written = new Matcher(patterns, this.#spans);
    this.#unescaped = new Matcher(patterns, this.#spans);
  }

  /** Adds a piece; returns the bytes that can be shown. */
  write(piece: Uint8Array): Buffer {
    const before = this.#waiting.length;
    this.#waiting = Buffer.concat([this.#waiting, piece]);
    for (let at = before; at < this.#waiting.length; at += SLICE) {
      this.#search(this.#waiting.subarray(at, at + SLICE), false);
    }
    return this.#take(Math.min(this.#written.settled, this.#unescaped.settled));
  }

  end(): Buffer {
    this.#search(Buffer.alloc(0), true);
    return this.#take(this.#received);
  }

  #search(bytes: Buffer, isLast: boolean): void {
    const ends = new Float64Array(bytes.length);
    for (let at = 0; at < bytes.length; at++) {
      ends[at] = this.#received + at + 1;
    }
    this.#received += bytes.length;
    let stretch: Stretch = { bytes, ends };
    this.#written.search(stretch);
    for (const unescaper of this.#unescapers) {
      stretch = unescaper.read(stretch, isLast);
    }
    this.#unescaped.search(stretch);
  }

  /** The waiting bytes before a position, with stars for secrets. Later matches start after it. */
  #take(end: number): Buffer {
    const start = this.#received - this.#waiting.length;
    const parts: Uint8Array[] = [];
    this.#spans.sort((a, b) => a.start - b.start);
    const count = this.#spans.filter((span) => span.start < end).length;
    for (const span of this.#spans.splice(0, count)) {
      if (span.start >= this.#done) {
        parts.push(this.#waiting.subarray(this.#done - start, span.start - start), STARS);
      }
      this.#done = Math.max(this.#done, span.end);
    }
    if (this.#done < end) {
      parts.push(this.#waiting.subarray(this.#done - start, end - start));
      this.#done = end;
    }
    this.#waiting = this.#waiting.subarray(end - start);
    return Buffer.concat(parts);
  }
}

/** Tells whether bytes contain no secret and nothing that may be an escape. */
function isClear(bytes: Uint8Array, { list }: Secrets): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return ![...ESCAPING, ...list].some((each) => buffer.includes(each, 0, 'latin1'));
}

/** Hides secrets in complete bytes; returns the same bytes if they have none. */
export function hideSecrets(bytes: Uint8Array, secrets: Secrets): Uint8Array {
  if (isClear(bytes, secrets)) {
    return bytes;
  }
  const filter = new SecretFilter(secrets);
  const shown = Buffer.concat([filter.write(bytes), filter.end()]);
  return shown.equals(bytes) ? bytes : shown;
}

/** Hides secrets in the value of a header, a text of Latin-1. */
export function hideSecretsInText(text: string, secrets: Secrets): string {
  return Buffer.from(hideSecrets(Buffer.from(text, 'latin1'), secrets)).toString('latin1');
}

/** Hides secrets in a stream. */
export function createSecretFilter(secrets: Secrets): Transformer<Uint8Array, Uint8Array> {
  const filter = new SecretFilter(secrets);
  const show = (bytes: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
    if (bytes.length > 0) {
      controller.enqueue(bytes);
    }
  };
  return {
    transform: (piece, controller) => show(filter.write(piece), controller),
    flush: (controller) => show(filter.end(), controller),
  };
}
