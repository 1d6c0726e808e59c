import type { HeaderEntries } from '../../../server/core/headers.ts';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import type { Showing } from '../../../server/domain/relay/sight.ts';
import type { Lane } from '../../pool/job.ts';
import { bytes, concealed, json, list, message, oneOf, secret } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import { ENDPOINT_RECORDS } from '../endpoint/jobs.ts';
import type { EndpointVersion } from '../key/jobs.ts';
import { OUTGOING } from '../proxy/jobs.ts';
import { type SentFacts, STORED_ITEM, type StoreSettings } from '../vault/jobs.ts';

/** How the cards of a message are stored. */
export interface InboundParams extends StoreSettings, SentFacts {
  readonly rules: InboundRules;
  /** The reference of cards without one. */
  readonly reference: string;
  /** By the place of a card in the message: the first candidate for its token, after a clash. */
  readonly candidates: Readonly<Record<number, number>>;
  /** Bytes of an item. */
  readonly bytesMax: number;
  readonly headers: HeaderEntries;
}

export interface InboundRequestParams extends InboundParams {
  readonly endpoint: EndpointVersion;
  readonly connection: string;
  readonly method: string;
  /** Path after the id of the inbound, from its slash on. */
  readonly path: string;
  readonly query: string;
}

/** Longer messages may have more than 200 cards, each of which takes a fifth of a millisecond. */
const SHORT_BYTES_MAX = 4_096;

function laneOf(body: Uint8Array): Lane {
  return body.length <= SHORT_BYTES_MAX ? 'hot' : 'bulk';
}

/** The items of a message in the order of their first places, and the number of tokens put in. */
const TAKEN = { items: list(STORED_ITEM), stored: json<number>() };

/** Jobs of inbounds, each for all cards of a message. */
export const INBOUND_JOBS = {
  /**
   * Seals the cards of a request with the secret of its inbound, puts their tokens into it, and adds the headers of its connection.
   * `card_not_extracted`, `code_not_extracted`, `content_type_unsupported` and others: the message's fault, nothing is to be stored.
   */
  takeRequest: defineJob({
    lane: ({ body }) => laneOf(body),
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<InboundRequestParams>(),
      records: ENDPOINT_RECORDS,
      secret,
      connection: bytes,
      body: bytes,
    }),
    output: message({ ...TAKEN, request: OUTGOING, showing: concealed(json<Showing>()) }),
  }),
  /** Seals the cards of a reply with the passphrase, and puts their tokens into it. `reply_not_storable` for any fault of it. */
  takeReply: defineJob({
    lane: ({ body }) => laneOf(body),
    share: ({ params }) => singlesOf(params.aid),
    input: message({ params: json<InboundParams>(), blob: bytes, passphrase: secret, body: bytes }),
    output: oneOf({ taken: { ...TAKEN, headers: json<HeaderEntries>(), body: bytes }, warm_miss: {} }),
  }),
};
