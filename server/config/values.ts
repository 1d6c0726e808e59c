import { isIP } from 'node:net';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { DAY_MS } from '../core/clock.ts';
import { Secret } from '../core/secret.ts';
import { isCredentialId } from '../domain/account.ts';
import { type Duration, parseDuration } from '../domain/text/time.ts';
import { type Parse, rejectValue } from './reader.ts';

export function integerFrom(minimum: number, maximum: number): Parse<number> {
  return (text) => {
    const value = /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Number.NaN;
    return value >= minimum && value <= maximum
      ? value
      : rejectValue(`must be a whole number from ${minimum} to ${maximum}`);
  };
}

/** `true`, `1`, `false` or `0`. */
export const parseBoolean: Parse<boolean> = (text) => {
  if (text === 'true' || text === '1') {
    return true;
  }
  if (text === 'false' || text === '0') {
    return false;
  }
  return rejectValue('must be true or false');
};

export function choiceOf<const Choice extends string>(...choices: readonly Choice[]): Parse<Choice> {
  return (text) =>
    choices.find((choice) => choice === text) ?? rejectValue(`must be one of: ${choices.join(', ')}`);
}

export function listOf<T>(parse: Parse<T>): Parse<readonly T[]> {
  return (text) => Object.freeze(text.split(',').map((part) => parse(part.trim())));
}

/** True for a host name (RFC 1123) that cannot be confused with an IPv4 address. */
function isHostName(text: string): boolean {
  return (
    text.length <= 253 &&
    !/^[\d.]+$/.test(text) &&
    /^(?!-)[A-Za-z0-9-]{1,63}(?:\.(?!-)[A-Za-z0-9-]{1,63})*$/.test(text)
  );
}

/** An address or a host name to listen on; IPv6 without brackets. */
export const parseHost: Parse<string> = (text) =>
  isIP(text) !== 0 || isHostName(text)
    ? text
    : rejectValue('must be an IP address (IPv6 without brackets) or a host name');

/** True if only this machine can reach the address. A host name other than `localhost` counts as reachable. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');
}

/** True for an IP address in its usual form; `10.1` and octal numbers are not. */
function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || (text.includes(':') && ipaddr.IPv6.isValid(text));
}

/** A CIDR or a single address; the result is `address/bits` in normal form. */
export const parseCidr: Parse<string> = (text) => {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (!isAddress(address)) {
    return rejectValue('must be a comma-separated list of CIDRs such as 10.0.0.0/8');
  }
  const parsed = ipaddr.parse(address);
  const bitsMax = parsed.kind() === 'ipv4' ? 32 : 128;
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()) {
    return rejectValue('must contain IPv4 CIDRs in IPv4 form, without ::ffff:');
  }
  if (Number(bits ?? bitsMax) > bitsMax) {
    return rejectValue(`must not contain a prefix that is longer than the address`);
  }
  return `${parsed.toString()}/${Number(bits ?? bitsMax)}`;
};

