/** A vault under floods: its accounts, its keys, and who sends what. */
import { openConfigured } from '../../server/boot/open.ts';
import { loadConfig } from '../../server/config/config.ts';
import { Secret } from '../../server/core/secret.ts';
import { type Plan, requestText } from '../bench/plan.ts';
import { type Credentials, call, type Vault } from '../bench/servers.ts';

/** Long enough for the vault to keep a key unlocked, and too short for that. */
const WARM = 'a-passphrase-for-floods-only';
const COLD = 'short-passphrase';
const PASSWORD = 'a-password-for-floods-only';

function credentialsOf(account: string, passphrase: string): Credentials {
  return {
    Authorization: `Basic ${btoa(`${account}:${PASSWORD}`)}`,
    'X-Vault-Passphrase': passphrase,
  };
}

/** Credentials of the flooding account. With the `_COLD` ones, keys are not kept unlocked. */
export const FLOOD = credentialsOf('flood', WARM);
export const FLOOD_COLD = credentialsOf('flood', COLD);
export const SMALL = credentialsOf('small', WARM);
export const SMALL_COLD = credentialsOf('small', COLD);

/** The text of a request. */
export function requestOf(
  method: Plan['method'],
  target: string,
  headers: Plan['headers'],
  body?: string,
): string {
  return requestText({ method, target, headers, ...(body === undefined ? {} : { body }) });
}

const CARD =
  '{"card_number":"411111@SEQ@","card_holder":"Ada Lovelace","expiry_month":"12","expiry_year":"2030"}';

/** Stores a new card with each request. */
export function storing(credentials: Credentials, user: string): readonly string[] {
  return [requestOf('POST', `/v1/vault/?user=${user}&reference=r-@SEQ@`, credentials, CARD)];
}

/** Opens one card after the other. */
export function decrypting(credentials: Credentials, addresses: readonly string[]): readonly string[] {
  return addresses.map((address) => requestOf('GET', `/v1/vault/?${address}`, credentials));
}

/** Signs in with a wrong password, each request with another one; the sources take turns, and half of the names exist. */
export function signingIn(requests: number, sources: number): readonly string[] {
  return Array.from({ length: requests }, (_, n) => {
    const name = n % 2 === 0 ? 'small' : `nobody-${n}`;
    const at = n % sources;
    return requestOf('GET', '/v1/whoami', {
      Authorization: `Basic ${btoa(`${name}:wrong password number ${n}`)}`,
      'X-Forwarded-For': `198.18.${at >> 8}.${at & 255}`,
    });
  });
}

/** Makes accounts, as the operator's command line does. */
export async function makeAccounts(vault: Vault, names: readonly string[]): Promise<void> {
  const opened = await openConfigured(loadConfig(vault.settings, []));
  try {
    for (const name of names) {
      await opened.vault.services.accounts.create(name, new Secret(new TextEncoder().encode(PASSWORD)), {
        unmasked: true,
      });
    }
  } finally {
    await opened.close();
  }
}

/** Makes a key, and stores some cards under it; gives their addresses as they stand in a query. */
export async function makeKey(
  vault: Vault,
  credentials: Credentials,
  user: string,
  cards: number,
): Promise<readonly string[]> {
  const { 'X-Vault-Passphrase': passphrase } = credentials;
  await call(vault, credentials, '/v1/key/', { user, passphrase });
  const store = async (_: unknown, n: number): Promise<string> => {
    const card = { card_number: `4111110000${String(n).padStart(6, '0')}`, card_holder: 'Ada Lovelace' };
    const reply = await call(vault, credentials, `/v1/vault/?user=${user}&reference=s-${n}`, card);
    const { token } = (await reply.json()) as { readonly token: string };
    return `user=${user}&token=${token}&reference=s-${n}`;
  };
  return Promise.all(Array.from({ length: cards }, store));
}
