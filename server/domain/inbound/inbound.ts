/** Messages whose cards become tokens on their way. */
import { VaultError } from '../../core/errors.ts';
import { type HeaderEntries, headerIn } from '../../core/headers.ts';
import { candidatesIn } from '../reply/cards.ts';
import { bodyFormat } from '../text/media-type.ts';
import { type Document, readDocument } from './document.ts';
import { type Edit, editBytes } from './edits.ts';
import { type Extracted, extractByPaths, extractCards, type FoundCard } from './extract.ts';
import { type InboundRules, type Rules, readRules } from './rules.ts';
import { findNumbers } from './search.ts';
import { strictBody, strictHeaders, strictPath, strictQuery } from './strict.ts';

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

function extract(
  document: Document,
  rules: Rules,
): { readonly found: Extracted; readonly edits: readonly Edit[] } {
  const { sources, strict } = rules;
  const { leaves, text } = document;
  const needsCandidates = sources === 'cards' || strict !== false;
  const level = sources === 'cards' ? 'outer' : 'members';
  const candidates = needsCandidates ? candidatesIn(leaves, text, level) : [];
  const found = sources === 'cards' ? extractCards(candidates) : extractByPaths(document, sources);
  const strays = strict === false ? [] : strictBody(document, candidates, found.edits, rules);
  return { found, edits: [...found.edits, ...strays] };
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

/** Finds the cards of a body, and replaces them later. */
function replaceInBody(
  document: Document | undefined,
  body: Uint8Array,
  rules: Rules,
): { readonly stored: number; readonly finish: (sealCard: SealCard) => Uint8Array } {
  if (document === undefined) {
    return { stored: 0, finish: () => body };
  }
  const { found, edits } = extract(document, rules);
  return {
    stored: found.places,
    finish(sealCard) {
      const tokens = found.cards.map(sealCard);
      return editBytes(document, body, edits, (card) => {
        const token = tokens[card] ?? '';
        // The only character of a token that a form writes in another way.
        return document.format === 'form' ? token.replaceAll(' ', '+') : token;
      });
    },
  };
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
  const { stored, finish } = replaceInBody(readBody(message), message.body, rules);
  const path = strictPath(message.path, rules);
  const query = strictQuery(message.query, rules);
  const headers = strictHeaders(message.headers, rules);
  return { path, query, headers, body: finish(sealCard), stored };
}

/** Tells whether a body of another format holds a card number, in any of the usual charsets. */
function holdsNumber(body: Uint8Array): boolean {
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1').replaceAll('\0', '');
  return findNumbers(text, ['backslash'], ['backslash', 'percent', 'entity']).length > 0;
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
    const { stored, finish } = replaceInBody(readReply(reply), reply.body, rules);
    const headers = strictHeaders(reply.headers, rules);
    return { headers, body: finish(sealCard), stored };
  } catch (error) {
    throw error instanceof VaultError && error.status < 500
      ? new VaultError('reply_not_storable', { cause: error })
      : error;
  }
}