/** An http or https URL without credentials, query and fragment. */
const parseHttpUrl: Parse<URL> = (text) => {
  const url = URL.parse(text);
  if (url === null || /\s/.test(text) || !/^https?:$/.test(url.protocol)) {
    return rejectValue('must be an http:// or https:// URL');
  }
  if (url.username !== '' || url.password !== '') {
    rejectValue('must not contain a user name or password');
  }
  if (/[?#]/.test(text)) {
    rejectValue('must not contain a query or fragment');
  }
  return url;
};

/** The URL of an OpenTelemetry collector, without its trailing slash; `/v1/traces` is added later. */
export const parseOtlpEndpoint: Parse<string> = (text) => parseHttpUrl(text).href.replace(/\/+$/, '');

const HEADER = /^\s*([\w-]+)=([^,]*)$/;

/** Headers in the format of OpenTelemetry: `name=value`, comma-separated, values percent-encoded. */
export const parseOtlpHeaders: Parse<Readonly<Record<string, string>>> = (text) => {
  const bad = (): never => rejectValue('must be name=value pairs, comma-separated, values percent-encoded');
  const pairs = text.split(',').map((pair): [string, string] => {
    const [, name, value = ''] = HEADER.exec(pair) ?? [];
    try {
      const decoded = decodeURIComponent(value.trim());
      return name !== undefined && /^[\x20-\x7e]+$/.test(decoded) ? [name, decoded] : bad();
    } catch {
      return bad();
    }
  });
  return Object.freeze(Object.fromEntries(pairs));
};

/** An origin (RFC 6454): scheme, host and port only. */
export const parseOrigin: Parse<string> = (text) => {
  const url = parseHttpUrl(text);
  return url.pathname === '/'
    ? url.origin
    : rejectValue('must be an origin: scheme, host and port, without a path');
};

/** A path, made absolute relative to the working folder. */
export const parseFilePath: Parse<string> = (text) =>
  text.includes('\0') || text !== text.trim()
    ? rejectValue('must be a path without leading or trailing spaces')
    : resolve(text);

/** A duration in ms, or `forever`; see `parseDuration`. */
export const parseDurationSetting: Parse<Duration> = (text) =>
  parseDuration(text) ?? rejectValue('must be a duration such as 24h, 45m or P400D, at most ten years');

/** The retention of verification codes and track data; `ms` is also the limit of `after_proxy_success`. */
type SadRetention =
  | { readonly kind: 'keep' }
  | { readonly kind: 'ttl'; readonly ms: number }
  | { readonly kind: 'after_proxy_success'; readonly ms: number };

/** The limit for codes that no payment has used: PCI DSS knows no use for older ones. */
const UNUSED_SAD_MS = DAY_MS;

/** The retention of verification codes. Zero is invalid: as a duration it means unlimited, but many would read it as none. */
export const parseSadRetention: Parse<SadRetention> = (text) => {
  if (text === 'keep') {
    return { kind: text };
  }
  if (text === 'after_proxy_success') {
    return { kind: text, ms: UNUSED_SAD_MS };
  }
  const duration = parseDuration(text);
  return typeof duration === 'number'
    ? { kind: 'ttl', ms: duration }
    : rejectValue('must be keep, after_proxy_success or a duration such as 24h');
};

/** The cost of Argon2id (RFC 9106). */
interface Argon2Setting {
  readonly memoryKiB: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** `m=…,t=…,p=…` in this order, m in KiB, within the bounds that are accepted in stored records. */
export const parseArgon2: Parse<Argon2Setting> = (text) => {
  const [, m, t, p] = /^m=([1-9]\d{0,8}),t=([1-9]\d{0,3}),p=([1-9]\d{0,3})$/.exec(text) ?? [];
  if (p === undefined) {
    return rejectValue('must look like m=65536,t=3,p=4');
  }
  const setting = { memoryKiB: Number(m), passes: Number(t), parallelism: Number(p) };
  if (setting.memoryKiB < 19_456 || setting.passes < 2) {
    rejectValue('must be at least m=19456,t=2,p=1');
  }
  if (setting.memoryKiB > 1_048_576 || setting.passes > 10 || setting.parallelism > 16) {
    rejectValue('must be at most m=1048576,t=10,p=16');
  }
  return setting;
};

/** The name of an account, for HTTP Basic authentication: no colon (RFC 7617) and no control character. */
export const parseAccountName: Parse<string> = (text) => {
  if (isCredentialId(text)) {
    rejectValue('must not have the form of the id of a credential');
  }
  return /^[A-Za-z0-9._@-]{1,128}$/.test(text)
    ? text
    : rejectValue('must be 1 to 128 characters from A-Z a-z 0-9 . _ @ -');
};

/** A password of at most 1024 characters without control characters. */
export const parsePassword: Parse<Secret<string>> = (text) =>
  text.isWellFormed() && !/\p{Cc}/u.test(text) && text.length <= 1024
    ? new Secret(text)
    : rejectValue('must be at most 1024 characters without control characters');

export const parseCommandLine: Parse<Secret<string>> = (text) =>
  text.trim() === '' ? rejectValue('must be a command for /bin/sh') : new Secret(text);
