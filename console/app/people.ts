/** How people sign in. */
import { VaultApiError } from '../../sdk/transport/errors.ts';
import { get, sendJson } from '../../sdk/transport/pages.ts';
import type { Schema } from '../../sdk/transport/shapes.ts';
import type { Transport } from '../../sdk/transport/transport.ts';
import { makePasskey, usePasskey } from './passkey.ts';
import { type Session, visitor } from './session.ts';
import { T } from './text.ts';

/** The signed-in person. */
export type Self = Schema<'PersonSelf'>;

/** The signed-in person, and the session. */
export function readSelf({ transport }: Session): Promise<Self> {
  return get(transport, ['person', 'self'], {});
}

/** What a browser needs for a ceremony with a passkey; nothing changes. */
function begin<T>(transport: Transport, path: readonly string[], body: object = {}): Promise<T> {
  return sendJson<T>(transport, 'POST', [...path, 'options'], 'always', body);
}

/** Signs in with a passkey of this browser: the reply sets the cookie. Returns the id of the passkey if it has PRF. */
export async function signInWithPasskey(): Promise<string | undefined> {
  const path = ['person', 'signin'];
  const { options } = await begin<{ options: PublicKeyCredentialRequestOptionsJSON }>(visitor, path);
  const { id, answer, prf } = await usePasskey(options);
  try {
    await sendJson(visitor, 'POST', path, 'when_rejected', { response: answer });
  } catch (error) {
    throw error instanceof VaultApiError && error.code === 'unauthenticated'
      ? new Error(T.signIn.unknown)
      : error;
  }
  return prf === undefined ? undefined : id;
}

/** Leaves for the provider of the single sign-on, which leads back to the console. */
export async function signInElsewhere(): Promise<void> {
  const { url } = await sendJson<{ url: string }>(
    visitor,
    'POST',
    ['person', 'signin', 'oidc'],
    'always',
    {},
  );
  location.assign(url);
}

interface Invited {
  readonly person: { readonly name: string };
  readonly options: PublicKeyCredentialCreationOptionsJSON;
}

const INVITATION = ['person', 'invitation'] as const;

/** Whom an invitation is for, and the options of the passkey that it makes, which are good once. */
export function readInvitation(token: string): Promise<Invited> {
  return begin(visitor, INVITATION, { token });
}

/** Makes the passkey of an invitation, and signs in. Returns the id of the passkey if it has PRF. */
export async function join(token: string, name: string | undefined): Promise<string | undefined> {
  // New options, since people read a page as long as they like.
  const { options } = await readInvitation(token);
  const { id, answer, hasPrf } = await makePasskey(options);
  await sendJson(visitor, 'POST', INVITATION, 'when_rejected', { token, name, response: answer });
  return hasPrf ? id : undefined;
}

/** Makes another passkey of the signed-in person. */
export async function addPasskey({ transport }: Session, name: string | undefined): Promise<void> {
  const path = ['person', 'self', 'passkey'];
  const { options } = await begin<{ options: PublicKeyCredentialCreationOptionsJSON }>(transport, path);
  const { answer } = await makePasskey(options);
  await sendJson(transport, 'POST', path, 'when_rejected', { name, response: answer });
}
