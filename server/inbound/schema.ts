import { type Static, Type } from '@sinclair/typebox';
import { ALLOWED_MAX, INCLUDED_MAX, SOURCES_MAX } from '../domain/inbound/rules.ts';
import { ALGORITHM, DURATION_PATTERN, Identifier, NewIdentifier, Rate, User } from '../schema/common.ts';
import { EXPECTED, PUBLISHED } from '../schema/kinds.ts';

const RANGES_MAX = 100;

/** The path of an inbound. Any other text is an inbound that does not exist. */
export const InboundPath = Type.Object({ id: Identifier('The id of the inbound.') });

const Id = NewIdentifier('The id of the inbound, unique over all accounts and kinds of endpoints.');
const ConnectionId = Identifier(
  'The id of the connection that requests are forwarded through; it must have `inbound`.',
);

function Path(description: string, example: string) {
  return Type.String({ minLength: 1, maxLength: 255, description, examples: [example] });
}

const PATHS =
  'A path has steps joined by dots: the name of a member, `*` for any name, with `[0]` or `[*]` behind it for items of a list. In XML a step is the name of an element, `@name` an attribute; in a form a path is one name.';

const IncludedPath = Path('A path of a value.', 'guests[*].card.holder');

const Include = Type.Union(
  [
    Type.Array(IncludedPath, { maxItems: INCLUDED_MAX }),
    Type.Record(Type.String({ minLength: 1, maxLength: 255 }), IncludedPath, {
      maxProperties: INCLUDED_MAX,
    }),
  ],
  {
    description:
      'Paths of more values that the item gets, under the last names of their paths, or by the names that the item gets.',
    examples: [['guests[*].card.expiry']],
  },
);

const Source = Type.Object(
  {
    number: Path(`The path of the card number. ${PATHS}`, 'guests[*].card.number'),
    code: Type.Optional(Path('The path of its verification code.', 'guests[*].card.cvc')),
    include: Type.Optional(Include),
    reference: Type.Optional(
      Path('The path of the reference of its item. Default: the id of the inbound.', 'guests[*].id'),
    ),
  },
  {
    $id: 'InboundSource',
    description: 'Where cards are. Values belong to the number with which they share their `[*]`.',
  },
);

const Extract = Type.Union(
  [Type.Array(Source, { minItems: 1, maxItems: SOURCES_MAX }), Type.Literal('cards')],
  {
    description: 'Where the cards of a message are; `cards`: wherever the vault recognises one.',
    examples: [
      [{ number: 'card.number', code: 'card.cvc', include: ['card.expiry'], reference: 'order.id' }],
    ],
  },
);

const Strict = Type.Union([Type.Boolean(), Type.Literal('mask')], {
  description:
    'What happens to numbers and codes elsewhere in a request: `true` refuses it, `mask` replaces the digits, `false` lets them pass. Default: `true`.',
  examples: ['mask'],
});

const Ttl = Type.String({
  description: 'The lifetime of its items, such as `P90D`, at most 10 years. Default: no end.',
  examples: ['P90D'],
  [PUBLISHED]: { pattern: DURATION_PATTERN },
});

const SETTINGS = {
  user: User,
  connection: ConnectionId,
  extract: Extract,
  allow: Type.Optional(
    Type.Array(Path('A path.', 'order.iban'), {
      maxItems: ALLOWED_MAX,
      description: 'Paths of values that may look like a number or a code and are none.',
      examples: [['order.barcode']],
    }),
  ),
  algorithm: Type.Optional(
    Type.String({
      ...ALGORITHM,
      description: `${ALGORITHM.description} Not \`uuid\`: a repeat must get the same tokens. Default: the preference \`default_algorithm\`, or \`full\`.`,
    }),
  ),
  ttl: Type.Optional(Ttl),
  metadata: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          'Texts that listings show without the passphrase, of each of its items: names of `[A-Za-z0-9_.-]{1,40}`, no card numbers.',
        examples: [{ channel: 'marketplace' }],
      },
    ),
  ),
  strict: Type.Optional(Strict),
  rate: Type.Optional(
    Rate(
      'The requests of each source address: a number per `s`, `m` or `h`. More are rejected with 429 and `Retry-After`.',
      '20/m',
    ),
  ),
  ips: Type.Optional(
    Type.Array(Type.String({ description: 'An address or a CIDR.' }), {
      minItems: 1,
      maxItems: RANGES_MAX,
      description: 'The addresses that it may be used from; any if omitted.',
      examples: [['192.0.2.0/24']],
    }),
  ),
};

const Secret = Type.String({
  'x-secret': true,
  description:
    'The secret, sent as `X-Vault-Capture-Secret`, as `Authorization: Bearer …`, or as the password of Basic. Only the reply to its creation contains it; the vault does not store it.',
  examples: ['vcs1_dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ'],
});

export const CreateInbound = Type.Object(
  {
    id: Type.Optional({ ...Id, description: `${Id.description} Random if omitted.` }),
    secret: Type.Optional({
      ...Secret,
      pattern: '^vcs1_[\\w-]{42}[AEIMQUYcgkosw048]$',
      description:
        'The secret of the inbound before that had this id: it is made again, and its senders need not change. Random if omitted.',
      [EXPECTED]: 'must be the secret that an inbound had',
    }),
    ...SETTINGS,
    expires_in: Type.Optional(
      Type.String({
        description:
          'Its lifetime: a duration such as `12h` or `P90D`, at most 10 years. Default: unlimited.',
        examples: ['P90D'],
        [PUBLISHED]: { pattern: DURATION_PATTERN },
      }),
    ),
  },
  { $id: 'CreateInbound', description: 'Where requests go, and where their cards are.' },
);
export type CreateInbound = Static<typeof CreateInbound>;

const Url = Type.String({
  description: 'The path of the inbound, to which senders append theirs.',
  examples: ['/v1/inbound/marketplace'],
});
const ExpiresAt = Type.Union(
  [Type.String({ [PUBLISHED]: { format: 'date-time' }, examples: ['2026-01-31T12:00:00Z'] }), Type.Null()],
  { description: 'When the inbound expires, to the second; null if it never does.' },
);

export const InboundWithSecret = Type.Object(
  { id: Id, url: Url, secret: Secret, expires_at: ExpiresAt },
  { $id: 'InboundWithSecret', description: 'A new inbound with its secret.' },
);

export const Inbound = Type.Object(
  {
    id: Id,
    url: Url,
    ...SETTINGS,
    strict: Strict,
    algorithm: Type.String({ ...ALGORITHM, description: 'How its tokens are made.' }),
    expires_at: ExpiresAt,
    expired: Type.Boolean({
      description:
        'Whether it can no longer be used: it has expired, or the passphrase of the key has changed.',
    }),
  },
  { $id: 'Inbound', description: 'An inbound, without its secret.' },
);
export type Inbound = Static<typeof Inbound>;

export const InboundList = Type.Array(Inbound, {
  $id: 'InboundList',
  description: 'In ascending order of user, then id.',
});
