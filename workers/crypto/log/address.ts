/** The bytes of IP addresses, and back: only a text in its usual form has bytes. */
import { EMPTY, IntegrityError } from '../primitives/bytes.ts';

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
const IPV4 = /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;
const IPV6 = /^[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,8}$/;

/** The bytes of an IPv6 address with zeros for what `::` leaves out; of other texts of its letters, any bytes. */
function bytesOfGroups(text: string): Uint8Array {
  const [head = [], tail = []] = text.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: IPV6_BYTES / 2 - head.length - tail.length }, () => '0');
  const groups = [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/**
 * The 4 or 16 bytes of an address in its usual form (dotted, or RFC 5952 in lower case); undefined for any
 * other text, so that what comes back from `textOfIp` is always exactly what went in.
 */
export function bytesOfIp(text: string): Uint8Array | undefined {
  let bytes: Uint8Array = EMPTY;
  if (IPV4.test(text)) {
    bytes = Uint8Array.from(text.split('.'), Number);
  } else if (IPV6.test(text)) {
    bytes = bytesOfGroups(text);
  }
  const isAddress = bytes.length === IPV4_BYTES || bytes.length === IPV6_BYTES;
  return isAddress && textOfIp(bytes) === text ? bytes : undefined;
}

/** The usual text of 4 or 16 address bytes, IPv6 as in RFC 5952; `IntegrityError` for any other length. */
export function textOfIp(bytes: Uint8Array): string {
  if (bytes.length === IPV4_BYTES) {
    return bytes.join('.');
  }
  if (bytes.length !== IPV6_BYTES) {
    throw new IntegrityError('log entry');
  }
  const groups = bytes.toHex().match(/.{4}/g) ?? [];
  // The URL standard writes the address of a host as the RFC does.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
