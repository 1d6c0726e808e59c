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
  local,
  message,
  oneOf,
  optional,
  secret,
  type Taken,
  text,
  words,
} from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import { type KeyName, OPENING } from '../key/jobs.ts';
import { laneByRules, RULES } from '../rule/jobs.ts';

/** The origin of a request. */
export interface RequestOrigin {
  readonly requestId: string;
  /** The address of its client. */
  readonly ip: string;
  readonly userAgent: string;
  /** The way by which it reaches data, as action logs name it. */
  readonly source: 'vault' | 'capture' | 'retrieve' | 'proxy' | 'form' | 'inbound';
}

/** The actor, for the action log. */
export interface ActorParams extends RequestOrigin {
  /** The endpoint that is used, if one is. */
  readonly endpointId?: string | undefined;
  /** The API credential that is used, if one is, and its name. */
  readonly credentialId?: string | undefined;
  readonly credentialName?: string | undefined;
  /** ms since 1970. */
  readonly now: number;
}

/** Facts of an item in addition to its data, as they were sent. */
export interface SentFacts {
  /** A duration, see `domain/text/time.ts`. */
  readonly ttl?: string | undefined;
  /** JSON text, see `domain/mask/metadata.ts`. */
  readonly metadata?: string | undefined;
}

/** Options of an item to store, as they were sent. */
export interface StoreOptions extends SentFacts {
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
}

/** The number of log entries that a new one follows. */
export interface Seen {
  readonly seen: number;
}

/** Options of one or several items that are stored. */
export interface StoreSettings extends KeyName, ActorParams {
  readonly algorithm: string;
  /** The first candidate to try, after a clash. */
  readonly candidate: number;
  readonly rejectTestCards: boolean;
  readonly wantsCard: boolean;
  readonly wantsFingerprint: boolean;
  /** True if a summary of the card is kept. */
  readonly wantsSummary: boolean;
  /** ms since 1970; 0 = kept. */
  readonly sadExpiresAt: number;
}

/** Facts of an item to store, in addition to its data. */
export interface StoreParams extends StoreSettings, StoreOptions, Seen {
  /** Of a request that may be repeated: makes the same `uuid` token each time. */
  readonly seed?: string | undefined;
  /** The expiry of an item of another vault, ms since 1970, if no `ttl` was sent. */
  readonly expiresAt?: number | undefined;
  /** A token that another vault made, in place of one of this vault. */
  readonly token?: string | undefined;
}

/** Options that a batch has for all its items. */
export interface BatchHead {
  readonly user: string;
  /** The place of `user` in the body of a request. */
  readonly field?: string | undefined;
  readonly return_fingerprint?: boolean | undefined;
  readonly return_card_metadata?: boolean | undefined;
}

/** Options of the items of a batch; `algorithm` is the default of items without one. */
export interface StoreItemsParams extends StoreSettings {
  /** The place of each in the batch, for their errors. */
  readonly places: readonly number[];
  readonly refuseUnknown: boolean;
  readonly bytesMax: number;
  /** Of a request that may be repeated: one for each item. */
  readonly seeds?: readonly string[] | undefined;
  /** Set for lines of a file, which may have members of an export: whether they keep their tokens. */
  readonly imported?: { readonly keepsTokens: boolean } | undefined;
}

/** The error of an item that is not stored. */
export interface ItemFailure {
  readonly failed: ErrorCode;
  readonly field?: string | undefined;
  readonly expected?: string | undefined;
}

/** Changes of an item before its reader gets it. */
export interface ViewParams {
  /** True if the account sees numbers masked. */
  readonly forcedMask: boolean;
  readonly maskFields: readonly string[];
  readonly wantsCard: boolean;
}

/** Names an item of a key. A reference that the item has must be given, and be the same. */
export interface ItemRef {
  readonly token: string;
  readonly reference?: string | undefined;
  /** The version that the data of the item must have, as it was shown; undefined for any. */
  readonly ifMatch?: string | undefined;
}

/** Names an item. */
export interface ItemName extends KeyName, ItemRef {}

/** Options of an update. */
export interface UpdateParams extends ItemName, ActorParams, SentFacts, Seen {
  readonly wantsSummary: boolean;
  readonly wantsFingerprint: boolean;
  readonly sadExpiresAt: number;
  readonly bytesMax: number;
  /** True if the account sees numbers masked, and so do its rules. */
  readonly forcedMask: boolean;
}

