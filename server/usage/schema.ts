import { type Static, Type } from '@sinclair/typebox';
import { OPERATIONS } from '../core/operations.ts';
import { EXPECTED } from '../schema/kinds.ts';

function Amount(description: string) {
  return Type.String({
    pattern: '^(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$',
    description,
    examples: ['0.0020'],
  });
}

const BillingItem = Type.Object(
  {
    operation: Type.Union(
      OPERATIONS.map((operation) => Type.Literal(operation)),
      { description: 'The billable operation.' },
    ),
    count: Type.Integer({ minimum: 0, description: 'Number of operations.', examples: [12] }),
    unit_price: Amount("The operator's price of one operation."),
    amount: Amount('The exact price of all operations.'),
  },
  { $id: 'BillingItem' },
);

export const Billing = Type.Object(
  {
    currency: Type.String({ description: 'ISO 4217.', examples: ['USD'] }),
    amount: Amount('The exact sum of all items.'),
    from: Type.String({ description: 'Start of the month, in UTC.', examples: ['2026-01-01T00:00:00Z'] }),
    to: Type.String({ description: 'The current time, in UTC.', examples: ['2026-01-31T12:00:00Z'] }),
    items: Type.Array(BillingItem, {
      description:
        'One entry for each billable operation, in a fixed order, including those with a count of 0.',
    }),
  },
  { $id: 'Billing' },
);
export type Billing = Static<typeof Billing>;

export const UsageQuery = Type.Object({
  month: Type.Optional(
    Type.String({
      pattern: '^[0-9]{4}-(?:0[1-9]|1[0-2])$',
      [EXPECTED]: 'must be a month, such as `2026-01`',
      description: 'The month of api_requests, YYYY-MM in UTC. Default: the current month.',
      examples: ['2026-01'],
    }),
  ),
  by_day: Type.Boolean({
    default: false,
    description: 'Whether the reply has the requests of each day of the month, too.',
  }),
});

export const Usage = Type.Object(
  {
    month: Type.String({ description: 'The month of api_requests.', examples: ['2026-01'] }),
    keys: Type.Integer({ minimum: 0, description: 'Current number of keys of the account.', examples: [3] }),
    tokens: Type.Integer({
      minimum: 0,
      description: 'Current number of tokens of all keys.',
      examples: [1042],
    }),
    api_requests: Type.Integer({
      minimum: 0,
      description: 'Requests of the month with a 2xx reply, including uses of endpoints.',
      examples: [5310],
    }),
    days: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0 }), {
        maxItems: 31,
        description:
          'With `by_day`: the same for each day of the month in UTC, the first day first, up to the current one. Days before the server counted them are 0.',
      }),
    ),
  },
  { $id: 'Usage', description: 'The stored data of an account, and its requests in a month.' },
);
export type Usage = Static<typeof Usage>;
