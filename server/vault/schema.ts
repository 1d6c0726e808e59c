import { type Static, Type } from '@sinclair/typebox';
import {
  ActorName,
  ALGORITHM,
  DURATION_PATTERN,
  ExpiryTime,
  MaskFields,
  Message,
  NextToken,
  Passphrase,
  Reference,
  RuleIds,
  ShownReference,
  SourceFilter,
  Timestamp,
  Token,
  User,
} from '../schema/common.ts';
import { ALIASES, EXPECTED, FilterTime, Limit, Pairs, PreferredLimit, PUBLISHED } from '../schema/kinds.ts';

export const ReferencePrefix = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'Only items whose reference starts with this text.',
});

export const CardMetadataFlag = Type.Optional(
  Type.Boolean({
    description:
      'Whether to add card_metadata: brand and issuer, derived from the number. Default: the preference `return_card_metadata`, or false.',
  }),
);

/** The number in the query. Like in the body, the first name that holds at least one digit counts. */
export const NumberParameter = Type.String({
  pattern: '[0-9]',
  [EXPECTED]: 'must have at least one digit',
  description:
    'The number to derive the token from; needed only if the body has none, and not stored. If several names are sent, the first with a digit is used, in the order card_number, account_number, n, number.',
  'x-secret': true,
  examples: ['4111111111111111'],
  [ALIASES]: ['card_number', 'account_number', 'n'],
});

/** An algorithm whose default is the account's preference. */
export const Algorithm = Type.String({
  ...ALGORITHM,
  description: `${ALGORITHM.description} Default: the preference \`default_algorithm\`, or \`full\`.`,
});

/** An algorithm whose default is the setting of an endpoint. */
export const OwnAlgorithm = Type.String({
  ...ALGORITHM,
  description: `${ALGORITHM.description} Default: the setting of the endpoint.`,
});

function Ttl(byDefault: string) {
  return Type.String({
    description: `After this time the item is gone: \`45m\`, \`1h30m\`, or ISO 8601 (\`PT10M\`, \`P1D\`, \`P1W\`), at most 10 years; \`0\`: it has no end. Default: ${byDefault}`,
    examples: ['P90D'],
    [PUBLISHED]: { pattern: DURATION_PATTERN },
  });
}

function Metadata(more: string) {
  return Type.String({
    description: `The JSON text of an object of at most 32 texts to find the item by, which listings show without the passphrase: names of \`[A-Za-z0-9_.-]{1,40}\`, texts of at most 500 characters, no card numbers. ${more}`,
    examples: ['{"tier":"gold"}'],
  });
}

/** Facts of a new item in addition to its data. */
export const FACTS = {
  ttl: Type.Optional(Ttl('no end.')),
  metadata: Type.Optional(Metadata('Default: none.')),
};

function fingerprintFlag(more: string) {
  return Type.Boolean({
    default: false,
    description: `Whether to add \`fingerprint\`, which is equal for equal numbers under the same key.${more}`,
  });
}

export const StoreQuery = Type.Object({
  user: User,
  reference: Type.Optional(Reference),
  number: Type.Optional(NumberParameter),
  algorithm: Type.Optional(Algorithm),
  return_card_metadata: CardMetadataFlag,
  return_fingerprint: fingerprintFlag(''),
  ...FACTS,
});

export const ReadQuery = Type.Object({
  user: Type.Optional(User),
  token: Type.Optional(Token),
  reference: Type.Optional(Reference),
  reference_prefix: Type.Optional(ReferencePrefix),
  stored_after: Type.Optional(FilterTime('Only items stored at or after this time (UTC).')),
  stored_before: Type.Optional(FilterTime('Only items stored before this time (UTC).')),
  metadata: Type.Optional(
    Pairs(32, 'Only items with this metadata, as `name:text`. Repeated: all of them must match.'),
  ),
  last_four: Type.Optional(
    Type.String({
      pattern: '^[0-9]{4}$',
      [EXPECTED]: 'must be four digits',
      description: 'Only items whose card has these last four digits, of keys with summaries.',
      examples: ['1111'],
    }),
  ),
  expires_before: Type.Optional(FilterTime('Only items that expire before this time (UTC).')),
  mask_fields: Type.Optional(MaskFields),
  rules: Type.Optional(RuleIds),
  decrypt_all: Type.Boolean({
    default: false,
    description:
      'Whether to decrypt every listed item; needs user and the passphrase. Each item counts as a decryption.',
  }),
  return_card_metadata: CardMetadataFlag,
  limit: PreferredLimit(1024),
  next_token: Type.Optional(NextToken),
});

export const RemoveQuery = Type.Object({
  user: User,
  token: Type.Optional(Token),
  reference: Type.Optional(Reference),
  all: Type.Boolean({
    default: false,
    description: 'Whether to delete all items of `reference`, instead of one by its token.',
  }),
  next_token: Type.Optional(NextToken),
});

export const Removal = Type.Object(
  {
    ...Message.properties,
    deleted: Type.Optional(
      Type.Integer({ description: 'With `all`: how many items were deleted.', examples: [3] }),
    ),
  },
  { $id: 'Removal', description: 'What was deleted.' },
);

