import { type Static, Type } from '@sinclair/typebox';
import { EVENT_TYPES, EVENT_WILDCARDS } from '../core/event-types.ts';
import { Timestamp } from '../schema/common.ts';
import { EXPECTED } from '../schema/kinds.ts';
import { WEBHOOK_MEMBERS } from '../schema/webhook.ts';

const SubscriptionId = Type.String({
  description: 'Identifier of the subscription.',
  examples: ['sub_kLTVMUsdDPoVaCqL3bPlMt'],
});

/** The path of a subscription. Any other text is a subscription that does not exist. */
export const SubscriptionPath = Type.Object({ id: SubscriptionId });

const EventTypeName = Type.Union(
  EVENT_TYPES.map((type) => Type.Literal(type)),
  { $id: 'EventType', description: 'The type of an event.', examples: ['item.created'] },
);

const Choice = Type.Union(
  [...EVENT_TYPES, ...EVENT_WILDCARDS].map((type) => Type.Literal(type)),
  {
    [EXPECTED]: `must be a type of event, such as \`item.created\`, or one of ${EVENT_WILDCARDS.map((type) => `\`${type}\``).join(', ')}`,
  },
);

const Types = Type.Array(Choice, {
  minItems: 1,
  maxItems: 32,
  description:
    'The types of events, by name, or all of a noun: `item.*` is every type that begins with `item.` but `item.read`, which is sent only if it is named.',
  examples: [['item.created', 'key.*']],
});

const Url = {
  ...WEBHOOK_MEMBERS.url,
  description: 'The https URL that receives the events.',
  examples: ['https://shop.example.com/events'],
};

const Metadata = Type.Optional(
  Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'An object that every event of the subscription has as its member `metadata`.',
      examples: [{ shop: 'eu' }],
    },
  ),
);

const MaxAttempts = Type.Integer({
  minimum: 1,
  maximum: 8,
  description: 'Maximum number of calls for one event until a reply with 200.',
});

export const SubscriptionBody = Type.Object(
  {
    url: Url,
    secret: WEBHOOK_MEMBERS.secret,
    types: Types,
    metadata: Metadata,
    max_attempts: WEBHOOK_MEMBERS.max_attempts,
  },
  { $id: 'SubscriptionBody', description: 'Where events are sent, and which.' },
);
export type SubscriptionBody = Static<typeof SubscriptionBody>;

export const PAUSE_REASONS = ['failing', 'full'] as const;

export const Subscription = Type.Object(
  {
    id: SubscriptionId,
    url: Type.String({ description: Url.description, examples: Url.examples }),
    types: Types,
    metadata: Metadata,
    max_attempts: MaxAttempts,
    created_at: Timestamp('When the subscription was created.'),
    waiting: Type.Integer({ minimum: 0, description: 'Events that wait for its receiver.', examples: [0] }),
    failing_since: Type.Optional(
      Timestamp('Since when no call of its receiver has succeeded, while events wait.'),
    ),
    paused_since: Type.Optional(
      Timestamp(
        'Since when new events are left out. Events that wait already are still sent. PUT the subscription again to resume it.',
      ),
    ),
    paused_because: Type.Optional(
      Type.Union(
        PAUSE_REASONS.map((reason) => Type.Literal(reason)),
        {
          description:
            '`failing`: no call of the receiver has succeeded for three days. `full`: 100,000 events waited.',
        },
      ),
    ),
    left_out: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Events that were left out since then.', examples: [12] }),
    ),
  },
  { $id: 'Subscription', description: 'Where events are sent, without the secret.' },
);
export type Subscription = Static<typeof Subscription>;

export const SubscriptionList = Type.Array(Subscription, {
  $id: 'SubscriptionList',
  description: 'The oldest first.',
});

export const EventTest = Type.Object(
  {
    message: Type.String({
      description: 'A message for humans.',
      examples: ['The test event is on its way.'],
    }),
    id: Type.String({ description: 'The id of the event.', examples: ['evt_0q3vJq8nQm2dYtS1b7ZkXw'] }),
  },
  { $id: 'EventTest', description: 'An event of type `test` is sent.' },
);

function optionalText(description: string, example: string) {
  return Type.Optional(Type.String({ description, examples: [example] }));
}

/** The body of a call, as it is published. */
export const EventWebhook = Type.Object(
  {
    id: Type.String({
      description: 'The id of the event, equal on repeats, and the same as `webhook-id`.',
      examples: ['evt_0q3vJq8nQm2dYtS1b7ZkXw'],
    }),
    type: Type.Union([EventTypeName, Type.Literal('test')], {
      description: 'What happened.',
    }),
    created_at: Timestamp('When it happened.'),
    data: Type.Object(
      {
        user: optionalText('The vault key.', 'customers-2026'),
        token: optionalText('The token of the item.', 'b5f1e8c0a1d24c7f'),
        reference: optionalText('The reference of the item.', 'customer-4711'),
        id: optionalText('The endpoint, credential, certificate or job.', 'cred_Zm9vYmFyYmF6cXV4cXV1eA'),
        actor: optionalText(
          'Who did it: `account/NAME`, `credential/ID`, `person/ID`, `endpoint/ID`, `operator`, `vault` for the service itself, or `anonymous`.',
          'account/shop',
        ),
        endpoint: optionalText('The endpoint that was used.', 'checkout'),
        request_id: optionalText('The X-Request-Id of the request.', 'Zm9vYmFyYmF6cXV4'),
        expires_at: optionalText('When it expires or has expired.', '2027-01-01T00:00:00Z'),
      },
      { description: 'What the event is about. It contains no card data.' },
    ),
    metadata: Metadata,
  },
  { $id: 'EventWebhook', description: 'Something has happened in the vault.' },
);
