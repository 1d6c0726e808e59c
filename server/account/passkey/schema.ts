import { Type } from '@sinclair/typebox';
import { Timestamp } from '../../schema/common.ts';
import { Person } from '../person/schema.ts';
import {
  CreationOptions,
  NewPasskeyAnswer,
  PasskeyAnswer,
  PasskeyId,
  PasskeyName,
  RequestOptions,
} from './ceremony-schema.ts';

const InvitationToken = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'The token of the invitation: what follows `token=` in its URL.',
  'x-secret': true,
  examples: ['dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ'],
});

export const InvitationOptionsBody = Type.Object(
  { token: InvitationToken },
  { $id: 'InvitationOptionsOrder', description: 'The invitation to accept.' },
);

export const InvitationOptions = Type.Object(
  {
    person: Type.Object(
      { name: Type.String({ description: 'Whom the invitation is for.', examples: ['Ada Lovelace'] }) },
      { description: 'Who is invited.' },
    ),
    options: CreationOptions,
  },
  { $id: 'InvitationOptions', description: 'What a browser needs to make the passkey.' },
);

export const AcceptInvitation = Type.Object(
  { token: InvitationToken, name: Type.Optional(PasskeyName), response: NewPasskeyAnswer },
  { $id: 'AcceptInvitation', description: 'The new passkey of an invited person.' },
);

export const SignInOptionsBody = Type.Object(
  {},
  { $id: 'SignInOptionsOrder', description: 'Nothing: the browser finds the passkey.' },
);

export const SignInOptions = Type.Object(
  { options: RequestOptions },
  { $id: 'SignInOptions', description: 'What a browser needs to sign in.' },
);

export const SignInBody = Type.Object(
  { response: PasskeyAnswer },
  { $id: 'PasskeySignIn', description: 'A sign-in with a passkey.' },
);

export const SignedIn = Type.Object(
  { person: Person, passkey_id: PasskeyId },
  {
    $id: 'SignedIn',
    description: 'Who has signed in, and with which passkey. The session is in the cookie of this reply.',
  },
);

export const PasskeyOptionsBody = Type.Object(
  {},
  { $id: 'PasskeyOptionsOrder', description: 'Nothing: the session tells who asks.' },
);

export const PasskeyOptions = Type.Object(
  { options: CreationOptions },
  { $id: 'PasskeyOptions', description: 'What a browser needs to make the passkey.' },
);

export const AddPasskey = Type.Object(
  { name: Type.Optional(PasskeyName), response: NewPasskeyAnswer },
  { $id: 'AddPasskey', description: 'Another passkey of the person that acts.' },
);

export const Passkey = Type.Object(
  { id: PasskeyId, name: PasskeyName, created_at: Timestamp('When it was added.') },
  { $id: 'Passkey', description: 'A passkey, without its key.' },
);
