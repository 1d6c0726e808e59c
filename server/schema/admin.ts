import { type Static, Type } from '@sinclair/typebox';

export const WhoAmI = Type.Object(
  {
    user: Type.String({ description: 'The name of the account.', examples: ['shop'] }),
    environment: Type.Union([Type.Literal('staging'), Type.Literal('production')]),
    api_version: Type.String({ description: 'The version of the server.', examples: ['0.1.0'] }),
    backwards_compatibility: Type.Literal('v1', {
      description: 'The version prefix whose promises the server keeps.',
    }),
  },
  { $id: 'WhoAmI' },
);
export type WhoAmI = Static<typeof WhoAmI>;

/** Every billable operation, in the order in which bills name them. */
export const OPERATIONS = [
  'store',
  'decrypt',
  'list',
  'update',
  'delete',
  'log',
  'capture_create',
  'capture',
  'retrieve_create',
  'retrieve',
  'key',
  'rule',
  'proxy_attempt',
  'network_token',
  'certificate',
  'preference',
  'utility',
] as const;

const Amount = (description: string) =>
  Type.String({
    pattern: '^(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$',
    description,
    examples: ['0.0020'],
  });

const BillingItem = Type.Object(
  {
    operation: Type.Union(
      OPERATIONS.map((operation) => Type.Literal(operation)),
      { description: 'The billable operation.' },
    ),
    count: Type.Integer({ minimum: 0, description: 'How often it was done.', examples: [12] }),
    unit_price: Amount("The operator's price of one."),
    amount: Amount('The price of all, exactly.'),
  },
  { $id: 'BillingItem' },
);

export const Billing = Type.Object(
  {
    currency: Type.String({ description: 'ISO 4217.', examples: ['USD'] }),
    amount: Amount('The exact sum of all items.'),
    from: Type.String({ description: 'Where the month began, in UTC.', examples: ['2026-01-01T00:00:00Z'] }),
    to: Type.String({ description: 'Now, in UTC.', examples: ['2026-01-31T12:00:00Z'] }),
    items: Type.Array(BillingItem, {
      description: 'One of each billable operation, in a fixed order, also where nothing was used.',
    }),
  },
  { $id: 'Billing' },
);
export type Billing = Static<typeof Billing>;

export const UsageQuery = Type.Object({
  month: Type.Optional(
    Type.String({
      pattern: '^[0-9]{4}-(?:0[1-9]|1[0-2])$',
      description: 'The month of api_requests, YYYY-MM in UTC. Left out: the current one.',
      examples: ['2026-01'],
    }),
  ),
});

export const Usage = Type.Object(
  {
    month: Type.String({ description: 'The month that api_requests belongs to.', examples: ['2026-01'] }),
    keys: Type.Integer({ minimum: 0, description: 'Keys of the account, now.', examples: [3] }),
    tokens: Type.Integer({ minimum: 0, description: 'Tokens under all of them, now.', examples: [1042] }),
    api_requests: Type.Integer({
      minimum: 0,
      description: 'Requests of the month that were answered with 2xx, uses of endpoints included.',
      examples: [5310],
    }),
  },
  { $id: 'Usage' },
);
export type Usage = Static<typeof Usage>;
