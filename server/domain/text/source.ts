import ipaddr from 'ipaddr.js';

/**
 * One source: an IPv4 address, or the first 64 bits of an IPv6 address, since the owner of one address of
 * those has them all. Whatever is no address is a source of its own.
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
