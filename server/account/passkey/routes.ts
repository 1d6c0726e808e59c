import { VaultError } from '../../core/errors.ts';
import { Secret } from '../../core/secret.ts';
import { objectOf } from '../../http/audit.ts';
import { type Call, defineRoute, type Reply } from '../../http/route.ts';
import type { AccountContext } from '../../request/context.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import { Message } from '../../schema/common.ts';
import type { PasskeySession, Passkeys } from './passkeys.ts';
import type { Passphrases } from './passphrases.ts';
import { refusePrfResults } from './prf.ts';
import {
  AcceptInvitation,
  AddPasskey,
  InvitationOptions,
  InvitationOptionsBody,
  Passkey,
  PasskeyOptions,
  PasskeyOptionsBody,
  SignedIn,
  SignInBody,
  SignInOptions,
  SignInOptionsBody,
} from './schema.ts';
import {
  KeptPassphrase,
  KeptPassphrases,
  PutWrap,
  WrapOptions,
  WrapOptionsBody,
  WrapQuery,
} from './wrap-schema.ts';

interface Needs {
  readonly passkeys: Passkeys;
  readonly passphrases: Passphrases;
}

const OPEN = { noun: 'person', auth: 'console', scope: 'none', meter: [] } as const;
const OWN = { noun: 'person', auth: 'basic', scope: 'person', meter: [] } as const;

/** The reply to a sign-in, with the cookie of its session. */
function signedIn({ cookie, person, passkeyId }: PasskeySession): Reply {
  return { json: { person, passkey_id: passkeyId }, headers: { 'Set-Cookie': cookie } };
}

const invitationOptions = defineRoute({
  ...OPEN,
  method: 'POST',
  path: '/v1/person/invitation/options',
  operationId: 'beginInvitation',
  summary: 'Begin to accept an invitation',
  description:
    'Tells whom the invitation is for, and gives the options to make a passkey, whose answer is accepted once within five minutes. The invitation stays as it is. For the console alone.',
  body: { kind: 'json', schema: InvitationOptionsBody, bytesMax: BODY_BYTES.short },
  response: InvitationOptions,
  errors: [
    'invitation_gone',
    'account_suspended',
    'people_unavailable',
    'integrity_failed',
    'record_rolled_back',
  ],
  handle: async ({ body }, { passkeys }: Needs) => {
    refusePrfResults(body);
    const { person, options } = await passkeys.invitationOptions(new Secret(body.token));
    return { json: { person: { name: person.record.name }, options } };
  },
});

const acceptInvitation = defineRoute({
  ...OPEN,
  method: 'POST',
  path: '/v1/person/invitation',
  operationId: 'acceptInvitation',
  summary: 'Accept an invitation',
  description:
    'Adds the passkey to the invited person, uses the invitation up and signs the person in: the reply sets the cookie of a session. Of two requests at the same time one succeeds. Results of the extension `prf` are refused: they stay in the browser. For the console alone.',
  body: { kind: 'json', schema: AcceptInvitation, bytesMax: BODY_BYTES.short },
  response: SignedIn,
  errors: [
    ...([
      'invitation_gone',
      'passkey_refused',
      'passkey_exists',
      'passkeys_full',
      'person_of_provider',
    ] as const),
    ...([
      'unauthenticated',
      'account_suspended',
      'people_unavailable',
      'integrity_failed',
      'record_rolled_back',
    ] as const),
  ],
  handle: async ({ ctx, body }, { passkeys }: Needs) => {
    refusePrfResults(body);
    const { token, name, response } = body;
    return signedIn(await passkeys.accept(ctx, new Secret(token), name, response));
  },
});

const signInOptions = defineRoute({
  ...OPEN,
  method: 'POST',
  path: '/v1/person/signin/options',
  operationId: 'beginSignIn',
  summary: 'Begin a sign-in with a passkey',
  description:
    'Gives the options to find a passkey, whose answer is accepted once within five minutes. For the console alone.',
  body: { kind: 'json', schema: SignInOptionsBody, bytesMax: BODY_BYTES.short },
  response: SignInOptions,
  errors: ['people_unavailable'],
  handle: async (_call, { passkeys }: Needs) => ({ json: await passkeys.signInOptions() }),
});

const signIn = defineRoute({
  ...OPEN,
  method: 'POST',
  path: '/v1/person/signin',
  operationId: 'signIn',
  summary: 'Sign in with a passkey',
  description:
    'Signs a person in: the reply sets the cookie of a session. Whatever is wrong with the answer, the reply is the same. Results of the extension `prf` are refused: they stay in the browser. For the console alone.',
  body: { kind: 'json', schema: SignInBody, bytesMax: BODY_BYTES.short },
  response: SignedIn,
  errors: [
    ...(['unauthenticated', 'account_suspended', 'people_unavailable'] as const),
    ...(['integrity_failed', 'record_rolled_back'] as const),
  ],
  handle: async ({ ctx, body }, { passkeys }: Needs) => {
    refusePrfResults(body);
    return signedIn(await passkeys.signIn(ctx, body.response));
  },
});

