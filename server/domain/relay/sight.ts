/** Third parties' replies as callers see them. */
import { isUtf8 } from 'node:buffer';
import { type CpuBudget, createCpuBudget } from '../../core/cpu-budget.ts';
import { type HeaderEntries, headerIn, isEncoded } from '../../core/headers.ts';
import { mayHaveSadName } from '../card/sensitive-names.ts';
import {
  createSecretFilter,
  hideSecrets,
  hideSecretsInText,
  prepareSecrets,
  type Secrets,
} from '../connection/secrets.ts';
import { encodeJson } from '../json/bytes.ts';
import { type JsonValue, parseJson } from '../json/json.ts';
import { pickNamed, prepareNamed } from '../json/named.ts';
import { HIDDEN } from '../mask/mask-text.ts';
import { maskReply, replaceNumbers } from '../mask/reply.ts';
import { prepareNumbers, type StoredNumbers } from '../mask/reply-numbers.ts';
import { isWide } from '../proxy/reply-text.ts';
import { type BodyFormat, bodyFormat } from '../text/media-type.ts';

/** The visible part of replies: all; all with numbers and codes masked; or the members that the connection names, also masked. */
export type Sight = 'all' | 'masked' | 'named';

/** A sent number, and its placeholder. */
export interface SentNumber {
  readonly digits: string;
  readonly shown: string;
}

export interface Showing {
  readonly sight: Sight;
  /** Stored numbers, which are masked. */
  readonly numbers: readonly string[];
  /** Numbers of a relayed request, for callers who see all. */
  readonly sent: readonly SentNumber[];
  /** Paths of the members that the sight `named` shows. */
  readonly paths: readonly string[];
  /** Values of the connection, which are always hidden. */
  readonly secrets: readonly string[];
}

/** Shows only the status of a reply. */
export const STATUS_ONLY: Showing = { sight: 'named', numbers: [], sent: [], paths: [], secrets: [] };

/** Status, headers and decoded body of a reply. */
export interface Reply {
  readonly status: number;
  readonly headers: HeaderEntries;
  readonly body: Uint8Array;
  /** The tokens that were put into the body, which are never masked. */
  readonly tokens?: readonly string[];
}

/** A reply without its status. */
type ReadReply = Pick<Reply, 'headers' | 'body'>;

/** A reply as a caller sees it. A withheld one has no headers and, as its body, the named members in JSON, or nothing. */
export interface ShownReply {
  readonly headers: HeaderEntries;
  readonly body: Uint8Array;
  readonly withheld: boolean;
}

const NO_BYTES = new Uint8Array(0);
/** Far above the need of the largest reply, and below the time limit of a thread's job. */
const SHOW_MS = 1_000;
/** Status of a partial reply: a searched value may cross its ends. */
export const PARTIAL_CONTENT = 206;
const JSON_TYPE = /^\s*(?:application\/json|[^;,\s]+\+json)\s*(?:;|$)/i;

