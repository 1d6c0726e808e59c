import { isIP } from 'node:net';
import { VaultError } from '../core/errors.ts';
import { type AddressPolicy, normalAddress } from './addresses.ts';

/** The target of a request, in the parts that the connection and the request line need. */
export interface Destination {
  /** Lower case, punycode, an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The value of the `Host` header; it includes the port if that is not 443. */
  readonly authority: string;
  /** Path and query, without the fragment. */
  readonly path: string;
  /** The host is an address, which is permitted and needs no name lookup. */
  readonly isAddress: boolean;
}

/** The forbidden part of a destination: the form of its URL, its host, or an address. */
export type DestinationFault = 'url' | 'host' | 'address';

const EXPECTED: Readonly<Record<DestinationFault, string>> = {
  url: 'must be an https URL without a user name',
  host: 'must have a host that the account may send data to',
  address: 'must have a public address, or one that the operator allows in `VAULT_PROXY_ALLOW`',
};

/** Creates the error for a caller; `field` is the place of the destination. */
export function destinationError(fault: DestinationFault, field: string): VaultError {
  return new VaultError('destination_refused', { field, expected: EXPECTED[fault] });
}

/** Requirements for a destination, besides being an https URL. */
export interface DestinationRules {
  readonly policy: AddressPolicy;
  /** Exact names or addresses, or `*.example.com` for its subdomains; absent or empty: any host. */
  readonly hosts?: readonly string[] | undefined;
}

const URL_LENGTH_MAX = 8192;
/** Scheme and authority as written: URL() would repair a missing slash, remove tabs and accept backslashes. */
const WRITTEN = /^https:\/\/([^/?#\\]+)(?:[/?#][^\\]*)?$/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is searched for
const CONTROL = /[\u0000-\u0020\u007f-\u009f]/;
const HOST_NAME = /^(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*$/;

function parseUrl(text: string): URL | undefined {
  const authority = WRITTEN.exec(text)?.[1];
  if (authority === undefined || authority.includes('@') || text.length > URL_LENGTH_MAX) {
    return undefined;
  }
  return CONTROL.test(text) || !text.isWellFormed() ? undefined : (URL.parse(text) ?? undefined);
}

/** The host of a URL, an IPv6 address without brackets; '' without a URL. */
function hostOf(url: URL | undefined): string {
  const host = url?.hostname ?? '';
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

/** Tells whether the host of a URL is one of these, see `DestinationRules`. */
export function isListedUrl(text: string, hosts: readonly string[]): boolean {
  return isListed(hostOf(parseUrl(text)), hosts);
}

function isListed(host: string, hosts: readonly string[]): boolean {
  return (
    hosts.length === 0 ||
    hosts.some((entry) => {
      const wanted = entry.toLowerCase();
      if (wanted.startsWith('*.')) {
        return isIP(host) === 0 && host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1;
      }
      return host === wanted || (isIP(wanted) !== 0 && normalAddress(wanted) === normalAddress(host));
    })
  );
}

/** Names of this machine; some resolvers do not know them (RFC 6761, section 6.3). */
const LOCAL_NAME = /(?:^|\.)localhost$/;

function hostFault(host: string, { policy, hosts = [] }: DestinationRules): DestinationFault | undefined {
  if (!isListed(host, hosts)) {
    return 'host';
  }
  if (isIP(host) !== 0) {
    return policy.permits(host) ? undefined : 'address';
  }
  if (LOCAL_NAME.test(host) && !policy.permits('127.0.0.1') && !policy.permits('::1')) {
    return 'address';
  }
  return HOST_NAME.test(host) ? undefined : 'url';
}

/**
 * Parses and checks a URL before any name lookup: only https, no user name or password (not even an empty one), no spaces or
 * control characters, any port except 0. Unusual forms of an address (`0x7f.1`, `2130706433`, full-width digits) are checked
 * as the address that they mean.
 */
export function checkDestination(text: string, rules: DestinationRules): Destination | DestinationFault {
  const url = parseUrl(text);
  if (url === undefined || url.port === '0') {
    return 'url';
  }
  const host = hostOf(url);
  return (
    hostFault(host, rules) ??
    Object.freeze({
      host,
      port: url.port === '' ? 443 : Number(url.port),
      authority: url.host,
      path: `${url.pathname}${url.search}`,
      isAddress: isIP(host) !== 0,
    })
  );
}
