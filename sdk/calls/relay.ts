/** Requests that pass through the vault to a third party, with placeholders that become stored values on the way. */

import type { ConnectionOptions } from '../transport/call.ts';
import { VaultError } from '../transport/errors.ts';
import { checkNames } from '../transport/needed.ts';
import { baseOf, encoded, urlOf } from '../transport/path.ts';

/** The key of a relay's items; the passphrase is by default that of the client. */
export interface RelayOptions {
  /** The vault key; without it, each request needs the header `X-Vault-Key`. */
  readonly key?: string;
  /** Alias of `key`; if both are given, they must be equal. */
  readonly user?: string;
  /** The passphrase of that key. */
  readonly passphrase?: string;
  /** The id of an inbound of the connection: cards of replies are stored by its rules, and come as tokens. */
  readonly inbound?: string;
}

/** The target of a request, as `fetch` takes it. Of a whole URL only path and query are used. */
export type RelayTarget = string | URL | Request;

/**
 * A connection as a payment service's own SDK uses it.
 * @see /guide/relay
 */
export interface Relay {
  /** The URL that stands for the base URL of the third party, without a trailing slash. */
  readonly baseUrl: string;
  /** The headers that a request to `baseUrl` needs, for HTTP clients that send them themselves. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Sends a request as `fetch` does, once. Placeholders (`vaultPlaceholder`) in body, query and header values become stored
   * values; the reply is the third party's, with its own status. Rejects as `fetch` does; errors of the vault are replies with
   * a `code`, and without the header `X-Vault-Request-Id`.
   * @see /guide/relay
   * @example
   * const { fetch } = client.relay('psp', { key: 'customers' });
   * const number = vaultPlaceholder(token, 'card_number', 'order-1001');
   * const reply = await fetch('/v1/charges', { method: 'POST', body: JSON.stringify({ number, amount: 1999 }) });
   */
  readonly fetch: (target: RelayTarget, init?: RequestInit) => Promise<Response>;
}

/** Settings of the client that its relays share. */
interface RelayDeps {
  readonly baseUrl: string;
  readonly authorization: string;
  readonly passphrase: string | undefined;
  readonly fetch: ConnectionOptions['fetch'];
}

/**
 * A placeholder of a stored value: of a field, or of a path into an item; `reference` if it was stored with one. Throws a
 * `VaultError` for a part that is empty.
 * @see /guide/relay
 * @example
 * const body = JSON.stringify({ number: vaultPlaceholder(token, 'card_number') });
 */
export function vaultPlaceholder(token: string, field: string, reference?: string): string {
  const parts = [token, field, ...(reference === undefined ? [] : [reference])];
  if (parts.some((part) => typeof part !== 'string' || part === '')) {
    throw new VaultError('token, field and reference must be texts that are not empty.');
  }
  return `{{vault:${parts.map((part) => encoded(part, 'A placeholder')).join(':')}}}`;
}

function restOf(target: RelayTarget): string {
  const text = target instanceof Request ? target.url : String(target);
  const { pathname, search } = new URL(text, 'https://third-party.invalid');
  return pathname + search;
}

/** A relay through one connection. Throws a VaultError for an empty id. */
export function createRelay(deps: RelayDeps, connection: string, options: RelayOptions = {}): Relay {
  checkNames(options, ['key', 'user', 'passphrase', 'inbound']);
  const { key, user, passphrase = deps.passphrase, inbound } = options;
  const baseUrl = urlOf(baseOf(deps.baseUrl), ['relay', connection]);
  const headers: Record<string, string> = { Authorization: deps.authorization };
  if (key !== undefined) {
    headers['X-Vault-Key'] = key;
  }
  if (user !== undefined) {
    headers['X-Vault-User'] = user;
  }
  if (passphrase !== undefined) {
    headers['X-Vault-Passphrase'] = encoded(passphrase, 'The passphrase');
  }
  if (inbound !== undefined) {
    headers['X-Vault-Inbound'] = inbound;
  }
  return createSender(baseUrl, headers, deps.fetch);
}

/** Sends requests below a URL with these headers, once each. */
export function createSender(
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  send: ConnectionOptions['fetch'] = fetch,
): Relay {
  return {
    baseUrl,
    headers,
    fetch: async (target, init) => {
      const given = target instanceof Request ? new Request(target, init) : undefined;
      const all = new Headers(given?.headers ?? init?.headers);
      for (const [name, value] of Object.entries(headers)) {
        all.set(name, value);
      }
      const own = given && {
        method: given.method,
        body: given.body && (await given.arrayBuffer()),
        signal: given.signal,
      };
      return send(baseUrl + restOf(target), { ...init, ...own, headers: all, redirect: 'manual' });
    },
  };
}
