import ipaddr from 'ipaddr.js';

/**
 * The source of requests that rate limits apply to: an IPv4 address, or the first 64 bits of an IPv6 address, because
 * the owner of one address usually has the whole /64. Any other text is a source of its own.
 */
export function sourceOf(ip: string): string {
  if (!ip.includes(':') || !ipaddr.IPv6.isValid(ip)) {
    return ip;
  }
  const address = ipaddr.IPv6.parse(ip);
  if (address.isIPv4MappedAddress()) {
    return address.toIPv4Address().toString();
  }
  const prefix = address.parts.slice(0, 4).map((part) => part.toString(16));
  return `${prefix.join(':')}::/64`;
}
