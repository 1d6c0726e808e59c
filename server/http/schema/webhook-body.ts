import { Type } from '@sinclair/typebox';
import { TokenInfo } from './vault.ts';

/** Header lines in their order; a name may come again. */
export const HeaderLines = Type.Array(
  Type.Record(Type.String(), Type.String(), { examples: [{ 'Content-Type': 'application/json' }] }),
  { description: 'Objects of one member each, in the order of the headers; a name may come again.' },
);

const StatusCode = Type.Integer({ description: "The third party's status.", examples: [201] });

/** A third party's reply, in the order in which it is written. */
export const REPLY_MEMBERS = {
  headers: HeaderLines,
  body: Type.String({
    description:
      'The body as text, by the charset of its Content-Type where that is known, else as UTF-8. At most 1 MB.',
  }),
  status_code: StatusCode,
};

export const PostWebhook = Type.Object(REPLY_MEMBERS, {
  $id: 'PostWebhook',
  description: 'What a third party answered to data that was sent out, whatever its status.',
});

export const GetWebhook = Type.Object(
  {
    headers: HeaderLines,
    status_code: StatusCode,
    token_info: Type.Optional(TokenInfo),
    body: Type.Optional(
      Type.String({
        description: 'The reply with mustache tags in the place of what was stored; only with `smart_parse`.',
      }),
    ),
  },
  {
    $id: 'GetWebhook',
    description:
      'Data fetched from a third party was stored. When the last attempt was answered with 429 or 5xx nothing was, and `token_info` is not there.',
  },
);

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

export const NetworkTokenWebhook = Type.Object(
  {
    network_token: Type.Object(
      {
        token: text('The network token: what to pay with in the place of the card.', '4000001234567899'),
        expiry_month: text('Its month of expiry.', '12'),
        expiry_year: text('Its year of expiry.', '2029'),
        last_four: text('The last four digits of the network token.', '4567'),
        status: text('What the requester calls it.', 'active'),
      },
      { description: 'What the requester gave for the card.' },
    ),
    token_info: TokenInfo,
  },
  { $id: 'NetworkTokenWebhook', description: 'A network token was made and stored.' },
);

export const FailureWebhook = Type.Object(
  {
    error: Type.String({ description: 'One sentence for a person. The wording may change.' }),
    code: text(
      'Why, a code of /guide/errors. With `outcome_unknown` the request may have had its effect.',
      'target_unreachable',
    ),
  },
  { $id: 'FailureWebhook', description: 'There is no reply to report.' },
);

/** What webhooks say, by what was asked for; the metadata of the request stands beside the members. */
export const WEBHOOKS = {
  proxyPost: Type.Union([PostWebhook, FailureWebhook]),
  proxyGet: Type.Union([GetWebhook, FailureWebhook]),
  networkToken: Type.Union([NetworkTokenWebhook, FailureWebhook]),
};
