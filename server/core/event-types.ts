/** The types of events that subscriptions name, in the order of the documents. */
export const EVENT_TYPES = [
  'item.created',
  'item.updated',
  'item.deleted',
  'item.expired',
  'item.read',
  'key.created',
  'key.changed',
  'key.deleted',
  'key.recovered',
  'endpoint.created',
  'endpoint.deleted',
  'endpoint.used_up',
  'endpoint.expired',
  'credential.created',
  'credential.rolled',
  'credential.deleted',
  'credential.expiring',
  'certificate.created',
  'certificate.expiring',
  'account.locked',
  'job.failed',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** All types of a noun but `item.read`, which is only ever named. */
export const EVENT_WILDCARDS = [
  'item.*',
  'key.*',
  'endpoint.*',
  'credential.*',
  'certificate.*',
  'account.*',
  'job.*',
] as const;

/** Tells whether a list of types and wildcards has a type. */
export function hasEventType(wanted: readonly string[], type: string): boolean {
  const noun = type.slice(0, type.indexOf('.'));
  return wanted.includes(type) || (type !== 'item.read' && wanted.includes(`${noun}.*`));
}

/** The ids of deliveries of events begin so. Another job whose id does is stored among them, and is complete all the same. */
export const EVENT_ID = 'evt_';

/** True for the id of a delivery of an event. */
export function isEventId(id: string): boolean {
  return id.startsWith(EVENT_ID);
}

/** What an event names; it contains no data of an item. */
export interface EventData {
  readonly user?: string | undefined;
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly id?: string | undefined;
  readonly actor?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly request_id?: string | undefined;
  readonly expires_at?: string | undefined;
}

/** An event as receivers get it, without the metadata of the subscription. */
export interface VaultEvent {
  readonly id: string;
  readonly type: EventType | 'test';
  readonly created_at: string;
  readonly data: EventData;
}