const passkeyOptions = defineRoute({
  ...OWN,
  method: 'POST',
  path: '/v1/person/self/passkey/options',
  operationId: 'beginPasskey',
  summary: 'Begin to add a passkey',
  description:
    'Gives the options to make another passkey of the person that has signed in, whose answer is accepted once within five minutes. Needs a sign-in within five minutes.',
  body: { kind: 'json', schema: PasskeyOptionsBody, bytesMax: BODY_BYTES.short },
  response: PasskeyOptions,
  errors: ['sign_in_again', 'person_of_provider', 'people_unavailable'],
  handle: async ({ ctx, body }, { passkeys }: Needs) => {
    refusePrfResults(body);
    return { json: await passkeys.ownOptions(ctx) };
  },
});

const addPasskey = defineRoute({
  ...OWN,
  method: 'POST',
  path: '/v1/person/self/passkey',
  operationId: 'addPasskey',
  summary: 'Add a passkey',
  description:
    'Adds another passkey to the person that has signed in. Needs a sign-in within five minutes. Results of the extension `prf` are refused: they stay in the browser.',
  body: { kind: 'json', schema: AddPasskey, bytesMax: BODY_BYTES.short },
  response: Passkey,
  errors: [
    ...(['sign_in_again', 'passkey_refused', 'passkey_exists', 'passkeys_full'] as const),
    ...(['person_of_provider', 'person_not_found', 'people_unavailable'] as const),
  ],
  audit: { action: 'person.passkey.add', object: (call) => ownObject(call) },
  handle: async ({ ctx, body }, { passkeys }: Needs) => {
    refusePrfResults(body);
    const { id, name, created_at } = await passkeys.add(ctx, body.name, body.response);
    return { json: { id, name, created_at } };
  },
});

/** The person that acts, and a key whose passphrase it keeps. */
function ownObject({ ctx }: Pick<Call, 'ctx'>, user?: string): string {
  const id = (ctx as AccountContext).account.credential?.person?.id;
  return id === undefined
    ? 'person'
    : objectOf('person', id, ...(user === undefined ? [] : ['passphrase', user]));
}

const passphraseOptions = defineRoute({
  ...OWN,
  method: 'POST',
  path: '/v1/person/self/passphrase/options',
  operationId: 'beginPassphrase',
  summary: 'Begin to keep a passphrase under a passkey',
  description:
    'Gives what a browser needs to encrypt the passphrase of a key under a passkey of the person that has signed in. The answer to the options stays in the browser.',
  body: { kind: 'json', schema: WrapOptionsBody, bytesMax: BODY_BYTES.short },
  response: WrapOptions,
  errors: ['key_not_found', 'passkey_not_found', 'people_unavailable'],
  handle: async ({ ctx, body }, { passkeys, passphrases }: Needs) => {
    refusePrfResults(body);
    return { json: await passphrases.options(ctx, passkeys.site(), body) };
  },
});

const putPassphrase = defineRoute({
  ...OWN,
  method: 'PUT',
  path: '/v1/person/self/passphrase',
  operationId: 'keepPassphrase',
  summary: 'Keep a passphrase under a passkey',
  description:
    'Stores the passphrase of a key, which the browser has encrypted under a passkey of the person that has signed in, in place of the one before. The vault cannot open it. It ends with the person, the passkey, the key and its passphrase.',
  body: { kind: 'json', schema: PutWrap, bytesMax: BODY_BYTES.short },
  response: KeptPassphrase,
  errors: ['key_not_found', 'key_changed', 'passkey_not_found', 'passphrases_full'],
  audit: { action: 'person.change', object: (call) => ownObject(call, call.body.user) },
  handle: async ({ ctx, body }, { passphrases }: Needs) => {
    refusePrfResults(body);
    return { json: await passphrases.put(ctx, body) };
  },
});

const listPassphrases = defineRoute({
  ...OWN,
  method: 'GET',
  path: '/v1/person/self/passphrase',
  operationId: 'listKeptPassphrases',
  summary: 'List passphrases under passkeys',
  description:
    'Returns the encrypted passphrases of the person that has signed in, under all of its passkeys, as far as they still open something.',
  response: KeptPassphrases,
  errors: [],
  handle: async ({ ctx }, { passphrases }: Needs) => ({ json: await passphrases.list(ctx) }),
});

const deletePassphrase = defineRoute({
  ...OWN,
  method: 'DELETE',
  path: '/v1/person/self/passphrase',
  operationId: 'forgetPassphrase',
  summary: 'Remove a passphrase under a passkey',
  description: 'Removes the encrypted passphrase of a key under one passkey.',
  query: WrapQuery,
  response: Message,
  errors: ['passphrase_not_found'],
  audit: { action: 'person.change', object: (call) => ownObject(call, call.query.user) },
  handle: async ({ ctx, query }, { passphrases }: Needs) => {
    if (!(await passphrases.remove(ctx, query))) {
      throw new VaultError('passphrase_not_found');
    }
    return { json: { message: 'The encrypted passphrase was removed.' } };
  },
});

export const PASSKEY_ROUTES = [
  invitationOptions,
  acceptInvitation,
  signInOptions,
  signIn,
  passkeyOptions,
  addPasskey,
  passphraseOptions,
  putPassphrase,
  listPassphrases,
  deletePassphrase,
];
