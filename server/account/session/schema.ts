import { Type } from '@sinclair/typebox';
import { ExpiryTime, Message, Timestamp } from '../../schema/common.ts';
import { SHOWN_PERSON } from '../person/schema.ts';

export const PersonSelf = Type.Object(
  {
    ...SHOWN_PERSON,
    signed_in_at: Timestamp('When the session began.'),
    expires_at: ExpiryTime('When the session ends at the latest.'),
  },
  { $id: 'PersonSelf', description: 'The person who has signed in, and the session.' },
);

export const SignedOut = Type.Object(
  {
    ...Message.properties,
    sign_out_url: Type.Optional(
      Type.String({
        description:
          'The address at the provider that ends the session there too, for a person who has signed in with OpenID Connect. It leads back here.',
        examples: ['https://login.example.com/logout?client_id=cardvault'],
      }),
    ),
  },
  { $id: 'SignedOut', description: 'The session has ended.' },
);

export const SignOutQuery = Type.Object({
  all: Type.Boolean({ description: 'Ends all sessions of the person, on all devices.', default: false }),
});
