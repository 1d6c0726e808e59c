import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

type Range = [base: Address, bits: number];

/** Parses an address; an IPv4 address in IPv6 form becomes one of IPv4. `10.1` and octal numbers are invalid. */
function parseAddress(text: string): Address | undefined {
  const isAddress =
    ipaddr.IPv4.isValidFourPartDecimal(text) ||
    (/^[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text) && ipaddr.IPv6.isValid(text));
  return isAddress ? ipaddr.process(text) : undefined;
}

function parseRange(text: string): Range | undefined {
  const [, base = '', bits] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const address = parseAddress(base);
  if (address === undefined || (bits !== undefined && address.kind() === 'ipv4' && base.includes(':'))) {
    return undefined;
  }
  const bitsMax = address.kind() === 'ipv4' ? 32 : 128;
  const wanted = Number(bits ?? bitsMax);
  return wanted > bitsMax ? undefined : [address, wanted];
}

/** Normalises a CIDR or an address to `address/bits`; undefined for any other text. */
export function normalRange(text: string): string | undefined {
  const range = parseRange(text);
  return range && `${range[0].toString()}/${range[1]}`;
}

function contains([base, bits]: Range, address: Address): boolean {
  return base.kind() === address.kind() && address.match(base, bits);
}

/** Tells whether an address is in one of these CIDRs. */
export function isInRanges(ip: string, ranges: readonly string[]): boolean {
  const address = parseAddress(ip);
  return address !== undefined && ranges.map(parseRange).some((range) => range && contains(range, address));
}

/** Tells whether all addresses of a CIDR are in one of these. */
export function isWithinRanges(inner: string, ranges: readonly string[]): boolean {
  const range = parseRange(inner);
  return (
    range !== undefined &&
    ranges.map(parseRange).some((outer) => outer && outer[1] <= range[1] && contains(outer, range[0]))
  );
}

/** Accepts host names, wildcards (`*.example.com`) and IP addresses, in small letters. */
export function isHostPattern(text: string): boolean {
  return (
    parseAddress(text) !== undefined ||
    /^(?:\*\.)?(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*$/.test(text)
  );
}

/** Tells whether all hosts of a pattern match one of these. */
export function isWithinHosts(inner: string, patterns: readonly string[]): boolean {
  return patterns.some(
    (outer) =>
      inner === outer ||
      (outer.startsWith('*.') &&
        parseAddress(inner) === undefined &&
        inner.replace(/^\*/, '').endsWith(outer.slice(1)) &&
        inner.length > outer.length - 1),
  );
}

/** The first bits of an IPv6 address as a CIDR; any other text is unchanged. */
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

/** The source that rate limits apply to: an IPv4 address, or the /64 of an IPv6 address, which usually has one owner. */
export function sourceOf(ip: string): string {
  return prefixOf(ip, 64);
}

/** The network of a source: the /48 of an IPv6 address, which often has one owner; otherwise the source. */
export function networkOf(ip: string): string {
  return prefixOf(ip, 48);
}