export const UpdateQuery = Type.Object({
  user: User,
  token: Token,
  reference: Type.Optional(Reference),
  rules: Type.Optional(RuleIds),
  ttl: Type.Optional(Ttl('as it is.')),
  metadata: Type.Optional(Metadata('It replaces all that the item has; `{}` removes it.')),
  return_fingerprint: fingerprintFlag(' An item whose number was only sent in the query has none here.'),
});

export const LogQuery = Type.Object({
  user: User,
  token: Token,
  reference: Type.Optional(Reference),
  limit: PreferredLimit(1024),
  next_token: Type.Optional(NextToken),
});

/** Any JSON object; kept as sent, number texts included. */
export const StoredObject = Type.Object(
  {},
  {
    $id: 'StoredObject',
    additionalProperties: true,
    description:
      'Any JSON object of at most 256 KB with a number as card_number, account_number, n or number. JSON numbers keep their exact text.',
    examples: [{ card_number: '4111111111111111', expiry: '12/29', card_holder: 'A Person' }],
  },
);

/** Members of an update, which replace the stored ones. */
export const UpdateObject = Type.Object(
  {},
  {
    $id: 'UpdateObject',
    additionalProperties: true,
    description:
      'Members that replace the stored ones, first level only. card_number, account_number, n and number are ignored.',
    examples: [{ expiry: '01/31' }],
  },
);

const Issuer = Type.Object({
  brand: Type.String({ description: 'The brand.', examples: ['visa'] }),
  issuing_bank: Type.Optional(Type.String({ description: 'The bank.', examples: ['Example Bank'] })),
  country_name: Type.Optional(Type.String({ description: 'Its country.', examples: ['Germany'] })),
  card_type: Type.Optional(Type.String({ description: 'Such as credit or debit.', examples: ['credit'] })),
  card_level: Type.Optional(Type.String({ description: 'Such as gold.', examples: ['gold'] })),
});

export const CardMetadata = Type.Object(
  {
    bin: Type.String({
      description: 'The first digits of the number, which identify the issuer.',
      examples: ['411111'],
    }),
    brand: Type.String({ description: 'The brand, derived from the number.', examples: ['visa'] }),
    issuer: Type.Array(Issuer, {
      description: "Rows of the operator's BIN table; empty if none is loaded.",
    }),
  },
  { $id: 'CardMetadata', description: 'Data derived from a card number.' },
);
export type CardMetadata = Static<typeof CardMetadata>;

/** What the first digits of a number tell. */
export const BinNetworks = Type.Object(
  {
    networks: Type.Array(Type.String({ examples: ['visa'] }), {
      description: 'The networks of the card, that of its number first; two for a card with two brands.',
    }),
    card_type: Type.Optional(
      Type.String({ description: 'As in the BIN table of the operator.', examples: ['debit'] }),
    ),
    country: Type.Optional(Type.String({ description: 'The country of the issuer.', examples: ['France'] })),
  },
  { $id: 'BinNetworks', description: 'What the first digits of a number tell.' },
);
export type BinNetworks = Static<typeof BinNetworks>;

export const ResealBody = Type.Object(
  { user: User, passphrase: Passphrase('The passphrase of the key.') },
  {
    $id: 'ResealKey',
    examples: [{ key: 'customers-2026', passphrase: 'correct-horse-battery-staple-9Zq4' }],
  },
);

export const ResealQuery = Type.Object({ user: User });

export const ResealProgress = Type.Object(
  {
    total: Type.Integer({
      minimum: 0,
      description:
        'Items of older generations of the key when it began, and those with or without a summary against its setting.',
    }),
    done: Type.Integer({ minimum: 0, description: 'How many of them have been sealed anew.' }),
    paused: Type.Optional(
      Type.Literal(true, {
        description:
          'It has stopped: after an hour, with its server, or by a change of the passphrase. A repeat goes on.',
      }),
    ),
    finished_at: Type.Optional(ExpiryTime('When it was done; items that are damaged stay as they are.')),
  },
  { $id: 'ResealProgress', description: 'The progress of the last reseal of a key; zeros without one.' },
);
export type ResealProgress = Static<typeof ResealProgress>;

const STORED_AT = Timestamp('When the item was stored or last updated.');

/** Facts of an item in replies. */
export const SHOWN_FACTS = {
  expires_at: Type.Optional(ExpiryTime('When the item is gone; absent without an end.')),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'The metadata that the item was stored with.',
      examples: [{ tier: 'gold' }],
    }),
  ),
};

export const TokenInfo = Type.Object(
  {
    token: Token,
    user: User,
    reference: Type.Optional(ShownReference),
    stored_at: STORED_AT,
    created: Type.Boolean({
      description: 'Whether the token is new; false if an item was replaced.',
      examples: [true],
    }),
    ...SHOWN_FACTS,
    fingerprint: Type.Optional(
      Type.String({
        description: '32 hex digits, equal for equal numbers under the same key, whatever the reference.',
        examples: ['5b1f0c9e2d3a48c79e390d4c7c1f6f2e'],
      }),
    ),
    card_metadata: Type.Optional(CardMetadata),
  },
  { $id: 'TokenInfo', description: 'A stored item, without its data.' },
);
export type TokenInfo = Static<typeof TokenInfo>;

