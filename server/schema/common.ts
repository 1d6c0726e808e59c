import { FormatRegistry, type Static, Type } from '@sinclair/typebox';
import { RATE_EXPECTED, RATE_PATTERN } from '../domain/rate.ts';
import { countCharacters } from '../domain/text/identifiers.ts';
import { normalRange } from '../domain/text/network.ts';
import { EXPECTED, ListOf, OTHER_NAME, PUBLISHED } from './kinds.ts';

const PASSPHRASE_CHARACTERS_MIN = 8;

/** Requirement for an id, as the rest of a sentence. */
export const IDENTIFIER_EXPECTED =
  'must have 1 to 128 letters, digits or characters of `._@:-`, and must not be `iframe`';

export const PASSPHRASE_CHARACTERS_MAX = 4096;

function isPassphrase(text: string, charactersMin: number): boolean {
  const length = countCharacters(text);
  return text.isWellFormed() && length >= charactersMin && length <= PASSPHRASE_CHARACTERS_MAX;
}
FormatRegistry.Set('chosen-passphrase', (text) => isPassphrase(text, PASSPHRASE_CHARACTERS_MIN));
FormatRegistry.Set('passphrase', (text) => isPassphrase(text, 1));

/** The characters of an identifier; the published pattern has no lookahead, which RE2 does not know. */
const ID_PATTERN = '^[A-Za-z0-9._@:-]{1,128}$';

/** An identifier of a key, an endpoint, a form or a rule. */
export function Identifier(description: string) {
  return Type.String({
    pattern: '^(?!iframe$)[A-Za-z0-9._@:-]{1,128}$',
    description,
    [EXPECTED]: IDENTIFIER_EXPECTED,
    examples: ['customers-2026'],
    [PUBLISHED]: { pattern: ID_PATTERN, not: { enum: ['iframe'] } },
  });
}

/** A new identifier: a URL cannot contain `.` and `..` as a segment. */
export function NewIdentifier(description: string) {
  return Type.String({
    ...Identifier(description),
    pattern: '^(?!(?:iframe|\\.{1,2})$)[A-Za-z0-9._@:-]{1,128}$',
    [EXPECTED]:
      'must have 1 to 128 letters, digits or characters of `._@:-`, and must not be `iframe`, `.` or `..`',
    [PUBLISHED]: { pattern: ID_PATTERN, not: { enum: ['iframe', '.', '..'] } },
  });
}

/** The name of a vault key: `key` or `user` in a request, `user` in a reply. */
export const User = Type.String({ ...Identifier('Identifier of the vault key.'), [OTHER_NAME]: 'key' });

export const Token = Type.String({
  minLength: 1,
  description: 'The token that storing returned.',
  examples: ['9f2c4e6a80b1d3f5a7c9e1b3d5f7092b4d6f8a0c2e4061829ab4cd6ef8091a2b'],
});

export const Recipient = Type.String({
  pattern: '^age1[02-9ac-hj-np-z]{58}$',
  description: 'A recipient of age with an X25519 key, as `age-keygen` prints it.',
  examples: ['age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p'],
  [EXPECTED]: 'must be a recipient that `age-keygen` printed: `age1` and 58 more characters',
});

export const Reference = Type.String({
  minLength: 1,
  maxLength: 255,
  description:
    'Your own reference for lookups. An item that was stored with a reference needs it together with the token.',
  examples: ['customer-4711'],
});

/** The reference in a reply, without limits. */
export const ShownReference = Type.String({
  description: 'The reference that the item was stored with.',
  examples: ['customer-4711'],
});

export const NextToken = Type.String({
  minLength: 1,
  description: 'X-Vault-Next-Token of the previous page. Send all other parameters unchanged.',
});

/** The name of the credential that acted, in entries of logs. */
export const ActorName = Type.String({
  description:
    'The name that the API credential or the person had then; it stays when the credential or the person is deleted. Omitted for other actors, and in entries that an earlier version of the vault wrote.',
  examples: ['charge worker'],
});

FormatRegistry.Set('address-range', (text) => normalRange(text) !== undefined);

/** An address, or a CIDR of addresses, in a filter. */
export const SourceFilter = Type.String({
  format: 'address-range',
  description: 'Only entries of callers with this address, or with one in this CIDR.',
  examples: ['203.0.113.0/24'],
  [EXPECTED]: 'must be an address or a CIDR, such as `203.0.113.7` or `203.0.113.0/24`',
  [PUBLISHED]: { format: undefined },
});

