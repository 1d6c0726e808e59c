import { Type } from '@sinclair/typebox';
import { TokenInfo } from '../vault/schema.ts';

/** Header lines in their order; a name may come again. */
export const HeaderLines = Type.Array(
  Type.Record(Type.String(), Type.String(), { examples: [{ 'Content-Type': 'application/json' }] }),
  {
    description:
      'Objects with one member each, in the order of the headers; a name may occur more than once.',
  },
);

const StatusCode = Type.Integer({
  description: "The status code of the third party's reply.",
  examples: [201],
});

const Withheld = Type.Optional(
  Type.Literal(true, {
    description:
      'The caller may not see data: of the reply it gets the status code and the members that the connection names in `reply`.',
  }),
);

/** A third party's reply, in the order in which it is written. */
export const REPLY_MEMBERS = {
  headers: HeaderLines,
  body: Type.String({
    description:
      'The body as text, decoded with the charset of its Content-Type if it is known, otherwise as UTF-8. At most 1 MB.',
  }),
  status_code: StatusCode,
  withheld: Withheld,
};

export const PostWebhook = Type.Object(REPLY_MEMBERS, {
  $id: 'PostWebhook',
  description: 'The reply of a third party to a request with stored data, with any status.',
});

export const GetWebhook = Type.Object(
  {
    headers: HeaderLines,
    status_code: StatusCode,
    token_info: Type.Optional(TokenInfo),
    body: Type.Optional(
      Type.String({
        description: 'The reply with mustache tags in place of the stored values; only with `smart_parse`.',
      }),
    ),
    withheld: Withheld,
  },
  {
    $id: 'GetWebhook',
    description:
      'Data fetched from a third party was stored. If the last attempt got 429 or 5xx, nothing was stored and `token_info` is absent.',
  },
);

function text(description: string, example: string) {
  return Type.String({ description, examples: [example] });
}

export const NetworkTokenWebhook = Type.Object(
  {
    network_token: Type.Object(
      {
        token: Type.Optional(
          text('The network token, used for payments instead of the card number.', '4000001234567899'),
        ),
        expiry_month: Type.Optional(text('Its month of expiry.', '12')),
        expiry_year: Type.Optional(text('Its year of expiry.', '2029')),
        last_four: Type.Optional(text('The last four digits of the network token.', '4567')),
        status: text('The status according to the requester.', 'active'),
      },
      {
        description:
          'The network token that the requester issued for the card; for a caller who may not see data its status alone.',
      },
    ),
    token_info: TokenInfo,
  },
  { $id: 'NetworkTokenWebhook', description: 'A network token was issued and stored.' },
);

export const FailureWebhook = Type.Object(
  {
    error: Type.String({ description: 'A message for humans. The wording may change.' }),
    code: text(
      'The error code, see /guide/errors. With `outcome_unknown` the third party may have processed the request.',
      'target_unreachable',
    ),
  },
  { $id: 'FailureWebhook', description: 'The request failed and there is no reply to report.' },
);
