/** Messages whose cards become tokens on their way. */
import { isAscii } from 'node:buffer';
import { VaultError } from '../../core/errors.ts';
import { type HeaderEntries, headerIn } from '../../core/headers.ts';
import { candidatesIn } from '../reply/cards.ts';
import { bodyFormat } from '../text/media-type.ts';
import { type Document, readDocument } from './document.ts';
import { type Edit, editBytes } from './edits.ts';
import { extractByPaths, extractCards, type FoundCard } from './extract.ts';
import { type InboundRules, type Rules, readRules } from './rules.ts';
import { findNumbers, knownNumbers } from './search.ts';
import { type Strictness, strictBody, strictHeaders, strictPath, strictQuery } from './strict.ts';

/** A request as it goes on, but for its cards. */
export interface InboundMessage {
  /** Behind the id of the inbound, as it was sent. */
  readonly path: string;
  /** With its question mark; empty without one. */
  readonly query: string;
  /** Those that go on, without those of the connection. */
  readonly headers: HeaderEntries;
  readonly body: Uint8Array;
}

/** A third party's reply, without a content coding. */
export type InboundReply = Pick<InboundMessage, 'headers' | 'body'>;

/** Stores a card, and returns the token for its place. */
export type SealCard = (card: FoundCard) => string;

interface Stored {
  /** Number of places with a token. */
  readonly stored: number;
}

const BODY_BYTES_MAX = 1_048_576;

/** The cards of a body, and what replaces them and what else must not pass. */
interface ReadBody {
  readonly cards: readonly FoundCard[];
  readonly edits: readonly Edit[];
  readonly stored: number;
  readonly strictness: Strictness;
}

function extract(document: Document | undefined, rules: Rules): ReadBody {
  if (document === undefined) {
    return { cards: [], edits: [], stored: 0, strictness: { rules, known: new Set() } };
  }
  const { sources, strict } = rules;
  const { leaves, text } = document;
  const needsCandidates = sources === 'cards' || strict !== false;
  const level = sources === 'cards' ? 'outer' : 'members';
  const candidates = needsCandidates ? candidatesIn(leaves, text, level) : [];
  const { cards, edits, places } =
    sources === 'cards' ? extractCards(candidates) : extractByPaths(document, sources);
  const known = knownNumbers(cards.map(({ object }) => String(object.get('card_number'))));
  const strictness = { rules, known };
  const strays = strict === false ? [] : strictBody(document, candidates, edits, strictness);
  return { cards, edits: [...edits, ...strays], stored: places, strictness };
}

/** Reads a body; undefined for an empty one. */
function readBody({ headers, body }: InboundReply): Document | undefined {
  if (body.length === 0) {
    return undefined;
  }
  if (body.length > BODY_BYTES_MAX) {
    throw new VaultError('body_too_large');
  }
  if ((headerIn(headers, 'content-encoding') ?? 'identity').trim().toLowerCase() !== 'identity') {
    throw new VaultError('content_encoding_unsupported');
  }
  return readDocument(body, headerIn(headers, 'content-type'));
}

/** The bytes of a body with tokens for its cards. */
function replaceInBody(
  document: Document | undefined,
  body: Uint8Array,
  { cards, edits }: ReadBody,
  sealCard: SealCard,
): Uint8Array {
  if (document === undefined) {
    return body;
  }
  const tokens = cards.map(sealCard);
  return editBytes(document, body, edits, (card) => {
    const token = tokens[card] ?? '';
    // The only character of a token that a form writes in another way.
    return document.format === 'form' ? token.replaceAll(' ', '+') : token;
  });
}

/**
 * Replaces each card of a request by its token and each code by as many `*`; everything else is unchanged, byte for byte.
 * `sealCard` is called once for each distinct card, in order, and only when nothing is refused. Throws
 * `content_type_unsupported`, `charset_unsupported`, `content_encoding_unsupported`, `invalid_json`, `json_too_deep`,
 * `invalid_request`, `track_data_refused`, `reference_sensitive`, `card_not_extracted`, `code_not_extracted`, and
 * `body_too_large` also for more than 1,000 cards. Takes time linear in the length.
 */
export function replaceCards(
  message: InboundMessage,
  given: InboundRules,
  sealCard: SealCard,
): InboundMessage & Stored {
  const rules = readRules(given);
  const document = readBody(message);
  const read = extract(document, rules);
  const { stored, strictness } = read;
  const path = strictPath(message.path, strictness);
  const query = strictQuery(message.query, strictness);
  const headers = strictHeaders(message.headers, strictness);
  return { path, query, headers, body: replaceInBody(document, message.body, read, sealCard), stored };
}

/** Tells whether a body of another format holds a card number, in any of the usual charsets. */
function holdsNumber(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const narrow = bytes.toString('latin1').replaceAll('\0', '');
  // Digits of other scripts are not in ISO-8859-1.
  const texts = isAscii(bytes) ? [narrow] : [narrow, bytes.toString(), ...wideTexts(bytes)];
  return texts.some(
    (text) => findNumbers(text, ['backslash'], ['backslash', 'percent', 'entity'], new Set()).length > 0,
  );
}

/** The text of UTF-16 in both orders of bytes. */
function wideTexts(bytes: Buffer): readonly string[] {
  const even = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)));
  return [even.toString('utf16le'), even.swap16().toString('utf16le')];
}

/** Reads a reply's body; undefined for an empty one, and for another format that holds no number. */
function readReply(reply: InboundReply): Document | undefined {
  try {
    return readBody(reply);
  } catch (error) {
    const isOther = (bodyFormat(headerIn(reply.headers, 'content-type')) ?? 'text') === 'text';
    if (isOther && isUnread(error) && !holdsNumber(reply.body)) {
      return undefined;
    }
    throw error;
  }
}

/** True for the errors of a body that is of another format or charset, or not of its own. */
function isUnread(error: unknown): boolean {
  return (
    error instanceof VaultError && !['body_too_large', 'content_encoding_unsupported'].includes(error.code)
  );
}

/**
 * Replaces the cards of a third party's reply like those of a request. A reply of another format passes if it holds no
 * number. Throws `reply_not_storable`, also for what `sealCard` refuses.
 */
export function replaceReplyCards(
  reply: InboundReply,
  given: InboundRules,
  sealCard: SealCard,
): InboundReply & Stored {
  const rules = readRules(given);
  try {
    const document = readReply(reply);
    const read = extract(document, rules);
    const headers = strictHeaders(reply.headers, read.strictness);
    return { headers, body: replaceInBody(document, reply.body, read, sealCard), stored: read.stored };
  } catch (error) {
    throw error instanceof VaultError && error.status < 500
      ? new VaultError('reply_not_storable', { cause: error })
      : error;
  }
}