function passphraseSchema(format: string, minLength: number, expected: string, description: string) {
  return Type.String({
    format,
    description,
    'x-secret': true,
    examples: ['correct-horse-battery-staple-9Zq4'],
    [EXPECTED]: `${expected} ${minLength} to ${PASSPHRASE_CHARACTERS_MAX} characters`,
    [PUBLISHED]: { format: 'password', minLength, maxLength: PASSPHRASE_CHARACTERS_MAX },
  });
}

/** A passphrase for an existing key, in a JSON body. */
export function Passphrase(description: string) {
  return passphraseSchema('passphrase', 1, 'must be a text of', description);
}

/** A new passphrase for a key, in a JSON body. */
export function ChosenPassphrase(description: string) {
  return passphraseSchema('chosen-passphrase', PASSPHRASE_CHARACTERS_MIN, 'must have', description);
}

/** Accepts every valid duration, and some invalid ones. */
export const DURATION_PATTERN =
  '^(?:0|P0T0?|(?:[0-9]{1,12}[wdhms])+|P(?:[0-9]{1,12}[YMWD])+(?:T(?:[0-9]{1,12}[HMS])+)?|PT(?:[0-9]{1,12}[HMS])+)$';

export const RuleIds = ListOf(Identifier('Identifier of a rule.'), {
  maxItems: 64,
  description: 'Ids of rules, applied in this order; comma-separated in a query.',
});

export const MaskFields = ListOf(Type.String({ minLength: 1, maxLength: 1024 }), {
  maxItems: 256,
  description:
    'Names or dotted paths of fields to mask in the reply; comma-separated in a query. Default: the preference `mask_fields`, or none. An empty value masks no field.',
});

/** The reply of every deletion. */
export const Message = Type.Object(
  {
    message: Type.String({
      description: 'What was done, for humans.',
      examples: ['The item was deleted.'],
    }),
  },
  { $id: 'Message', description: 'What was done.' },
);
export type Message = Static<typeof Message>;

/** A moment in UTC, RFC 3339 with milliseconds. */
export function Timestamp(description: string) {
  return Type.String({
    description,
    examples: ['2026-01-31T12:00:00.123Z'],
    [PUBLISHED]: { format: 'date-time' },
  });
}

/** The end of a lifetime in UTC, RFC 3339 to the second. */
export function ExpiryTime(description: string) {
  return Type.String({
    description,
    examples: ['2026-01-31T12:00:00Z'],
    [PUBLISHED]: { format: 'date-time' },
  });
}

/** The body of every error reply; `field` names a place, never a value. */
export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'A message for humans. The wording may change.' }),
    code: Type.String({
      description: 'The stable error code; /guide/errors explains each code and what to do.',
    }),
    request_id: Type.String({
      description: 'The value of the X-Request-Id header; quote it in support requests.',
    }),
    field: Type.Optional(
      Type.String({
        description: 'The part of the request at fault, such as `query.key` or `body.passphrase`.',
      }),
    ),
  },
  { $id: 'Error', description: 'The body of every error reply.' },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** The body of an error of the vault on a relayed path, as the libraries of payment services read errors. */
export const RelayErrorBody = Type.Object(
  {
    error: Type.Object({
      type: Type.Literal('vault_error', {
        description: 'Tells errors of the vault from those of the third party.',
      }),
      code: ErrorBody.properties.code,
      message: ErrorBody.properties.error,
    }),
    code: ErrorBody.properties.code,
    request_id: ErrorBody.properties.request_id,
    field: ErrorBody.properties.field,
  },
  { $id: 'RelayError', description: 'The body of an error reply of the vault on a relayed path.' },
);
export type RelayErrorBody = Static<typeof RelayErrorBody>;

/** A number of requests in a period. */
export function Rate(description: string, example: string) {
  return Type.String({
    pattern: RATE_PATTERN,
    description,
    examples: [example],
    [EXPECTED]: RATE_EXPECTED,
  });
}

export const NO_QUERY = Type.Object({});

/** The format of a token, without a default. */
export const ALGORITHM = {
  pattern:
    '^(?:full|luhn|uuid|partial_(?:[89]|1[0-6])_(?:start|end)|partial_middle_(?:0|[1-9][0-9]?)_(?:0|[1-9][0-9]?))$',
  [EXPECTED]:
    'must be one of `full`, `partial_{n}_{start|end}` with n from 8 to 16, `partial_middle_{s}_{e}`, `luhn`, `uuid`',
  description:
    'The format of the token: `full` (64 hex digits), `partial_{n}_{start|end}` with n from 8 to 16, `partial_middle_{s}_{e}`, `luhn` (16 digits that pass the Luhn check) or `uuid` (random, new each time).',
  examples: ['full'],
};
