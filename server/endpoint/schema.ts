import { type Static, Type } from '@sinclair/typebox';
import {
  DURATION_PATTERN,
  Identifier,
  NewIdentifier,
  RuleIds,
  ShownReference,
  Token,
  User,
} from '../schema/common.ts';
import { PUBLISHED } from '../schema/kinds.ts';
import { CardMetadataFlag } from '../vault/schema.ts';

/** What capture and retrieval endpoints have in common. */

export const UniqueId = Identifier('Identifier of the endpoint, unique over all accounts.');

/** The id of a new endpoint. URLs cannot contain `.` and `..` as a segment, so such an endpoint could not be used or deleted. */
const NewUniqueId = NewIdentifier(
  'The identifier of the new endpoint; random if omitted. If any account uses it: 409.',
);

/** The path of an endpoint's own address. Any other text is an endpoint that does not exist. */
export const EndpointPath = Type.Object({ unique_id: UniqueId });

/** A secret that a reply shows once. */
export function NewSecret(prefix: string) {
  return Type.String({
    description: 'The secret of the endpoint. Only this reply contains it; the vault does not store it.',
    'x-secret': true,
    examples: [`${prefix}_dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ`],
  });
}

export const ExpiresAt = Type.Union(
  [Type.String({ [PUBLISHED]: { format: 'date-time' }, examples: ['2026-01-31T12:00:00Z'] }), Type.Null()],
  { description: 'When the endpoint expires, to the second; null if it never expires.' },
);

/** Shown of an endpoint that only takes sealed bodies. */
export const RequireSealed = Type.Optional(
  Type.Literal(true, { description: 'Only sealed bodies are taken.' }),
);

/** The members of a query that creates an endpoint. */
export const CREATE_MEMBERS = {
  user: User,
  unique_id: Type.Optional(NewUniqueId),
  ttl: Type.Optional(
    Type.String({
      description:
        'The lifetime of the endpoint: `45m`, `1h30m`, `24h60m60s`, or ISO 8601 (`PT10M`, `P1D`, `P1W`), at most 10 years. Unlimited: `0`, `0s`, `P0T`, `P0T0`, `PT0S`, `P0D`. Default: 24 hours.',
      examples: ['24h'],
      [PUBLISHED]: { pattern: DURATION_PATTERN },
    }),
  ),
  rules: Type.Optional(RuleIds),
  return_card_metadata: CardMetadataFlag,
};

export const EndpointListQuery = Type.Object({ user: Type.Optional(User) });

/** An endpoint as it is listed; its secret is not kept, so it cannot be shown again. */
export const Endpoint = Type.Object(
  {
    url: Type.String({ description: 'The path of the endpoint.', examples: ['/v1/capture/web-shop'] }),
    unique_id: UniqueId,
    expires_at: ExpiresAt,
    user: User,
    token: Type.Optional(Token),
    reference: Type.Optional(ShownReference),
    require_sealed: RequireSealed,
    expired: Type.Boolean({
      description:
        'Whether the endpoint can no longer be used: it has expired, or the passphrase of the key has changed.',
    }),
  },
  { $id: 'Endpoint' },
);

export type Endpoint = Static<typeof Endpoint>;

export const EndpointList = Type.Array(Endpoint, {
  description: 'In ascending order of user, then unique_id.',
});
