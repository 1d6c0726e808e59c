/** API credentials as tests make them. */
import type { Scope } from '../../server/core/scopes.ts';
import { type AccountClient, createAccountClient, type Handle } from './clients.ts';
import { commandJson } from './command.ts';
import type { TestVault } from './vault.ts';

/** A credential as its creation shows it. */
export interface MadeCredential {
  readonly id: string;
  readonly secret: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly keys?: readonly string[];
  readonly unmasked: boolean;
  readonly ips?: readonly string[];
  readonly hosts?: readonly string[];
  readonly created_at: string;
  readonly expires_at?: string;
  readonly last_used_at?: string;
}

/** Settings of a credential to create. */
export interface WantedCredential {
  readonly keys?: readonly string[];
  readonly unmasked?: boolean;
  readonly ips?: readonly string[];
  readonly hosts?: readonly string[];
  readonly expires_in?: string;
}

/** Makes a credential with the rights of a caller; throws unless the answer is 200. */
export async function makeCredential(
  maker: AccountClient,
  scopes: readonly Scope[],
  wanted: WantedCredential = {},
): Promise<MadeCredential> {
  const answer = await maker.send('POST', '/credential', { body: { name: 'a test', scopes, ...wanted } });
  if (answer.status !== 200) {
    throw new Error(`The vault answered ${answer.status} ${answer.text}`);
  }
  return answer.as<MadeCredential>();
}

/** Sends requests with a credential: its id as name, its secret as password. */
export function clientOf(
  handle: Handle,
  { aid }: AccountClient,
  { id, secret }: MadeCredential,
): AccountClient {
  return createAccountClient(handle, { name: id, password: secret, aid });
}

/** Makes a credential and its client. */
export async function credentialClient(
  handle: Handle,
  maker: AccountClient,
  scopes: readonly Scope[],
  wanted: WantedCredential = {},
): Promise<AccountClient & { readonly made: MadeCredential }> {
  const made = await makeCredential(maker, scopes, wanted);
  return { ...clientOf(handle, maker, made), made };
}

/** Makes an operator credential by its command, and its client. */
export async function operatorClient(
  vault: TestVault,
  ...options: readonly string[]
): Promise<AccountClient & { readonly made: MadeCredential }> {
  const args = ['credential', 'create', 'a platform', '--operator', ...options] as const;
  const made = await commandJson<MadeCredential>(vault, ...args);
  const credentials = { name: made.id, password: made.secret, aid: '' };
  return { ...createAccountClient(vault.handle, credentials), made };
}
