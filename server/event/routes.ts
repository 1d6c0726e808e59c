import { objectOf } from '../http/audit.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message, NO_QUERY } from '../schema/common.ts';
import { EventTest, Subscription, SubscriptionBody, SubscriptionList, SubscriptionPath } from './schema.ts';
import type { Subscriptions } from './subscriptions.ts';

interface Needs {
  readonly subscriptions: Subscriptions;
}

const COMMON = {
  noun: 'event',
  auth: 'basic',
  scope: 'event:write',
  passphrase: 'none',
  query: NO_QUERY,
  meter: [],
  idempotent: false,
} as const;

const createSubscription = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/event/subscription',
  operationId: 'createSubscription',
  summary: 'Create an event subscription',
  description:
    'Sends events of the account to a URL, signed like all webhooks, at least once and in any order. An event tells what happened to which object, never its data. A subscription that a credential with `keys` makes gets the events that name one of these keys, and it ends with its credential. At most 20 for an account.',
  body: { kind: 'json', schema: SubscriptionBody, bytesMax: BODY_BYTES.short },
  response: Subscription,
  errors: ['destination_refused', 'subscriptions_full'],
  audit: { action: 'subscription.create', of: 'all', object: () => 'subscription' },
  handle: async ({ ctx, body }, services: Needs) => {
    const json = await services.subscriptions.create(ctx, body);
    return { json, object: objectOf('subscription', json.id) };
  },
});

const listSubscriptions = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/event/subscription',
  operationId: 'listSubscriptions',
  summary: 'List event subscriptions',
  description: 'Lists the subscriptions of the account with how many events wait, without their secrets.',
  body: { kind: 'none' },
  response: SubscriptionList,
  errors: [],
  handle: async ({ ctx }, services: Needs) => ({ json: await services.subscriptions.list(ctx) }),
});

const readSubscription = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/event/subscription/{id}',
  operationId: 'readSubscription',
  summary: 'Read an event subscription',
  description:
    'Returns one subscription: how many events wait for its receiver, and since when it is paused, with the number of events that were left out.',
  params: SubscriptionPath,
  body: { kind: 'none' },
  response: Subscription,
  errors: ['subscription_not_found'],
  handle: async ({ ctx, params }, services: Needs) => ({
    json: await services.subscriptions.read(ctx, params.id),
  }),
});

const replaceSubscription = defineRoute({
  ...COMMON,
  method: 'PUT',
  path: '/v1/event/subscription/{id}',
  operationId: 'replaceSubscription',
  summary: 'Replace an event subscription',
  description:
    'Replaces everything of a subscription but its id, its maker included, and resumes it if it is paused. What is left out is gone, the secret too. Events that wait are sent to the new URL.',
  params: SubscriptionPath,
  body: { kind: 'json', schema: SubscriptionBody, bytesMax: BODY_BYTES.short },
  response: Subscription,
  errors: ['destination_refused', 'subscription_not_found'],
  audit: {
    action: 'subscription.change',
    of: 'all',
    object: ({ params }) => objectOf('subscription', params.id),
  },
  handle: async ({ ctx, params, body }, services: Needs) => ({
    json: await services.subscriptions.replace(ctx, params.id, body),
  }),
});

const removeSubscription = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/event/subscription/{id}',
  operationId: 'deleteSubscription',
  summary: 'Delete an event subscription',
  description: 'Deletes a subscription. Events that wait for it are not sent any more.',
  params: SubscriptionPath,
  body: { kind: 'none' },
  response: Message,
  errors: ['subscription_not_found'],
  audit: {
    action: 'subscription.delete',
    of: 'all',
    object: ({ params }) => objectOf('subscription', params.id),
  },
  handle: async ({ ctx, params }, services: Needs) => {
    await services.subscriptions.remove(ctx, params.id);
    return { json: { message: 'The subscription was deleted.' } };
  },
});

const testSubscription = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/event/subscription/{id}/test',
  operationId: 'testSubscription',
  summary: 'Send a test event',
  description: 'Sends an event of type `test` with empty `data` to the subscription, whatever its types.',
  params: SubscriptionPath,
  body: { kind: 'none' },
  response: EventTest,
  errors: ['subscription_not_found'],
  audit: {
    action: 'subscription.test',
    of: 'all',
    object: ({ params }) => objectOf('subscription', params.id),
  },
  handle: async ({ ctx, params }, services: Needs) => {
    const id = await services.subscriptions.test(ctx, params.id);
    return { json: { message: 'The test event is on its way.', id } };
  },
});

export const EVENT_ROUTES = [
  createSubscription,
  listSubscriptions,
  readSubscription,
  replaceSubscription,
  removeSubscription,
  testSubscription,
];
