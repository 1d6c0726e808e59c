import type { VaultEvent } from '../../../server/core/event-types.ts';
import { bytes, json, list, message, text } from '../codec.ts';
import { defineJob } from '../define.ts';
import type { KeyName } from '../key/jobs.ts';

/** A change of an item, or a reading, as its outbox has it. */
export interface ItemChange {
  readonly what: 'created' | 'updated' | 'read' | 'deleted' | 'expired';
  /** Equal for the same change, and for no other. */
  readonly id: string;
  readonly token: string;
  /** Ms since 1970; of an expired item when it expired. */
  readonly timeMs: number;
  readonly reference?: string | undefined;
  readonly expiresAtMs?: number | undefined;
  /** The endpoint and the credential that were used; empty for none. */
  readonly endpoint: string;
  readonly credential: string;
  readonly requestId: string;
}

/** The request that deletes items. */
export interface RemovalCause {
  readonly timeMs: number;
  readonly credential: string;
  readonly requestId: string;
}

/** The place of the record of a delivery. */
export interface DeliveryPlace {
  readonly aid: string;
  readonly id: string;
}

/** An event for a subscription, with the name of the account that it belongs to. */
export interface QueuedEvent {
  readonly subscription: string;
  readonly account: string;
  readonly event: VaultEvent;
}

/** Jobs on events: what outboxes have, and the records of deliveries. */
export const EVENT_JOBS = {
  /** Opens elements of outboxes of a key (see bucket-prelude.lua); null for one that is no event, or does not open. */
  readOutbox: defineJob({
    lane: 'bulk',
    share: ({ params: { aid } }) => aid,
    input: message({ params: json<KeyName>(), elements: list(bytes) }),
    output: json<readonly (ItemChange | null)[]>(),
  }),
  /** Seals the records of deliveries. */
  sealEvents: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: text, events: json<readonly (QueuedEvent & { readonly id: string })[]>() }),
    output: list(bytes),
  }),
  /** Opens the record of a delivery. */
  openEvent: defineJob({
    lane: 'hot',
    input: message({ place: json<DeliveryPlace>(), record: bytes }),
    output: json<QueuedEvent>(),
  }),
};
