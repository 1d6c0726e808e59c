import { type Static, Type } from '@sinclair/typebox';
import { DURATION_PATTERN, NextToken, Timestamp } from '../schema/common.ts';
import { Limit, PUBLISHED } from '../schema/kinds.ts';

/** The kinds of things that expire and that somebody has to renew. */
export const EXPIRING_KINDS = [
  'certificate',
  'credential',
  'capture',
  'retrieve',
  'inbound',
  'connection_certificate',
  'tls',
] as const;

const Kind = Type.Union(
  EXPIRING_KINDS.map((kind) => Type.Literal(kind)),
  {
    description:
      '`certificate`: a client certificate; `connection_certificate`: the one that a connection names; `credential`: an API credential; `capture`, `retrieve` and `inbound`: an endpoint that was made for more than 7 days; `tls`: the certificate of the server itself.',
    examples: ['connection_certificate'],
  },
);

export const Expiring = Type.Object(
  {
    kind: Kind,
    id: Type.String({
      description: 'The identifier: of the connection for `connection_certificate`, `server` for `tls`.',
      examples: ['psp'],
    }),
    expires_at: Timestamp(
      'When it expires, to the second. Certificates are listed after it, too, until they are replaced or deleted.',
    ),
    user: Type.Optional(
      Type.String({ description: 'The vault key of an endpoint.', examples: ['customers-2026'] }),
    ),
  },
  { $id: 'Expiring', description: 'Something that somebody has to renew.' },
);
export type Expiring = Static<typeof Expiring>;

export const ExpiringList = Type.Array(Expiring, {
  $id: 'ExpiringList',
  description: 'The soonest first; of one second, by kind and identifier.',
});

export const ExpiringQuery = Type.Object({
  within: Type.String({
    default: 'P30D',
    description:
      'Only what expires within this time: a duration such as `48h` or `P30D`, at most 10 years; `0`: at any time.',
    examples: ['P7D'],
    [PUBLISHED]: { pattern: DURATION_PATTERN },
  }),
  limit: Limit(1024),
  next_token: Type.Optional(NextToken),
});
export type ExpiringQuery = Static<typeof ExpiringQuery>;
