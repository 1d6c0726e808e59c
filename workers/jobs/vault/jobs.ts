/** Items: stored, opened, updated and listed, with their entries in the action log. */
import type { ErrorCode } from '../../../server/core/errors.ts';
import type { ItemMetadata, MetadataPair } from '../../../server/domain/mask/metadata.ts';
import type { LogOutcome } from '../../crypto/log/outcome.ts';
import {
  bytes,
  floats,
  type Given,
  json,
  list,
  message,
  oneOf,
  optional,
  secret,
  type Taken,
  words,
} from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import { type KeyName, OPENING } from '../key/jobs.ts';
import { laneByRules, RULES } from '../rule/jobs.ts';

/** Who acts, for the action log. */
export interface ActorParams {
  readonly ip: string;
  readonly ua: string;
  readonly source: 'vault' | 'capture' | 'retrieve' | 'proxy' | 'form';
  /** The endpoint that is used, if one is. */
  readonly endpointId?: string | undefined;
  /** The API credential that is used, if one is. */
  readonly credentialId?: string | undefined;
  readonly requestId: string;
  /** ms since 1970. */
  readonly now: number;
}

/** What a caller says of an item beside its data, as it was sent. */
export interface SentFacts {
  /** A duration, see `domain/text/duration.ts`. */
  readonly ttl?: string | undefined;
  /** JSON text, see `domain/mask/metadata.ts`. */
  readonly metadata?: string | undefined;
}

/** What is stored, beside the body. */
export interface StoreParams extends KeyName, ActorParams, SentFacts {
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm: string;
  /** Of a request that may be repeated: makes the same `uuid` token each time. */
  readonly seed?: string | undefined;
  /** When an item of another vault expires, ms since 1970, where no `ttl` was sent. */
  readonly expiresAt?: number | undefined;
  /** A token that another vault made, in place of one of this vault. */
  readonly token?: string | undefined;
  /** The first candidate to try, after a clash. */
  readonly candidate: number;
  readonly rejectTestCards: boolean;
  readonly wantsCard: boolean;
  readonly wantsFingerprint: boolean;
  /** Whether a summary of the card is kept. */
  readonly wantsSummary: boolean;
  /** ms since 1970; 0 = kept. */
  readonly sadExpiresAt: number;
  /** Number of log entries known to exist already. */
  readonly seen: number;
}

/** What a reader sees of an item. */
export interface ViewParams {
  /** Whether the account sees numbers masked. */
  readonly forcedMask: boolean;
  readonly maskFields: readonly string[];
  readonly wantsCard: boolean;
}

/** Names an item. A reference that the item has must be given, and be the same. */
export interface ItemName extends KeyName {
  readonly token: string;
  readonly reference?: string | undefined;
}

/** How one item is read. */
export interface OpenParams extends ItemName, ActorParams, ViewParams {
  readonly seen: number;
}

/** How an item is updated. */
export interface UpdateParams extends ItemName, ActorParams, SentFacts {
  readonly seen: number;
  readonly wantsSummary: boolean;
  readonly sadExpiresAt: number;
  readonly bytesMax: number;
  /** Whether the account sees numbers masked, and so do its rules. */
  readonly forcedMask: boolean;
}

/** Which item is described. */
export interface DescribeItemParams extends ItemName {
  /** `check`: the reference must be given when the item has one. `lookup`: it is only compared when given. */
  readonly rule: 'check' | 'lookup';
  /** ms since 1970; given where an item that has expired is none. */
  readonly now?: number;
}

/** An entry of the action log that is sealed separately. */
export interface SealLogParams extends KeyName, ActorParams {
  readonly token: string;
  readonly action: 'encrypt' | 'decrypt';
  readonly outcome: LogOutcome;
  readonly seen: number;
}

/** Which part of an item's log is read. */
export interface ReadLogParams extends KeyName {
  readonly token: string;
  /** The number of the first entry given; the others follow downwards. */
  readonly newest: number;
  /** The name of the item's account, whose uses alone it logs. */
  readonly account: string;
}

