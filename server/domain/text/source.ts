import ipaddr from 'ipaddr.js';

/** The first bits of an IPv6 address, in multiples of 16, as a CIDR; another address, or any other text, as it is. */
function prefixOf(ip: string, bits: 48 | 64): string {
  if (!ip.includes(':') || !ipaddr.IPv6.isValid(ip)) {
    return ip;
  }
  const address = ipaddr.IPv6.parse(ip);
  if (address.isIPv4MappedAddress()) {
    return address.toIPv4Address().toString();
  }
  const prefix = address.parts.slice(0, bits / 16).map((part) => part.toString(16));
  return `${prefix.join(':')}::/${bits}`;
}

/**
 * The source of requests that rate limits apply to: an IPv4 address, or the first 64 bits of an IPv6 address, because
 * the owner of one address usually has the whole /64. Any other text is a source of its own.
 */
export function sourceOf(ip: string): string {
  return prefixOf(ip, 64);
}

/** The network of a source: the first 48 bits of an IPv6 address, which one owner often has; otherwise the source. */
export function networkOf(ip: string): string {
  return prefixOf(ip, 48);
}
