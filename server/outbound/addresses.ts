import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Which addresses may be dialled: public unicast, and what the operator allowed beyond it. */
export interface AddressPolicy {
  /** Whether a literal address may be dialled. Anything that is no plain IPv4 or IPv6 address may not. */
  readonly permits: (address: string) => boolean;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** All of IPv6 that is given out for global unicast (RFC 4291, section 2.4; IANA); the rest is refused unseen. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** Public by its number, but answered by the host agent of a virtual machine at one large provider. */
const HOST_AGENT_V4 = '168.63.129.16';

/** The interface identifiers of ISATAP (RFC 5214, section 6.1) carry an IPv4 address behind any prefix. */
const isIsatap = ({ parts }: ipaddr.IPv6): boolean => ((parts[4] ?? 0) & 0xfdff) === 0 && parts[5] === 0x5efe;

/**
 * `range()` names the special blocks of both families, among them documentation, benchmarking, 6to4, Teredo
 * and NAT64, which carry an IPv4 address inside. It calls everything else unicast, for IPv6 also the
 * IPv4-compatible `::127.0.0.1` and the blocks that nobody was given yet.
 */
const isPublic = (address: Address): boolean => {
  if (address.range() !== 'unicast') {
    return false;
  }
  return address instanceof ipaddr.IPv6
    ? address.match(GLOBAL_UNICAST_V6) && !isIsatap(address)
    : address.toString() !== HOST_AGENT_V4;
};

const PAIR = /(\d+)\.(\d+)/g;

/** Dotted endings in hexadecimal: ipaddr.js takes `::8.8.8.8` for an address mapped from IPv4, which it is not. */
const withoutDots = (text: string): string =>
  text
    .replace(PAIR, (_pair, high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16))
    .replace('.', ':');

const parseAddress = (text: string): Address | undefined => {
  const family = text.includes('%') ? 0 : isIP(text);
  if (family === 0) {
    return undefined;
  }
  return ipaddr.process(family === 6 ? withoutDots(text) : text);
};

/**
 * One spelling for each address, an IPv4 address mapped into IPv6 as the IPv4 address that is dialled for it;
 * undefined for anything else, an address with a zone included.
 */
export const normalAddress = (text: string): string | undefined => parseAddress(text)?.toString();

/**
 * The one answer to "may this address be dialled". `allow` holds CIDRs in the form of the settings
 * (`10.0.0.0/8`, `fd00::/8`); an IPv4 block covers the addresses mapped into IPv6 too.
 */
export const createAddressPolicy = ({ allow }: { readonly allow: readonly string[] }): AddressPolicy => {
  const allowed = allow.map((cidr) => ipaddr.parseCIDR(cidr));
  const permits = (text: string): boolean => {
    const address = parseAddress(text);
    if (address === undefined) {
      return false;
    }
    const isAllowed = ([base, bits]: [Address, number]): boolean =>
      base.kind() === address.kind() && address.match(base, bits);
    return isPublic(address) || allowed.some(isAllowed);
  };
  return Object.freeze({ permits });
};
