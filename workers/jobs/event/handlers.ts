import { createHash } from 'node:crypto';
import { EVENT_ID } from '../../../server/core/event-types.ts';
import { type ItemContext, openMeta } from '../../crypto/item/meta.ts';
import { openLogEntry } from '../../crypto/log/entry.ts';
import { IntegrityError, openedOrNot, readBytes, textOf } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { KeyName } from '../key/jobs.ts';
import type { DeliveryPlace, EVENT_JOBS, ItemChange, QueuedEvent, RemovalCause } from './jobs.ts';

/** Kinds of records, which are part of their associated data and must not change. */
const EVENT_KIND = 'proxy event';
const CAUSE_KIND = 'event cause';
/** The elements of outboxes by their kind, see bucket-prelude.lua. */
const CHANGES = { 1: 'created', 2: 'updated', 3: 'read', 4: 'deleted', 5: 'expired' } as const;
const HEAD_BYTES = 7;

interface Element {
  readonly what: ItemChange['what'];
  readonly token: string;
  readonly entry: Uint8Array;
  readonly meta: Uint8Array;
}

/** Seals the request that deletes items, for the events of their deletion. */
export function sealCause({ sealer }: ThreadContext, { aid, kid }: KeyName, cause: RemovalCause): Uint8Array {
  return sealer.seal('record', aid, CAUSE_KIND, [kid], toJsonBytes(cause));
}

/** Opens the record of a delivery. Damage and any other place: `IntegrityError`. */
export function openEvent(
  { sealer }: ThreadContext,
  { aid, id }: DeliveryPlace,
  record: Uint8Array,
): QueuedEvent {
  return parseOwn<QueuedEvent>(sealer.open('job', aid, EVENT_KIND, [id], record));
}

function elementOf(bytes: Uint8Array): Element {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const what = bytes.length < HEAD_BYTES ? undefined : CHANGES[view.getUint8(0) as keyof typeof CHANGES]; // one of them, or undefined
  if (what === undefined) {
    throw new IntegrityError('event');
  }
  const token = readBytes(bytes, HEAD_BYTES, view.getUint16(1, true));
  const entry = readBytes(bytes, HEAD_BYTES + token.length, view.getUint32(3, true));
  return {
    ...{ what, token: textOf(token), entry },
    meta: bytes.subarray(HEAD_BYTES + token.length + entry.length),
  };
}

/** Returns who has changed an item, and when; undefined for what changes nothing. */
function originOf({ sealer }: ThreadContext, ids: ItemContext, { what, entry }: Element) {
  if (what === 'expired') {
    return { timeMs: undefined, endpoint: '', credential: '', requestId: '' };
  }
  if (what === 'deleted') {
    const { aid, kid } = ids;
    return { ...parseOwn<RemovalCause>(sealer.open('record', aid, CAUSE_KIND, [kid], entry)), endpoint: '' };
  }
  const { outcome, action, timeMs, endpoint, credential, requestId } = openLogEntry(sealer, ids, entry);
  const isChange = action === (what === 'read' ? 'decrypt' : 'encrypt');
  return outcome === 'ok' && isChange ? { timeMs, endpoint, credential, requestId } : undefined;
}

function changeOf(context: ThreadContext, { aid, kid }: KeyName, bytes: Uint8Array): ItemChange | undefined {
  const element = elementOf(bytes);
  const { what, token, meta } = element;
  const ids = { env: context.env, aid, kid, token };
  const origin = originOf(context, ids, element);
  if (origin === undefined) {
    return undefined;
  }
  const { reference, expiresAtMs } = openMeta(context.sealer, ids, meta);
  const { timeMs = expiresAtMs ?? 0, endpoint, credential, requestId } = origin;
  const digest = createHash('sha256').update(`${aid} ${kid} `).update(bytes).digest('base64url');
  const id = `${EVENT_ID}${digest.slice(0, 22)}`;
  return { what, id, token, timeMs, reference, expiresAtMs, endpoint, credential, requestId };
}

export const EVENT_HANDLERS: ThreadHandlers<typeof EVENT_JOBS> = {
  readOutbox(context, { params, elements }) {
    return elements.map((bytes) => openedOrNot(() => changeOf(context, params, bytes)) ?? null);
  },

  sealEvents({ sealer }, { aid, events }) {
    return events.map(({ id, subscription, account, event }) =>
      sealer.seal('job', aid, EVENT_KIND, [id], toJsonBytes({ subscription, account, event })),
    );
  },

  openEvent(context, { place, record }) {
    return openEvent(context, place, record);
  },
};
