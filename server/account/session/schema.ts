import { Type } from '@sinclair/typebox';
import { ExpiryTime, Timestamp } from '../../schema/common.ts';
import { SHOWN_PERSON } from '../person/schema.ts';

export const PersonSelf = Type.Object(
  {
    ...SHOWN_PERSON,
    signed_in_at: Timestamp('When the session began.'),
    expires_at: ExpiryTime('When the session ends at the latest.'),
  },
  { $id: 'PersonSelf', description: 'The person who has signed in, and the session.' },
);

export const SignOutQuery = Type.Object({
  all: Type.Boolean({ description: 'Ends all sessions of the person, on all devices.', default: false }),
});
