/** The secrets of a connection in the reply of a third party that repeats them. */
import type { HeaderEntries } from '../../core/headers.ts';
import { HIDDEN } from '../mask/mask-text.ts';
import { Matcher, Patterns, type Span } from '../text/matcher.ts';
import { ESCAPING, type Stretch, Unescaper } from '../text/unescaper.ts';
import type { Signing } from './signing.ts';

/** What of a connection has secrets. */
interface SecretParts {
  readonly headers: HeaderEntries;
  readonly sign?: Pick<Signing, 'key'> | undefined;
}

/** Texts that no reply may show, as they are searched for. */
export interface Secrets {
  readonly patterns: Patterns;
  /** The same as texts of Latin-1. */
  readonly list: readonly string[];
}

/** Headers whose values may stand in any reply. */
const NOT_SECRET = /^(?:accept|accept-.*|content-.*|user-agent|.*-version)$/i;
/** Headers whose values may begin with the name of a scheme. */
const WITH_SCHEME = /auth|key|token|secret/i;
/** Shorter texts may be anything else in a reply. */
const LENGTH_MIN = 8;
/** A text of escapes may be shorter without them: it is then searched for as it is written only. */
const UNESCAPED_MIN = 6;
/** How many notations within one another are taken off. */
const LEVELS = 3;
/** What is searched at once, so that it takes little memory. */
const SLICE = 65_536;
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

/** The bytes of a text in UTF-8, and in Latin-1 where that has all its characters, each as text of Latin-1. */
function encodingsOf(text: string): readonly string[] {
  const utf8 = Buffer.from(text).toString('latin1');
  return /^[\0-\xff]*$/.test(text) ? [utf8, text] : [utf8];
}

/** A text of Latin-1 with all notations taken off: one that is whole, or after which an escape at its end may go on. */
function unescaped(text: string, isWhole: boolean): string {
  let stretch: Stretch = { bytes: Buffer.from(text, 'latin1'), ends: new Float64Array(text.length) };
  for (let level = 0; level < LEVELS; level++) {
    stretch = new Unescaper().read(stretch, isWhole);
  }
  return stretch.bytes.toString('latin1').replaceAll('+', ' ');
}

/** Texts as they are searched for; undefined without any. */
export function prepareSecrets(texts: readonly string[]): Secrets | undefined {
  if (texts.length === 0) {
    return undefined;
  }
  const list = texts.flatMap((text) => {
    const json = JSON.stringify(text).slice(1, -1);
    // In common notations too, since with bytes before it a text may look like an escape.
    const written = [text, json, json.replaceAll('/', '\\/'), encodeURIComponent(text.toWellFormed())];
    // Each surrogate may be escaped for itself. JSON without its backslashes has letters for line breaks.
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

/** Hides secrets in bytes that come in pieces. What may be the beginning of a secret waits for the next piece. */
class SecretFilter {
  /** The secrets found, as places in all bytes. */
  readonly #spans: Span[] = [];
  readonly #written: Matcher;
  readonly #unescaped: Matcher;
  readonly #unescapers = Array.from({ length: LEVELS }, () => new Unescaper());
  /** The last bytes of those received, and the place up to which all are shown or hidden. */
  #waiting = Buffer.alloc(0);
  #received = 0;
  #done = 0;

  constructor({ patterns }: Secrets) {
    this.#written = new Matcher(patterns, this.#spans);
    this.#unescaped = new Matcher(patterns, this.#spans);
  }

  /** Takes a piece, and returns what can be shown. */
  write(piece: Uint8Array): Buffer {
    const before = this.#waiting.length;
    this.#waiting = Buffer.concat([this.#waiting, piece]);
    for (let at = before; at < this.#waiting.length; at += SLICE) {
      this.#search(this.#waiting.subarray(at, at + SLICE), false);
    }
    return this.#take(Math.min(this.#written.settled, this.#unescaped.settled));
  }

  /** Returns the rest. */
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

  /** The waiting bytes before a place, with stars for secrets. Nothing that is found later starts before it. */
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

/** Whether bytes have neither a secret nor anything that may be an escape. */
function isClear(bytes: Uint8Array, { list }: Secrets): boolean {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return ![...ESCAPING, ...list].some((each) => buffer.includes(each, 0, 'latin1'));
}

/** Bytes that are whole, without these secrets: the same ones if they have none. */
export function hideSecrets(bytes: Uint8Array, secrets: Secrets): Uint8Array {
  if (isClear(bytes, secrets)) {
    return bytes;
  }
  const filter = new SecretFilter(secrets);
  const shown = Buffer.concat([filter.write(bytes), filter.end()]);
  return shown.equals(bytes) ? bytes : shown;
}

/** The value of a header, each of whose characters is a byte, without these secrets. */
export function hideSecretsInText(text: string, secrets: Secrets): string {
  return Buffer.from(hideSecrets(Buffer.from(text, 'latin1'), secrets)).toString('latin1');
}

/** The same for bytes that come in pieces. */
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
