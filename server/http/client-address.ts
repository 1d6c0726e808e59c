import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The address of a request's client, from its socket's address and its headers. */
export type ClientAddress = (socketAddress: string, headers: Headers) => string;

/** One entry of X-Forwarded-For: an address, `address:port` or `[address]:port`; undefined for anything else. */
function parseEntry(entry: string): Address | undefined {
  const text = /^\[(.+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
  return ipaddr.IPv6.isValid(text) || ipaddr.IPv4.isValidFourPartDecimal(text)
    ? ipaddr.process(text)
    : undefined;
}

/**
 * Makes the reader of client addresses. X-Forwarded-For is trusted only from the given CIDRs: from the right, the first
 * address outside them is the client. An entry that is no address ends the search at the proxy that sent it. IPv4 in IPv6
 * form is returned as IPv4.
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const ranges = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  const isTrusted = (address: Address): boolean =>
    ranges.some(([range, bits]) => address.kind() === range.kind() && address.match(range, bits));

  return (socketAddress, headers) => {
    const bare = socketAddress.startsWith('::ffff:') ? socketAddress.slice(7) : socketAddress;
    if (ranges.length === 0) {
      return bare;
    }
    let client = parseEntry(bare);
    if (client === undefined) {
      return bare;
    }
    const entries = (headers.get('x-forwarded-for') ?? '').split(',');
    while (isTrusted(client)) {
      const next = parseEntry(entries.pop()?.trim() ?? '');
      if (next === undefined) {
        break;
      }
      client = next;
    }
    return client.toString();
  };
}
