import { type Static, Type } from '@sinclair/typebox';
import { Reference, ShownReference, Token, User } from './common.ts';
import { CREATE_MEMBERS, ExpiresAt, NewSecret, UniqueId } from './endpoint.ts';
import { Algorithm, CardMetadata, FACTS, NumberParameter, OwnAlgorithm, SHOWN_FACTS } from './vault.ts';

export const CreateCaptureQuery = Type.Object({
  ...CREATE_MEMBERS,
  algorithm: Type.Optional(Algorithm),
  reference: Type.Optional({
    ...Reference,
    description:
      'The reference of items that are sent without one. Default: the unique id of the endpoint. With `token`: the reference that its item was stored with.',
  }),
  token: Type.Optional({
    ...Token,
    description:
      'The only item of the endpoint: what is sent is merged into it, member by member, and needs no number. Not together with `algorithm` and `overwrite`.',
  }),
  smart_parse: Type.Optional(
    Type.Boolean({
      description:
        'Whether bodies of any format are taken, and the card is searched in them as in a reply to the proxy: JSON, XML, forms and text.',
      default: false,
    }),
  ),
  overwrite: Type.Optional(
    Type.Boolean({
      description: 'Whether an item that is stored already is replaced; otherwise its token is refused.',
      default: true,
    }),
  ),
});

export const CaptureEndpoint = Type.Object(
  {
    url: Type.String({
      description: 'The path that data is posted to.',
      examples: ['/v1/capture/web-shop'],
    }),
    unique_id: UniqueId,
    secret: NewSecret('vcs1'),
    expires_at: ExpiresAt,
  },
  { $id: 'CaptureEndpoint' },
);
export type CaptureEndpoint = Static<typeof CaptureEndpoint>;

/** What a sender learns of an endpoint before it sends. */
export const CaptureState = Type.Object(
  { unique_id: UniqueId, expires_at: ExpiresAt },
  { $id: 'CaptureState', description: 'An endpoint that takes data now.' },
);
export type CaptureState = Static<typeof CaptureState>;

/** The kinds of hosted forms; the form names itself when it sends what was typed. */
export const FormType = Type.Union(
  (['pcd', 'ach', 'custom'] as const).map((name) => Type.Literal(name)),
  { description: 'The type of hosted form that sends the data; the action log then has the source `form`.' },
);

export const CaptureQuery = Type.Object({
  reference: Type.Optional({
    ...Reference,
    description: 'The reference of the item. Default: that of the endpoint, otherwise its unique id.',
  }),
  number: Type.Optional(NumberParameter),
  algorithm: Type.Optional(OwnAlgorithm),
  return_card_metadata: Type.Optional(
    Type.Boolean({
      description: 'Whether to add card_metadata. Default: the setting of the endpoint.',
    }),
  ),
  form_type: Type.Optional(FormType),
  ...FACTS,
});

export const Captured = Type.Object(
  {
    token: Token,
    user: User,
    reference: Type.Optional(ShownReference),
    expires_at: SHOWN_FACTS.expires_at,
    card_metadata: Type.Optional(CardMetadata),
  },
  {
    $id: 'Captured',
    description: 'The reply of a capture, for the third party to pass on to the owner of the endpoint.',
  },
);
export type Captured = Static<typeof Captured>;

/** What the webhook of an endpoint is told. */
export const ToldCapture = Type.Object({ ...Captured.properties, metadata: SHOWN_FACTS.metadata });
export type ToldCapture = Static<typeof ToldCapture>;
