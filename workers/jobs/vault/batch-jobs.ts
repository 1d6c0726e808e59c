/** Batches: many items of one key that are stored with one request. */
import type { ErrorCode } from '../../../server/core/errors.ts';
import { bytes, json, list, local, message, oneOf, secret } from '../codec.ts';
import { defineJob } from '../define.ts';
import type { KeyName } from '../key/jobs.ts';
import { type ActorParams, PACKED, type StoredFacts } from './jobs.ts';

/** What a batch says of all its items. */
export interface BatchHead {
  readonly user: string;
  readonly return_fingerprint: boolean;
  readonly return_card_metadata?: boolean;
}

/** How items of a batch are stored. */
export interface StoreItemsParams extends KeyName, ActorParams {
  /** The place of each in the batch, for their errors. */
  readonly places: readonly number[];
  /** Where an item says nothing of it. */
  readonly algorithm: string;
  readonly rejectTestCards: boolean;
  readonly wantsCard: boolean;
  readonly wantsFingerprint: boolean;
  readonly wantsSummary: boolean;
  readonly refuseUnknown: boolean;
  /** ms since 1970; 0 = kept. */
  readonly sadExpiresAt: number;
  readonly bytesMax: number;
  /** The first candidate to try, after a clash of the only item. */
  readonly candidate: number;
  /** Of a request that may be repeated: one for each item. */
  readonly seeds?: readonly string[] | undefined;
  /** Of lines of a file, which may have members of an export: whether their tokens stay theirs. */
  readonly imported?: { readonly keepsTokens: boolean } | undefined;
}

/** Why an item is not stored. */
export interface ItemFailure {
  readonly failed: ErrorCode;
  readonly field?: string | undefined;
  readonly expected?: string | undefined;
}

/** How an item with a token of its own came to it. */
export interface BatchFacts extends StoredFacts {
  /** Whether the caller has chosen the token. */
  readonly isKept?: true;
}

/** The byte strings of a stored item, in this order: envelope and content, metadata, and what `StoredParts` names. */
export const STORED_STRINGS = 7;

/** Jobs on batches. */
export const BATCH_JOBS = {
  /** Takes the body of a batch apart; `invalid_json`, `invalid_request` and `unknown_parameter` are the whole body's fault. */
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
  /** Seals items of a batch, of which one that is refused does not stop the others. */
  storeItems: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({ params: json<StoreItemsParams>(), blob: bytes, passphrase: secret, items: list(bytes) }),
    output: oneOf({
      stored: {
        facts: json<readonly (BatchFacts | ItemFailure)[]>(),
        /** `STORED_STRINGS` for each item, empty for one that is refused. */
        parts: PACKED,
      },
      warm_miss: {},
    }),
  }),
};