/** An entry of the action log, by the names of the API. */
export interface ShownLogEntry {
  readonly action: 'encrypt' | 'decrypt';
  readonly source: ActorParams['source'];
  /** `ok`, the code of an error, or `unknown` for a code of a later version. */
  readonly outcome: string;
  /** The account, or `ACCOUNT/CREDENTIAL`. */
  readonly actor: string;
  /** The name that the credential had. */
  readonly actor_name?: string;
  readonly endpoint?: string;
  /** Empty in entries of versions before it was logged. */
  readonly request_id: string;
  readonly ip_address: string;
  readonly user_agent: string;
  /** RFC 3339 in UTC. */
  readonly timestamp: string;
}

/** A successful reading of an item, by the names of the API. */
export interface ShownReading extends ShownLogEntry {
  readonly user: string;
  readonly token: string;
  readonly reference?: string;
}

/** Selects readings. */
export interface AccessFilter {
  /** As the entries have it. */
  readonly actor?: string | undefined;
  /** An address or a CIDR. */
  readonly source_ip?: string | undefined;
  readonly endpoint?: string | undefined;
}

/** Selects items of a page by their opened metadata. */
export interface ItemFilter {
  readonly reference?: string | undefined;
  readonly reference_prefix?: string | undefined;
  /** All of them must match. */
  readonly metadata?: readonly MetadataPair[] | undefined;
  /** The last four digits of the card, of items with a summary. */
  readonly last_four?: string | undefined;
  /** ms since 1970; exclusive. */
  readonly expires_before?: number | undefined;
}

/** Options of a reseal. */
export interface ResealParams extends KeyName {
  /** True if summaries of cards are kept. */
  readonly wantsSummary: boolean;
  /** ms since 1970. */
  readonly now: number;
}

/** The error of one of several items, as a single one would fail. */
export interface ItemFault {
  readonly index: number;
  readonly code: ErrorCode;
}

/** Facts of a card without its number. */
export interface CardFacts {
  /** The digits that may be shown: the first 8 of a long number, the first 6 of a shorter one. */
  readonly bin?: string;
  /** The first 8 digits, by which issuers are looked up; never shown. */
  readonly issuerDigits?: string;
  readonly brand?: string;
}

/** Facts of an item that follow from its data and from its request. */
export interface ItemFacts {
  readonly card?: CardFacts | undefined;
  /** ms since 1970. */
  readonly expiresAt?: number | undefined;
  readonly metadata?: ItemMetadata | undefined;
  /** 32 hex digits, if wanted. */
  readonly fingerprint?: string | undefined;
}

/** Facts of a sealed item that the server writes. */
export interface StoredFacts extends ItemFacts {
  readonly token: string;
  readonly gen: number;
  readonly candidate: number;
  /** ms since 1970; 0 = kept, or nothing to keep. */
  readonly sadExpiresAt: number;
  readonly reference?: string | undefined;
  /** The version of its data, in hex. */
  readonly version: string;
  /** A patch: the number of the item was in its data. */
  readonly hasNumber?: true | undefined;
}

/** Facts of a sealed item of a batch. */
export interface BatchFacts extends StoredFacts {
  /** Set if the caller has chosen the token. */
  readonly isKept?: true;
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
  /** Its entries of the metadata index. */
  digests: bytes,
};
/** Byte strings of a stored item in a batch: all of `STORED` but the facts, in this order. */
export const STORED_STRINGS = 7;
/** An item to be written, of several. */
export const STORED_ITEM = message(STORED);
/** An item to be written. */
export const STORED_PARTS = oneOf({ stored: STORED });
export type StoredParts = Taken<typeof STORED_PARTS>;

/** An item as stored in Redis (`sad` may be empty), and the last 16 bytes of the newest entry of its log. */
export const SEALED_ITEM = message({ item: bytes, meta: bytes, sad: bytes, logTail: bytes });
/** Concatenated byte strings, and the end of each; an empty one ends at the end of the one before. */
export const PACKED = message({ bytes, ends: words });
export type Packed = Taken<typeof PACKED>;

/** A page of items as the store reads it. */
export const PAGE = message({
  /** u16 per item, big-endian: index of its bucket among those of the page. */
  order: bytes,
  tokens: json<readonly string[]>(),
  /** ms since 1970 per item. */
  storedAt: floats,
  /** The items of each bucket in RESP2, as `ItemStore.readMany` returns them. */
  replies: list(bytes),
});
export type PageFields = Given<typeof PAGE>;
export type ThreadPage = Taken<typeof PAGE>;

