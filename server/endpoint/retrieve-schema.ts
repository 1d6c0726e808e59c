import { type Static, Type } from '@sinclair/typebox';
import { FormType } from '../form/schema.ts';
import { MaskFields, NextToken, Reference, ShownReference, Token, User } from '../schema/common.ts';
import { PreferredLimit } from '../schema/kinds.ts';
import { ReferencePrefix } from '../vault/schema.ts';
import { CREATE_MEMBERS, ExpiresAt, NewSecret, UniqueId } from './schema.ts';

export const CreateRetrieveQuery = Type.Object({
  ...CREATE_MEMBERS,
  token: Type.Optional({ ...Token, description: 'Limits the scope of the endpoint to this token.' }),
  reference: Type.Optional({
    ...Reference,
    description: 'Limits the scope of the endpoint to items with this reference.',
  }),
  mask_fields: Type.Optional(MaskFields),
});

export const RetrieveEndpoint = Type.Object(
  {
    url: Type.String({
      description: 'The path that data is read from.',
      examples: ['/v1/retrieve/call-centre'],
    }),
    unique_id: UniqueId,
    secret: NewSecret('vrs1'),
    expires_at: ExpiresAt,
    user: User,
    token: Type.Optional(Token),
    reference: Type.Optional(ShownReference),
  },
  { $id: 'RetrieveEndpoint' },
);
export type RetrieveEndpoint = Static<typeof RetrieveEndpoint>;

export const RetrieveQuery = Type.Object({
  token: Type.Optional(Token),
  reference: Type.Optional(Reference),
  reference_prefix: Type.Optional(ReferencePrefix),
  decrypt_all: Type.Boolean({
    default: false,
    description: 'Whether to decrypt every listed item. Each item counts as a decryption.',
  }),
  limit: PreferredLimit(1024),
  next_token: Type.Optional(NextToken),
  form_type: Type.Optional({
    ...FormType,
    description: 'The type of hosted form that displays the data; the action log then has the source `form`.',
  }),
});