export const CardSummary = Type.Object(
  {
    brand: Type.Optional(Type.String({ description: 'The brand.', examples: ['visa'] })),
    last_four: Type.Optional(Type.String({ description: 'The last four digits.', examples: ['1111'] })),
    expiry_month: Type.Optional(Type.String({ description: 'Two digits.', examples: ['12'] })),
    expiry_year: Type.Optional(Type.String({ description: 'Four digits.', examples: ['2029'] })),
  },
  { $id: 'CardSummary', description: 'What a key with summaries shows of a card.' },
);

export const TreeItem = Type.Object(
  {
    token: Token,
    reference: Type.Optional(ShownReference),
    stored_at: STORED_AT,
    ...SHOWN_FACTS,
    card: Type.Optional(CardSummary),
    data: Type.Optional(StoredObject),
    card_metadata: Type.Optional(CardMetadata),
  },
  {
    $id: 'TreeItem',
    description: 'An item in a listing; `data` and `card_metadata` are present only with decrypt_all.',
  },
);
export type TreeItem = Static<typeof TreeItem>;

export const Tree = Type.Record(Type.String(), Type.Array(TreeItem), {
  $id: 'Tree',
  description: 'Identifiers of keys, each with a list of its items in ascending order of stored_at.',
});
export type Tree = Static<typeof Tree>;

/**
 * The object of one item, or a tree. It is published as any object: generated code of several languages cannot tell
 * one map from another, and every tree is also an object as it is stored.
 */
export const ItemsReply = Type.Unsafe<Static<typeof StoredObject> | Tree>(
  Type.Object(
    {},
    {
      $id: 'ItemsReply',
      additionalProperties: true,
      description:
        'The stored object if one item was decrypted, as StoredObject; otherwise identifiers of keys, each with a list of TreeItem, as Tree.',
      examples: [{ card_number: '************1111', expiry: '12/29', card_holder: 'A Person' }],
    },
  ),
);

export const LogEntry = Type.Object(
  {
    action: Type.Union([Type.Literal('encrypt'), Type.Literal('decrypt')], {
      description:
        '`encrypt` if the item was stored or updated, `decrypt` if it was decrypted. A refused deletion is an `encrypt`.',
    }),
    source: Type.Union(
      (['vault', 'capture', 'retrieve', 'proxy', 'form', 'inbound'] as const).map((source) =>
        Type.Literal(source),
      ),
      {
        description: 'The origin: the account itself, an endpoint, a request to a third party, or a form.',
      },
    ),
    outcome: Type.String({
      description:
        '`ok`, or the code of the error with which the attempt was refused; `unknown` for a code of a later version of the vault.',
      examples: ['ok'],
    }),
    actor: Type.String({
      description:
        'Who acted: the name of the account; the uses of an endpoint are those of the account that made it. With an API credential, the name of the account, a slash and the id of the credential; a person is `ACCOUNT/person/ID`.',
      examples: ['shop'],
    }),
    actor_name: Type.Optional(ActorName),
    endpoint: Type.Optional(
      Type.String({
        description: 'The id of the capture or retrieval endpoint that was used.',
        examples: ['checkout'],
      }),
    ),
    request_id: Type.String({
      description:
        'The id of the request, as in its X-Request-Id header; empty in entries that an earlier version of the vault wrote.',
      examples: ['5f0c9f5e-2d53-4c8e-9a39-0d4c7c1f6f2e'],
    }),
    ip_address: Type.String({ description: 'The IP address of the caller.', examples: ['203.0.113.7'] }),
    user_agent: Type.String({
      description: 'The User-Agent header of the caller; empty if there is none.',
      examples: ['shop/1.0'],
    }),
    timestamp: Timestamp('The time of the event.'),
  },
  { $id: 'LogEntry', description: 'One use of an item, or a refused attempt.' },
);

export const AccessQuery = Type.Object({
  user: Type.Optional(User),
  actor: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Only readings of this actor, as `actor` of the entries has it.',
      examples: ['shop/cred_Zm9vYmFyYmF6cXV4cXV1eA'],
    }),
  ),
  source_ip: Type.Optional(SourceFilter),
  endpoint: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Only readings through this retrieval endpoint.',
      examples: ['show-4711'],
    }),
  ),
  after: Type.Optional(FilterTime('Only readings at or after this time (UTC).')),
  before: Type.Optional(FilterTime('Only readings before this time (UTC).')),
  limit: Limit(1024),
  next_token: Type.Optional(NextToken),
});

export const AccessEntry = Type.Object(
  {
    user: User,
    token: Token,
    reference: Type.Optional(ShownReference),
    ...LogEntry.properties,
  },
  { $id: 'AccessEntry', description: 'A successful reading of an item.' },
);

export const AccessEntries = Type.Array(AccessEntry, { description: 'Newest first.' });

export const LogEntries = Type.Array(LogEntry, { description: 'Newest first.' });
