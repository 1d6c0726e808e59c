/** Third parties' replies as callers see them. Every reply goes through {@link showReply}. */
import { isUtf8 } from 'node:buffer';
import { type CpuBudget, createCpuBudget } from '../../core/cpu-budget.ts';
import { type HeaderEntries, headerIn, isEncoded } from '../../core/headers.ts';
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
import { maskReply, prepareNumbers, replaceNumbers, type StoredNumbers } from '../mask/reply.ts';
import { isWide } from '../proxy/reply-text.ts';
import { type BodyFormat, bodyFormat } from '../text/media-type.ts';

/**
 * The part of replies that a caller sees: all; all with numbers and codes masked; or the members that the connection names, masked
 * too.
 */
export type Sight = 'all' | 'masked' | 'named';

/** A number that was sent, and the placeholder that is shown for it. */
export interface SentNumber {
  readonly digits: string;
  readonly shown: string;
}

/** Settings by which the reply to one request is shown. */
export interface Showing {
  readonly sight: Sight;
  /** The stored numbers of the request, which are masked. */
  readonly numbers: readonly string[];
  /** Numbers of a relayed request, for a caller who sees all. */
  readonly sent: readonly SentNumber[];
  /** The paths of the members that are shown where only named ones are. */
  readonly paths: readonly string[];
  /** The connection's own values, which are always hidden. */
  readonly secrets: readonly string[];
}

/** Settings by which the status of a reply alone is shown. */
export const STATUS_ONLY: Showing = { sight: 'named', numbers: [], sent: [], paths: [], secrets: [] };

/** The head and the decoded body of a reply. */
export interface Reply {
  readonly status: number;
  readonly headers: HeaderEntries;
  readonly body: Uint8Array;
}

/** A reply that was read, without its status. */
type ReadReply = Pick<Reply, 'headers' | 'body'>;

/** A reply as a caller sees it. A withheld one has no headers, and as its body the named members as JSON, or nothing. */
export interface ShownReply {
  readonly headers: HeaderEntries;
  readonly body: Uint8Array;
  readonly withheld: boolean;
}

const NO_BYTES = new Uint8Array(0);
/** Far more than the largest reply takes, and less than a thread may work on one job. */
const SHOW_MS = 1_000;
/** The status of a part of a reply: a searched value may begin or end outside of it. */
export const PARTIAL_CONTENT = 206;
const JSON_TYPE = /^\s*(?:application\/json|[^;,\s]+\+json)\s*(?:;|$)/i;

/** The bytes of a text of Latin-1. */
function latin1(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** Masks a body: as UTF-8, or byte by byte where it is something else, in which digits and names of codes are ASCII too. */
function maskBytes(body: Uint8Array, format: BodyFormat, numbers: StoredNumbers): Uint8Array {
  const encoding = isUtf8(body) ? 'utf8' : 'latin1';
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(encoding);
  const masked = maskReply(text, format, numbers);
  return masked === text ? body : Buffer.from(masked, encoding);
}

/** JSON without the byte order mark that some servers put before it. */
function withoutMark(body: Uint8Array): Uint8Array {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

/** The members of a JSON reply that its connection names; empty where there is none of them, or the reply is no JSON. */
function namedMembers({ status, headers, body }: Reply, paths: readonly string[]): Uint8Array {
  const isJson = JSON_TYPE.test(headerIn(headers, 'content-type') ?? '') && !isEncoded(headers);
  // A caller who asks for a part of a reply could have any member of it stand where a named one does.
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

/** A header as one line, since its name may be that of a code. */
function maskHeader(name: string, value: string, numbers: StoredNumbers): HeaderEntries[number] {
  const prefix = `${name}: `;
  const line = maskReply(prefix + value, 'text', numbers);
  return line.startsWith(prefix)
    ? [name, line.slice(prefix.length)]
    : [maskReply(name, 'text', numbers), HIDDEN];
}

/** Whether digits may stand in a body in a form in which they are not found: a part of a reply, or two bytes a character. */
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

/** A body whose sent numbers are their placeholders. */
function withPlaceholders({ headers, body }: Reply, { sent }: Showing): Uint8Array {
  if (sent.length === 0 || isEncoded(headers)) {
    return body;
  }
  const encoding = isWide(headerIn(headers, 'content-type')) ? 'utf16le' : 'latin1';
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString(encoding);
  const replaced = replaceNumbers(text, formatOf(headers), sent);
  return replaced === text ? body : Buffer.from(replaced, encoding);
}

/** The headers of a body that is replaced by one that is not encoded. */
function withoutCoding(headers: HeaderEntries): HeaderEntries {
  return headers.filter(([name]) => name.toLowerCase() !== 'content-encoding');
}

let lastTexts: readonly string[] = [];
let lastSecrets: Secrets | undefined;

/** Texts as they are searched for. The last ones are remembered, since many requests go through one connection. */
function preparedSecrets(texts: readonly string[]): Secrets | undefined {
  if (texts.length !== lastTexts.length || texts.some((text, at) => text !== lastTexts[at])) {
    lastSecrets = prepareSecrets(texts);
    lastTexts = texts;
  }
  return lastSecrets;
}

/** A reply without the values of its connection. A body in a coding that cannot be read is hidden. */
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

/** Headers as `show` gives each, within the budget. */
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
 * A third party's reply as the caller of its request sees it. Works in a time that is linear in its length; throws
 * `reply_too_complex` where that is too long all the same.
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
      body: body.length === 0 ? body : maskBytes(body, 'json', prepareNumbers(numbers)),
      withheld: true,
    };
  }
  const reply = { status: given.status, ...withoutSecrets(given, secrets) };
  budget.check();
  if (sight === 'masked') {
    const own = prepareNumbers(numbers);
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

/** Headers and body of a reply; the body may be a stream. */
interface PassingReply {
  readonly headers: HeaderEntries;
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
}

/** A reply that is passed on as it comes, without the values of its connection. */
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