/** An entry of the action log, by the names of the API. */
export interface ShownLogEntry {
  readonly action: 'encrypt' | 'decrypt';
  readonly source: ActorParams['source'];
  /** `ok`, the code of an error, or `unknown` for a code of a later version. */
  readonly outcome: string;
  /** The account, or `ACCOUNT/CREDENTIAL`. */
  readonly actor: string;
  readonly endpoint?: string;
  /** Empty in entries of versions before it was logged. */
  readonly request_id: string;
  readonly ip_address: string;
  readonly user_agent: string;
  /** RFC 3339 in UTC. */
  readonly timestamp: string;
}

/** Which items of a page are wanted, once what the service knows of them can be read. */
export interface ItemFilter {
  readonly reference?: string | undefined;
  readonly referencePrefix?: string | undefined;
  /** All of them must match. */
  readonly metadata?: readonly MetadataPair[] | undefined;
  /** ms since 1970; exclusive. */
  readonly expiresBefore?: number | undefined;
}

/** Which items are listed. */
export interface ListParams extends KeyName, ItemFilter {
  /** ms since 1970; what has expired is not listed. */
  readonly now: number;
}

/** How the items of a page are read. */
export interface DecryptItemsParams extends KeyName, ActorParams, ViewParams, ItemFilter {
  /**
   * The references that were given for items that a caller has named, null for none. Each of these is then opened or fails
   * on its own, as a single one would, and its text has no `stored_at`.
   */
  readonly named?: readonly (string | null)[] | undefined;
}

/** Why one of several items has no result, as a single one would fail. */
export interface ItemFault {
  readonly index: number;
  readonly code: ErrorCode;
}

/** What may be said of a card without its number. */
export interface CardFacts {
  /** What may be shown: the first 8 digits of a long number, the first 6 of a shorter one. */
  readonly bin?: string;
  /** The first 8 digits, by which issuers are looked up; never shown. */
  readonly issuerDigits?: string;
  readonly brand?: string;
}

/** What the server knows of an item that it is to write. */
export interface StoredFacts {
  readonly token: string;
  readonly gen: number;
  readonly candidate: number;
  /** ms since 1970; 0 = kept, or nothing to keep. */
  readonly sadExpiresAt: number;
  readonly card?: CardFacts | undefined;
  readonly reference?: string | undefined;
  /** From when on it is gone, ms since 1970. */
  readonly expiresAt?: number | undefined;
  readonly metadata?: ItemMetadata | undefined;
  /** 32 hex digits, if wanted. */
  readonly fingerprint?: string | undefined;
  /** The bytes that both parts of it have alike, and other items of the same minute. */
  readonly shared?: readonly [from: number, to: number] | undefined;
}

/** The parts of an item to be written; `sad`, `refMember`, `identity` and `digests` are empty where there is none. */
const STORED = {
  facts: json<StoredFacts>(),
  /** Envelope and content. */
  item: bytes,
  meta: bytes,
  /** Sensitive authentication data, sealed. */
  sad: bytes,
  /** The item's member of the reference index. */
  refMember: bytes,
  logEntry: bytes,
  /** Shows whether a token that is taken already stands for the same number. */
  identity: bytes,
  /** What the metadata index has of it. */
  digests: bytes,
};
/** An item to be written. */
export const STORED_PARTS = oneOf({ stored: STORED });
/** The same in a thread and on the server's side. */
export type StoredParts = Taken<typeof STORED_PARTS>;

/** An item as it lies in Redis (`sad` may be empty), and the last 16 bytes of the newest entry of its log. */
export const SEALED_ITEM = message({ item: bytes, meta: bytes, sad: bytes, logTail: bytes });
/** Byte strings in one piece. Where each ends stands in `ends`; one that ends where the one before does is empty. */
export const PACKED = message({ bytes, ends: words });
/** The same on both sides. */
export type Packed = Taken<typeof PACKED>;