function latin1(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** Masks a body as UTF-8, otherwise as Latin-1, in which digits and names of codes are ASCII too. */
function maskBytes(body: Uint8Array, format: BodyFormat, numbers: StoredNumbers): Uint8Array {
  const encoding = isUtf8(body) ? 'utf8' : 'latin1';
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(encoding);
  const masked = maskReply(text, format, numbers);
  return masked === text ? body : Buffer.from(masked, encoding);
}

function withoutMark(body: Uint8Array): Uint8Array {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

/** The named members of a JSON reply; empty for any other reply. */
function namedMembers({ status, headers, body }: Reply, paths: readonly string[]): Uint8Array {
  const isJson = JSON_TYPE.test(headerIn(headers, 'content-type') ?? '') && !isEncoded(headers);
  // In a partial reply, any member could appear at the place of a named one.
  if (paths.length === 0 || !isJson || status === PARTIAL_CONTENT) {
    return NO_BYTES;
  }
  let value: JsonValue;
  try {
    value = parseJson(withoutMark(body));
  } catch {
    return NO_BYTES;
  }
  const shown = pickNamed(value, prepareNamed(paths));
  return shown === undefined ? NO_BYTES : encodeJson(shown);
}

/** Masks a header as one line, since its name may be that of a code. */
function maskHeader(name: string, value: string, numbers: StoredNumbers): HeaderEntries[number] {
  const prefix = `${name}: `;
  const line = maskReply(prefix + value, 'text', numbers);
  return line.startsWith(prefix)
    ? [name, line.slice(prefix.length)]
    : [maskReply(name, 'text', numbers), HIDDEN];
}

/** Tells whether a body may have digits that a search does not find: a coding, a partial reply, or two bytes a character. */
function cannotBeMasked({ status, headers, body }: Reply): boolean {
  return (
    isEncoded(headers) ||
    status === PARTIAL_CONTENT ||
    body.includes(0) ||
    isWide(headerIn(headers, 'content-type'))
  );
}

function formatOf(headers: HeaderEntries): BodyFormat {
  return bodyFormat(headerIn(headers, 'content-type')) ?? 'text';
}

function maskedBody(reply: Reply, numbers: StoredNumbers): Uint8Array {
  if (reply.body.length === 0) {
    return reply.body;
  }
  return cannotBeMasked(reply) ? latin1(HIDDEN) : maskBytes(reply.body, formatOf(reply.headers), numbers);
}

/** Replaces sent numbers by their placeholders. */
function withPlaceholders({ headers, body }: Reply, { sent }: Showing): Uint8Array {
  if (sent.length === 0 || isEncoded(headers)) {
    return body;
  }
  const encoding = isWide(headerIn(headers, 'content-type')) ? 'utf16le' : 'latin1';
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(encoding);
  const replaced = replaceNumbers(text, formatOf(headers), sent);
  return replaced === text ? body : Buffer.from(replaced, encoding);
}

/** The headers for a body without its coding. */
function withoutCoding(headers: HeaderEntries): HeaderEntries {
  return headers.filter(([name]) => name.toLowerCase() !== 'content-encoding');
}

let lastTexts: readonly string[] = [];
let lastSecrets: Secrets | undefined;

/** Prepared secrets; the last are cached, since many requests use one connection. */
function preparedSecrets(texts: readonly string[]): Secrets | undefined {
  if (texts.length !== lastTexts.length || texts.some((text, at) => text !== lastTexts[at])) {
    lastSecrets = prepareSecrets(texts);
    lastTexts = texts;
  }
  return lastSecrets;
}

/** Removes the values of a connection. A body in a coding that cannot be read is hidden. */
function withoutSecrets(reply: ReadReply, texts: readonly string[]): ReadReply {
  const secrets = preparedSecrets(texts);
  if (secrets === undefined) {
    return reply;
  }
  const headers = reply.headers.map(([name, value]) => [name, hideSecretsInText(value, secrets)] as const);
  if (!isEncoded(headers) || reply.body.length === 0) {
    return { headers, body: hideSecrets(reply.body, secrets) };
  }
  return { headers: withoutCoding(headers), body: latin1(HIDDEN) };
}

/** Converts headers within the budget. */
function headersAs(
  headers: HeaderEntries,
  { check }: CpuBudget,
  show: (name: string, value: string) => HeaderEntries[number],
): HeaderEntries {
  return headers.map(([name, value]) => {
    check();
    return show(name, value);
  });
}

/**
 * A third party's reply as the caller of its request sees it. Every reply passes through here. Takes time linear in its
 * length; throws `reply_too_complex` if that is too long.
 */
export function showReply(
  given: Reply,
  showing: Showing,
  budget = createCpuBudget(SHOW_MS, 'reply_too_complex'),
): ShownReply {
  const { sight, numbers, sent, paths, secrets } = showing;
  if (sight === 'named') {
    const { body } = withoutSecrets({ headers: [], body: namedMembers(given, paths) }, secrets);
    budget.check();
    return {
      headers: [],
      body: body.length === 0 ? body : maskBytes(body, 'json', prepareNumbers(numbers, given.tokens)),
      withheld: true,
    };
  }
  const reply = { status: given.status, ...withoutSecrets(given, secrets) };
  budget.check();
  if (sight === 'masked') {
    const own = prepareNumbers(numbers, given.tokens);
    const isHidden = reply.body.length > 0 && isEncoded(reply.headers);
    const headers = isHidden ? withoutCoding(reply.headers) : reply.headers;
    return {
      headers: headersAs(headers, budget, (name, value) => maskHeader(name, value, own)),
      body: maskedBody(reply, own),
      withheld: false,
    };
  }
  const headers = headersAs(reply.headers, budget, (name, value) => [
    name,
    replaceNumbers(value, 'text', sent),
  ]);
  return { headers, body: withPlaceholders(reply, showing), withheld: false };
}

interface PassingReply {
  readonly headers: HeaderEntries;
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
}

/** Removes the values of a connection from a reply that is otherwise unchanged. */
export function withoutSecretsInPassing(reply: PassingReply, texts: readonly string[]): PassingReply {
  const { headers, body } = reply;
  const secrets = preparedSecrets(texts);
  if (secrets === undefined) {
    return reply;
  }
  if (!(body instanceof ReadableStream)) {
    return withoutSecrets({ headers, body }, texts);
  }
  if (isEncoded(headers)) {
    body.cancel().catch(() => undefined);
    return withoutSecrets({ headers, body: latin1(HIDDEN) }, texts);
  }
  return {
    headers: headers.map(([name, value]) => [name, hideSecretsInText(value, secrets)] as const),
    body: body.pipeThrough(new TransformStream(createSecretFilter(secrets))),
  };
}

/** Longer replies are always masked in a thread. */
const SCANNED_BYTES_MAX = 16_384;
/** Shorter runs are masked only if they are a stored number. */
const CARD_DIGITS_MIN = 12;
/** An encoded character, as far as it has letters: `&nbsp;`, `&#x` with 16 digits, `%2D`, `\u002d`. */
const ENCODED = /[%&\\][#\w]{1,20}/g;
/** Escapes that could hide a name, and names of charsets that are not ASCII. */
const UNREADABLE = /\\[ux\\]|%[0-9a-f]{2}|&[#a-z]|utf-?16|ucs-?2|unicode/i;

/** A digit that is not of ASCII. */
const FOREIGN_DIGIT = /(?!\d)[\p{Nd}\p{No}]/u;

/** Tells whether the UTF-8 of a text in Latin-1 has digits of other scripts. */
function hasForeignDigits(text: string): boolean {
  return /[\x80-\xff]/.test(text) && FOREIGN_DIGIT.test(Buffer.from(text, 'latin1').toString());
}

/** Tells whether a text has so many digits without a letter between them, except letters of encoded characters. */
function hasDigits(text: string, wanted: number): boolean {
  const plain = text.replace(ENCODED, (mark) => mark.replace(/[a-z]/gi, ''));
  return new RegExp(`(?:\\d[^a-z\\d]*){${wanted}}`, 'i').test(plain);
}

/** Tells whether a text may contain a number that is masked or shown as a placeholder. */
function mayHaveNumber(text: string, { sight, numbers, sent }: Showing): boolean {
  const lengths =
    sight === 'masked'
      ? [CARD_DIGITS_MIN, ...numbers.map(({ length }) => length)]
      : sent.map(({ digits }) => digits.length);
  return lengths.length > 0 && (hasDigits(text, Math.min(...lengths)) || hasForeignDigits(text));
}

/** Tells whether a text of Latin-1 contains one of these values, or a character that could escape one. */
function mayHaveSecret(text: string, secrets: readonly string[]): boolean {
  return (
    secrets.length > 0 &&
    (/[%&+\\]/.test(text) ||
      secrets.some(
        (secret) => text.includes(secret) || text.includes(Buffer.from(secret).toString('latin1')),
      ))
  );
}

/**
 * Fast check, without a thread, that a reply would be shown unchanged: it is complete and short, has no secret and
 * nothing that could escape one, fewer consecutive digits than the shortest searched number, and, if codes are masked,
 * no part of the name of one.
 */
export function staysAsItIs({ status, headers, body }: Reply, showing: Showing): boolean {
  const { sight, secrets } = showing;
  const isReadable =
    status !== PARTIAL_CONTENT &&
    body.length <= SCANNED_BYTES_MAX &&
    !body.includes(0) &&
    !isEncoded(headers);
  if (sight === 'named' || !isReadable) {
    return false;
  }
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const content = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
  // The letter separates numbers of different parts.
  const text = [...lines, content].join('x');
  return (
    !mayHaveNumber(text, showing) &&
    !mayHaveSecret(text, secrets) &&
    !(sight === 'masked' && (UNREADABLE.test(text) || [...lines, content].some(mayHaveSadName)))
  );
}