/** Jobs on items. A passphrase is needed where a blob or an opening is given, and nowhere else. */
export const ITEM_JOBS = {
  /** Seals an item under a fresh token. `number_missing`, `test_card`, `invalid_request`: the body's fault. */
  storeItem: defineJob({
    lane: 'hot',
    input: message({ params: json<StoreParams>(), blob: bytes, passphrase: secret, body: bytes }),
    output: oneOf({ stored: STORED, warm_miss: {} }),
  }),
  /** The item's text as its reader may see it, and the log entry of the reading. */
  openItem: defineJob({
    lane: laneByRules,
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<ItemName & ActorParams & ViewParams & Seen>(),
      opening: OPENING,
      rules: RULES,
      item: SEALED_ITEM,
    }),
    output: oneOf({
      opened: { text: bytes, logEntry: bytes, card: json<CardFacts>(), version: text },
      warm_miss: {},
    }),
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
    input: message({
      params: json<
        ItemName & {
          /** `check`: the reference must be given when the item has one. `lookup`: it is only compared when given. */
          readonly rule: 'check' | 'lookup';
          /** ms since 1970; rejects an item that has expired by then. */
          readonly now?: number;
        }
      >(),
      meta: bytes,
    }),
    output: bytes,
  }),
  /** Metadata without sensitive authentication data; undefined when the item has none. */
  dropSad: defineJob({
    lane: 'hot',
    input: message({ name: json<ItemName>(), meta: bytes }),
    output: optional(bytes),
  }),
  /** An entry of the action log that follows the entry with the given last bytes. */
  sealLog: defineJob({
    lane: 'hot',
    input: message({
      params: json<
        ActorParams &
          Seen &
          KeyName & {
            readonly token: string;
            readonly action: 'encrypt' | 'decrypt';
            readonly outcome: LogOutcome;
          }
      >(),
      tail: bytes,
    }),
    output: bytes,
  }),
  /** Opens entries of the action log, newest first; `integrity_failed` when they do not follow each other. */
  readLog: defineJob({
    lane: 'hot',
    input: message({
      params: json<
        KeyName & {
          readonly token: string;
          /** The number of the first entry; the others follow downwards. */
          readonly newest: number;
          /** The name of the item's account: the log has no uses of others. */
          readonly account: string;
        }
      >(),
      entries: list(bytes),
    }),
    output: json<readonly ShownLogEntry[]>(),
  }),
  /** Opens entries of logs of items of an account, each with its metadata; null for one that is no wanted reading. */
  readAccess: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({
      params: json<{
        readonly aid: string;
        /** The name of the account. */
        readonly account: string;
        /** The item of each entry, and the name of its key. */
        readonly places: readonly { readonly kid: string; readonly user: string; readonly token: string }[];
        readonly filter: AccessFilter;
      }>(),
      entries: list(bytes),
      metas: list(bytes),
    }),
    output: json<readonly (ShownReading | null)[]>(),
  }),
  /**
   * The items of a page without their data, each as JSON text; empty for one that is gone or not wanted. A comma stands
   * before each text but the first.
   */
  listItems: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({
      /** `now`, in ms since 1970: expired items are not listed. */
      params: json<KeyName & ItemFilter & { readonly now: number }>(),
      page: PAGE,
    }),
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
      params: json<
        KeyName &
          ActorParams &
          ViewParams &
          ItemFilter & {
            /**
             * The references of items that a caller has named, null for none. Each of these is opened or fails
             * independently, as a single one would, and its text has no `stored_at`.
             */
            readonly named?: readonly (string | null)[] | undefined;
          }
      >(),
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
  /** The number of items of a page that a reseal would seal anew, as far as their metadata shows it. */
  countUnsealed: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({
      params: json<ResealParams & { readonly gen: number }>(),
      page: PAGE,
    }),
    output: json<number>(),
  }),
  /** Seals the items of a page under the newest generation of their key, with the data that they have, as `resealStored`. */
  resealItems: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({
      params: json<ResealParams>(),
      opening: OPENING,
      page: PAGE,
    }),
    output: oneOf({
      /**
       * For each item: the last 16 bytes of its metadata, then as new ones item, metadata, sensitive data, and entries of the
       * metadata index; or all empty.
       */
      resealed: { parts: PACKED },
      warm_miss: {},
    }),
  }),
};

/** Jobs on batches. */
export const BATCH_JOBS = {
  /** Splits the body of a batch; `invalid_json`, `invalid_request` and `unknown_parameter` reject the whole body. */
  splitBatch: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({
      aid: local<string>(),
      params: json<{ readonly refuseUnknown: boolean; readonly itemsMax: number }>(),
      body: bytes,
    }),
    output: message({ head: json<BatchHead>(), items: list(bytes) }),
  }),
  /** Seals items of a batch. A rejected item does not stop the others. */
  storeItems: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({ params: json<StoreItemsParams>(), blob: bytes, passphrase: secret, items: list(bytes) }),
    output: oneOf({
      stored: {
        facts: json<readonly (BatchFacts | ItemFailure)[]>(),
        /** `STORED_STRINGS` for each item, empty for a rejected one. */
        parts: PACKED,
      },
      warm_miss: {},
    }),
  }),
};