/** A page of items as the store reads it. */
export const PAGE = message({
  /** u16 per item, big-endian: index of its bucket among those of the page. */
  order: bytes,
  tokens: json<readonly string[]>(),
  /** ms since 1970 per item. */
  storedAt: floats,
  /** The items in RESP2, as `ItemStore.readMany` gives them. */
  replies: bytes,
});
/** A page as the server gives it. */
export type PageFields = Given<typeof PAGE>;
/** A page as a thread reads it. */
export type ThreadPage = Taken<typeof PAGE>;

/** Jobs on items. A passphrase is needed where a blob or an opening is given, and nowhere else. */
export const ITEM_JOBS = {
  /** Seals an item under a fresh token. `number_missing`, `test_card`, `invalid_request`: the body's fault. */
  storeItem: defineJob({
    lane: 'hot',
    share: ({ params }) => singlesOf(params.aid),
    input: message({ params: json<StoreParams>(), blob: bytes, passphrase: secret, body: bytes }),
    output: oneOf({ stored: STORED, warm_miss: {} }),
  }),
  /** The item's text as its reader may see it, and the log entry of the reading. */
  openItem: defineJob({
    lane: laneByRules,
    share: ({ params }) => singlesOf(params.aid),
    input: message({ params: json<OpenParams>(), opening: OPENING, rules: RULES, item: SEALED_ITEM }),
    output: oneOf({ opened: { text: bytes, logEntry: bytes, card: json<CardFacts>() }, warm_miss: {} }),
  }),
  /** Merges changes into an item and seals it again. */
  updateItem: defineJob({
    lane: laneByRules,
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<UpdateParams>(),
      opening: OPENING,
      rules: RULES,
      item: SEALED_ITEM,
      changes: bytes,
    }),
    output: oneOf({ stored: STORED, warm_miss: {} }),
  }),
  /** The item's member of the reference index, empty for none. Needs no passphrase. */
  describeItem: defineJob({
    lane: 'hot',
    share: ({ params }) => singlesOf(params.aid),
    input: message({ params: json<DescribeItemParams>(), meta: bytes }),
    output: bytes,
  }),
  /** Metadata without sensitive authentication data; undefined when the item has none. */
  dropSad: defineJob({
    lane: 'hot',
    input: message({ name: json<KeyName & { readonly token: string }>(), meta: bytes }),
    output: optional(bytes),
  }),
  /** An entry of the action log that follows the entry with the given last bytes. */
  sealLog: defineJob({
    lane: 'hot',
    share: ({ params }) => singlesOf(params.aid),
    input: message({ params: json<SealLogParams>(), tail: bytes }),
    output: bytes,
  }),
  /** Opens entries of the action log, newest first; `integrity_failed` when they do not follow each other. */
  readLog: defineJob({
    lane: 'hot',
    share: ({ params }) => singlesOf(params.aid),
    input: message({ params: json<ReadLogParams>(), entries: list(bytes) }),
    output: json<readonly ShownLogEntry[]>(),
  }),
  /**
   * The items of a page without their data, each as JSON text; empty for one that is gone or not wanted. A comma stands
   * before each text but the first.
   */
  listItems: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({ params: json<ListParams>(), page: PAGE }),
    output: PACKED,
  }),
  /**
   * The items of a page with their data, as in `listItems`, each with its log entry; both empty for one that is gone.
   * `cards` only when wanted.
   */
  decryptItems: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({
      params: json<DecryptItemsParams>(),
      opening: OPENING,
      rules: RULES,
      page: PAGE,
    }),
    output: oneOf({
      opened: {
        texts: PACKED,
        /** For each bucket of the page, the entries of its items. */
        logEntries: list(PACKED),
        cards: json<readonly (CardFacts | null)[]>(),
        /** Of named items. */
        failed: json<readonly ItemFault[]>(),
      },
      warm_miss: {},
    }),
  }),
};
