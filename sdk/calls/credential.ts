/** API credentials: a part of the rights of the account, for one purpose each. */

import type { CallOptions } from '../transport/call.ts';
import { needText } from '../transport/needed.ts';
import { get, remove, sendJson } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  CreateCredential,
  Credential,
  CredentialWithSecret,
  DeleteCredential,
  Message,
  ReadCredential,
  RollCredential,
} from '../transport/types.ts';

/**
 * API credentials: a part of the rights of the account, for one purpose each.
 * @see /guide/least-privilege
 */
export interface CredentialCalls {
  /**
   * Makes a credential and shows its secret once: give it to `new Vault({ baseUrl, credential: secret })`. It sees numbers
   * masked unless `unmasked` is set. Throws `not_allowed` for more than the maker has itself. The call is retried only if the
   * service has rejected the request without any effect.
   * @see /guide/least-privilege
   * @throws `credentials_full`
   * @example
   * const { id, secret } = await client.credentials.create({
   *   name: 'charge worker',
   *   scopes: ['proxy:send', 'job:read'],
   *   hosts: ['api.payments.example'],
   *   expires_in: 'P90D',
   * });
   */
  readonly create: (credential: CreateCredential, options?: CallOptions) => Promise<CredentialWithSecret>;
  /**
   * All credentials of the account, the oldest first, without their secrets.
   * @see /guide/least-privilege
   * @example
   * const unused = (await client.credentials.list()).filter(({ last_used_at }) => last_used_at === undefined);
   */
  readonly list: (options?: CallOptions) => Promise<Credential[]>;
  /**
   * One credential, with the time of its last use.
   * @see /guide/least-privilege
   * @throws `credential_not_found`
   * @example
   * const { scopes, expires_at } = await client.credentials.get({ id: 'cred_Zm9vYmFyYmF6cXV4cXV1eA' });
   */
  readonly get: (credential: ReadCredential, options?: CallOptions) => Promise<Credential>;
  /**
   * Ends a credential, on every server at once. Also throws `credential_not_found` if an earlier attempt, whose reply was
   * lost, has succeeded.
   * @see /guide/least-privilege
   * @throws `credential_not_found`
   * @example
   * await client.credentials.delete({ id: 'cred_Zm9vYmFyYmF6cXV4cXV1eA' });
   */
  readonly delete: (credential: DeleteCredential, options?: CallOptions) => Promise<Message>;
  /**
   * Gives a credential a new secret. The one before it ends at once, or after `overlap` (at most seven days). The call is
   * retried only if the service has rejected the request without any effect.
   * @see /guide/least-privilege
   * @throws `credential_not_found`
   * @example
   * const { secret } = await client.credentials.roll({ id: 'cred_Zm9vYmFyYmF6cXV4cXV1eA', overlap: '24h' });
   */
  readonly roll: (credential: RollCredential, options?: CallOptions) => Promise<CredentialWithSecret>;
}

/** The path of one credential. */
function pathOf(id: string): readonly string[] {
  return ['credential', needText({ id }).id];
}

/** The calls of credentials. */
export function createCredentialCalls(transport: Transport): CredentialCalls {
  return {
    create: (credential, options) =>
      sendJson(transport, 'POST', ['credential'], 'when_rejected', credential, options),
    list: (options) => get(transport, ['credential'], {}, options),
    get: async ({ id }, options) => get(transport, pathOf(id), {}, options),
    delete: async ({ id }, options) => remove(transport, pathOf(id), {}, options),
    roll: async ({ id, ...roll }, options) =>
      sendJson(transport, 'POST', [...pathOf(id), 'roll'], 'when_rejected', roll, options),
  };
}
