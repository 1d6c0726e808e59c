/** IP addresses as bytes: what an address log entry would otherwise spend up to 45 characters on. */
import { IntegrityError } from './bytes.ts';

const V4_BYTES = 4;
const V6_BYTES = 16;

function parseV4(text: string): Uint8Array | undefined {
  const parts = text.split('.');
  if (parts.length !== V4_BYTES) {
    return undefined;
  }
  const bytes = new Uint8Array(V4_BYTES);
  for (const [i, part] of parts.entries()) {
    const value = Number(part);
    if (!/^\d{1,3}$/.test(part) || value > 255) {
      return undefined;
    }
    bytes[i] = value;
  }
  return bytes;
}

function parseGroups(text: string): number[] | undefined {
  if (text === '') {
    return [];
  }
  const groups = text.split(':');
  return groups.every((group) => /^[0-9a-f]{1,4}$/.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : undefined;
}

function parseV6(text: string): Uint8Array | undefined {
  const [left = '', right, ...more] = text.split('::');
  const head = parseGroups(left);
  const tail = parseGroups(right ?? '');
  if (more.length > 0 || !head || !tail || head.length + tail.length > 8) {
    return undefined;
  }
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0);
  const bytes = new Uint8Array(V6_BYTES);
  for (const [i, group] of [...head, ...zeros, ...tail].entries()) {
    bytes[2 * i] = group >> 8;
    bytes[2 * i + 1] = group & 0xff;
  }
  return bytes;
}

/** RFC 5952: the longest run of two or more zero groups, the first of equals, becomes `::`. */
function formatV6(bytes: Uint8Array): string {
  const groups: string[] = [];
  for (let i = 0; i < V6_BYTES; i += 2) {
    groups.push((((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)).toString(16));
  }
  const text = groups.join(':');
  const runs = text.match(/\b0(?::0)+\b/g) ?? [];
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '');
  if (longest === '') {
    return text;
  }
  const at = text.search(new RegExp(`(?<![^:])${longest}(?![^:])`));
  const before = text.slice(0, at).replace(/:$/, '');
  const after = text.slice(at + longest.length).replace(/^:/, '');
  return `${before}::${after}`;
}

/**
 * The 4 or 16 bytes of an address in its usual form (dotted, or RFC 5952 in lower case); undefined for any
 * other text, so that what comes back from `textOfIp` is always exactly what went in.
 */
export function bytesOfIp(text: string): Uint8Array | undefined {
  const bytes = text.includes(':') ? parseV6(text) : parseV4(text);
  return bytes && textOfIp(bytes) === text ? bytes : undefined;
}

/** The usual text of 4 or 16 address bytes; `IntegrityError` for any other length. */
export function textOfIp(bytes: Uint8Array): string {
  if (bytes.length === V4_BYTES) {
    return bytes.join('.');
  }
  if (bytes.length === V6_BYTES) {
    return formatV6(bytes);
  }
  throw new IntegrityError('log entry');
}
