/** Event subscriptions: where the vault tells what has happened. */

import type { CallOptions } from '../transport/call.ts';
import { needText } from '../transport/needed.ts';
import { get, readJson, remove, sendJson } from '../transport/pages.ts';
import type { Given, PathOf, Schema } from '../transport/shapes.ts';
import type { Transport } from '../transport/transport.ts';
import type { Message } from '../transport/types.ts';

/** Where events are sent, without the secret. */
export interface Subscription extends Schema<'Subscription'> {}
/** Where events are sent, and which. */
export interface CreateSubscription extends Given<Schema<'SubscriptionBody'>> {}
/** Names a subscription. */
export interface ReadSubscription extends PathOf<'readSubscription'> {}
/** Names a subscription, and all that it has from now on. */
export interface ReplaceSubscription
  extends PathOf<'replaceSubscription'>,
    Given<Schema<'SubscriptionBody'>> {}
/** Names a subscription. */
export interface DeleteSubscription extends PathOf<'deleteSubscription'> {}
/** Names a subscription. */
export interface TestSubscription extends PathOf<'testSubscription'> {}
/** An event of type `test` is sent. */
export interface EventTest extends Schema<'EventTest'> {}

/**
 * Event subscriptions. An event says what happened to which object, never its data.
 * @see /guide/events
 */
export interface EventCalls {
  /**
   * Creates a subscription. The call is retried only if the service has rejected the request without any effect.
   * @see /guide/events
   * @throws `destination_refused`, `subscriptions_full`
   * @example
   * await client.events.create({
   *   url: 'https://shop.example.com/events',
   *   secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
   *   types: ['item.created', 'key.*'],
   * });
   */
  readonly create: (subscription: CreateSubscription, options?: CallOptions) => Promise<Subscription>;
  /**
   * All subscriptions of the account, the oldest first: how many events wait for each, and since when it is paused.
   * @see /guide/events
   * @example
   * const paused = (await client.events.list()).filter(({ paused_since }) => paused_since !== undefined);
   */
  readonly list: (options?: CallOptions) => Promise<Subscription[]>;
  /**
   * One subscription.
   * @see /guide/events
   * @throws `subscription_not_found`
   * @example
   * const { waiting } = await client.events.get({ id: 'sub_kLTVMUsdDPoVaCqL3bPlMt' });
   */
  readonly get: (subscription: ReadSubscription, options?: CallOptions) => Promise<Subscription>;
  /**
   * Replaces everything of a subscription but its id, and resumes it if it is paused: what is left out is gone, the secret too.
   * @see /guide/events
   * @throws `destination_refused`, `subscription_not_found`
   * @example
   * await client.events.replace({
   *   id: 'sub_kLTVMUsdDPoVaCqL3bPlMt',
   *   url: 'https://shop.example.com/events',
   *   types: ['item.*'],
   * });
   */
  readonly replace: (subscription: ReplaceSubscription, options?: CallOptions) => Promise<Subscription>;
  /**
   * Deletes a subscription. Also throws `subscription_not_found` if an earlier attempt, whose reply was lost, has succeeded.
   * @see /guide/events
   * @throws `subscription_not_found`
   * @example
   * await client.events.delete({ id: 'sub_kLTVMUsdDPoVaCqL3bPlMt' });
   */
  readonly delete: (subscription: DeleteSubscription, options?: CallOptions) => Promise<Message>;
  /**
   * Sends an event of type `test` with empty `data`, whatever the types of the subscription.
   * @see /guide/events
   * @throws `subscription_not_found`
   * @example
   * await client.events.test({ id: 'sub_kLTVMUsdDPoVaCqL3bPlMt' });
   */
  readonly test: (subscription: TestSubscription, options?: CallOptions) => Promise<EventTest>;
}

const path = ['event', 'subscription'] as const;

/** The path of one subscription. */
function pathOf(id: string): readonly string[] {
  return [...path, needText({ id }).id];
}

/** The calls of event subscriptions. */
export function createEventCalls(transport: Transport): EventCalls {
  return {
    create: (subscription, options) =>
      sendJson(transport, 'POST', path, 'when_rejected', subscription, options),
    list: (options) => get(transport, path, {}, options),
    get: async ({ id }, options) => get(transport, pathOf(id), {}, options),
    replace: async ({ id, ...subscription }, options) =>
      sendJson(transport, 'PUT', pathOf(id), 'always', subscription, options),
    delete: async ({ id }, options) => remove(transport, pathOf(id), {}, options),
    test: async ({ id }, options) =>
      readJson(transport, {
        method: 'POST',
        path: [...pathOf(id), 'test'],
        repeat: 'when_rejected',
        options,
      }),
  };
}
