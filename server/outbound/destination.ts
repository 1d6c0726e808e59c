import { isIP } from 'node:net';
import { VaultError } from '../core/errors.ts';
import { type AddressPolicy, normalAddress } from './addresses.ts';

/** Where a request goes, in the parts that the connection and the request line need. */
export interface Destination {
  /** Lower case, punycode, an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** What the `Host` header says: the port only where it is not 443. */
  readonly authority: string;
  /** Path and query; the fragment stays here. */
  readonly path: string;
  /** The host is itself an address, already vetted: no name is asked for. */
  readonly isAddress: boolean;
}

/** What a destination must fit besides being an https URL. */
export interface DestinationRules {
  readonly policy: AddressPolicy;
  /** Exact names or addresses, or `*.example.com` for every name under it but not itself; none or empty: any. */
  readonly hosts?: readonly string[] | undefined;
  /** The place that a refusal names. */
  readonly field?: string | undefined;
}

const URL_LENGTH_MAX = 8192;
/** Scheme and authority as written: URL() would mend a missing slash, drop tabs and take backslashes. */
const WRITTEN = /^https:\/\/([^/?#\\]+)(?:[/?#][^\\]*)?$/i;
const HOST_NAME = /^(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*$/;

const parseUrl = (text: string): URL | undefined => {
  const authority = WRITTEN.exec(text)?.[1];
  if (authority === undefined || authority.includes('@') || text.length > URL_LENGTH_MAX) {
    return undefined;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is searched for
  return /[\u0000-\u0020\u007f-\u009f]/.test(text) || !text.isWellFormed() || !URL.canParse(text)
    ? undefined
    : new URL(text);
};

const isListed = (host: string, hosts: readonly string[]): boolean =>
  hosts.length === 0 ||
  hosts.some((entry) => {
    const wanted = entry.toLowerCase();
    if (wanted.startsWith('*.')) {
      return isIP(host) === 0 && host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1;
    }
    return host === wanted || (isIP(wanted) !== 0 && normalAddress(wanted) === normalAddress(host));
  });

/** Names of this machine, which not every resolver knows (RFC 6761, section 6.3). */
const LOCAL_NAME = /(?:^|\.)localhost$/;

/**
 * Whether a host may be asked for at all: a well-formed name that does not stand for this machine, or an address
 * that the policy permits.
 */
const isPermitted = (host: string, policy: AddressPolicy): boolean => {
  if (isIP(host) !== 0) {
    return policy.permits(host);
  }
  const isAllowed = !LOCAL_NAME.test(host) || policy.permits('127.0.0.1') || policy.permits('::1');
  return isAllowed && HOST_NAME.test(host);
};

/**
 * Takes a URL apart, or refuses it before any name is looked up: only https, no user name or password
 * (not even an empty one), no blanks or control characters, and every odd spelling of an address (`0x7f.1`,
 * `2130706433`, full-width digits) is judged as the address that it stands for. Any port but 0 will do.
 *
 * @throws {VaultError} `destination_refused` with `rules.field`.
 */
export const checkDestination = (text: string, rules: DestinationRules): Destination => {
  const url = parseUrl(text);
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (
    url === undefined ||
    url.port === '0' ||
    !isListed(host, rules.hosts ?? []) ||
    !isPermitted(host, rules.policy)
  ) {
    throw new VaultError('destination_refused', rules.field === undefined ? {} : { field: rules.field });
  }
  return Object.freeze({
    host,
    port: url.port === '' ? 443 : Number(url.port),
    authority: url.host,
    path: `${url.pathname}${url.search}`,
    isAddress: isIP(host) !== 0,
  });
};
