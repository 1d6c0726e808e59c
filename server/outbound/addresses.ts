import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Permitted addresses: public unicast, and those that the operator allows. */
export interface AddressPolicy {
  /** False for any other address, and for text that is not a plain IPv4 or IPv6 address. */
  readonly permits: (address: string) => boolean;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The IPv6 range that IANA assigns for global unicast (RFC 4291, section 2.4); all others are rejected. */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** A public address that is the host agent of virtual machines at one large cloud provider. */
const HOST_AGENT_V4 = '168.63.129.16';

/** ISATAP interface identifiers (RFC 5214, section 6.1) contain an IPv4 address after any prefix. */
function isIsatap({ parts }: ipaddr.IPv6): boolean {
  return ((parts[4] ?? 0) & 0xfdff) === 0 && parts[5] === 0x5efe;
}

/**
 * `range()` knows the special blocks of both families, including those that contain an IPv4 address (6to4, Teredo, NAT64). It
 * returns `unicast` for all others, for IPv6 also for IPv4-compatible addresses (`::127.0.0.1`) and unassigned blocks.
 */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') {
    return false;
  }
  return address instanceof ipaddr.IPv6
    ? address.match(GLOBAL_UNICAST_V6) && !isIsatap(address)
    : address.toString() !== HOST_AGENT_V4;
}

const PAIR = /(\d+)\.(\d+)/g;

/** Replaces a dotted ending by hexadecimal: ipaddr.js parses `::8.8.8.8` as an IPv4-mapped address, which it is not. */
function withoutDots(text: string): string {
  return text
    .replace(PAIR, (_pair, high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16))
    .replace('.', ':');
}

/** Maximum number of cached answers of a policy, and the longest text of an address. */
const JUDGED_MAX = 1_000;
const ADDRESS_LENGTH_MAX = 45;

function parseAddress(text: string): Address | undefined {
  const family = text.includes('%') ? 0 : isIP(text);
  if (family === 0) {
    return undefined;
  }
  return ipaddr.process(family === 6 ? withoutDots(text) : text);
}

/** The normal form of an address, IPv4 for an IPv4-mapped IPv6 address. Undefined for other text, and with a zone. */
export function normalAddress(text: string): string | undefined {
  // The runtime accepts four decimal numbers without leading zeros as IPv4, and nothing else.
  return isIP(text) === 4 ? text : parseAddress(text)?.toString();
}

/** Creates the policy. `allow` contains CIDRs; an IPv4 block includes its IPv4-mapped IPv6 addresses. */
export function createAddressPolicy({ allow }: { readonly allow: readonly string[] }): AddressPolicy {
  const allowed = allow.map((cidr) => ipaddr.parseCIDR(cidr));
  const judge = (text: string): boolean => {
    const address = parseAddress(text);
    if (address === undefined) {
      return false;
    }
    const isAllowed = ([base, bits]: [Address, number]): boolean =>
      base.kind() === address.kind() && address.match(base, bits);
    return isPublic(address) || allowed.some(isAllowed);
  };
  // Most requests are for the same few addresses.
  const judged = new Map<string, boolean>();
  const permits = (text: string): boolean => {
    const known = judged.get(text);
    if (known !== undefined) {
      return known;
    }
    if (judged.size >= JUDGED_MAX) {
      judged.clear();
    }
    const isPermitted = judge(text);
    if (text.length <= ADDRESS_LENGTH_MAX) {
      judged.set(text, isPermitted);
    }
    return isPermitted;
  };
  return Object.freeze({ permits });
}
