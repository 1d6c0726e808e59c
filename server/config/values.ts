import { isIP } from 'node:net';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { Secret } from '../core/secret.ts';
import { type Duration, parseDuration } from '../domain/text/duration.ts';
import { type Parse, refuse } from './reader.ts';

/** Parsers of the settings' values. Each refuses what it does not know with a constant sentence. */

export const integerFrom =
  (minimum: number, maximum: number): Parse<number> =>
  (text) => {
    const value = /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Number.NaN;
    return value >= minimum && value <= maximum
      ? value
      : refuse(`must be a whole number from ${minimum} to ${maximum}`);
  };

export const parseBoolean: Parse<boolean> = (text) => {
  if (text === 'true' || text === '1') {
    return true;
  }
  if (text === 'false' || text === '0') {
    return false;
  }
  return refuse('must be true or false');
};

export const oneOf =
  <const Choice extends string>(...choices: readonly Choice[]): Parse<Choice> =>
  (text) =>
    choices.find((choice) => choice === text) ?? refuse(`must be one of: ${choices.join(', ')}`);

export const listOf =
  <T>(parse: Parse<T>): Parse<readonly T[]> =>
  (text) =>
    Object.freeze(text.split(',').map((part) => parse(part.trim())));

const isHostName = (text: string): boolean =>
  text.length <= 253 &&
  !/^[\d.]+$/.test(text) &&
  /^(?!-)[A-Za-z0-9-]{1,63}(?:\.(?!-)[A-Za-z0-9-]{1,63})*$/.test(text);

/** An address or a host name to listen on; IPv6 without brackets. */
export const parseHost: Parse<string> = (text) =>
  isIP(text) !== 0 || isHostName(text)
    ? text
    : refuse('must be an IP address (IPv6 without brackets) or a host name');

/** Whether nobody but this machine can reach the address. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');

const isAddress = (text: string): boolean =>
  ipaddr.IPv4.isValidFourPartDecimal(text) || (text.includes(':') && ipaddr.IPv6.isValid(text));

/** A CIDR, or one address as a CIDR of its own; gives `address/bits` in its normal form. */
export const parseCidr: Parse<string> = (text) => {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (!isAddress(address)) {
    return refuse('must be a comma-separated list of CIDRs such as 10.0.0.0/8');
  }
  const parsed = ipaddr.parse(address);
  const bitsMax = parsed.kind() === 'ipv4' ? 32 : 128;
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()) {
    return refuse('must hold IPv4 CIDRs in IPv4 form, without ::ffff:');
  }
  if (Number(bits ?? bitsMax) > bitsMax) {
    return refuse(`must not hold a prefix longer than its address`);
  }
  return `${parsed.toString()}/${Number(bits ?? bitsMax)}`;
};

const parseHttpUrl: Parse<URL> = (text) => {
  const url =
    URL.canParse(text) && !/\s/.test(text) ? new URL(text) : refuse('must be an http:// or https:// URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    refuse('must be an http:// or https:// URL');
  }
  if (url.username !== '' || url.password !== '') {
    refuse('must not hold a user name or password');
  }
  if (/[?#]/.test(text)) {
    refuse('must not hold a query or fragment');
  }
  return url;
};

/** A base URL without its last slash. Refuses one that ends with `/v1`, which is added by those who use it. */
export const parseBaseUrl: Parse<string> = (text) => {
  const base = parseHttpUrl(text).href.replace(/\/+$/, '');
  return base.endsWith('/v1') ? refuse('must be given without /v1') : base;
};

/** Where OpenTelemetry data goes, without a last slash: `/v1/traces` is added. */
export const parseOtlpEndpoint: Parse<string> = (text) => parseHttpUrl(text).href.replace(/\/+$/, '');

const HEADER = /^\s*([\w-]+)=([^,]*)$/;

/** Headers as OpenTelemetry has them in one text: `name=value`, comma-separated, values percent-encoded. */
export const parseOtlpHeaders: Parse<Readonly<Record<string, string>>> = (text) => {
  const bad = (): never => refuse('must be name=value pairs, comma-separated, values percent-encoded');
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

/** Scheme, host and port alone. */
export const parseOrigin: Parse<string> = (text) => {
  const url = parseHttpUrl(text);
  return url.pathname === '/'
    ? url.origin
    : refuse('must be an origin: scheme, host and port, without a path');
};

export const parsePath: Parse<string> = (text) =>
  text.includes('\0') || text !== text.trim()
    ? refuse('must be a path without spaces around it')
    : resolve(text);

export const parseDurationSetting: Parse<Duration> = (text) =>
  parseDuration(text) ?? refuse('must be a duration such as 24h, 45m or P400D, at most ten years');

/** How long verification codes and track data are kept. */
export type SadRetention =
  | { readonly kind: 'keep' }
  | { readonly kind: 'ttl'; readonly ms: number }
  | { readonly kind: 'after_proxy_success' };

/** A zero is refused here: read as a ttl it would mean "for ever", to many readers "not at all". */
export const parseSadRetention: Parse<SadRetention> = (text) => {
  if (text === 'keep' || text === 'after_proxy_success') {
    return { kind: text };
  }
  const duration = parseDuration(text);
  return typeof duration === 'number'
    ? { kind: 'ttl', ms: duration }
    : refuse('must be keep, after_proxy_success or a duration such as 24h');
};

/** Cost of the passphrase derivation (RFC 9106). */
export interface Argon2Setting {
  readonly memoryKiB: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** `m=…,t=…,p=…` in this order, m in KiB, within the bounds that readers of records accept. */
export const parseArgon2: Parse<Argon2Setting> = (text) => {
  const [, m, t, p] = /^m=([1-9]\d{0,8}),t=([1-9]\d{0,3}),p=([1-9]\d{0,3})$/.exec(text) ?? [];
  if (p === undefined) {
    return refuse('must look like m=65536,t=3,p=4');
  }
  const setting = { memoryKiB: Number(m), passes: Number(t), parallelism: Number(p) };
  if (setting.memoryKiB < 19_456 || setting.passes < 2) {
    refuse('must not be under m=19456,t=2,p=1');
  }
  if (setting.memoryKiB > 1_048_576 || setting.passes > 10 || setting.parallelism > 16) {
    refuse('must not be over m=1048576,t=10,p=16');
  }
  return setting;
};

/** An account's name: it goes into Basic Auth, so it holds no colon (RFC 7617) and no control character. */
export const parseAccountName: Parse<string> = (text) =>
  /^[A-Za-z0-9._@-]{1,128}$/.test(text) ? text : refuse('must be 1 to 128 of A-Z a-z 0-9 . _ @ -');

export const parsePassword: Parse<Secret<string>> = (text) =>
  text.isWellFormed() && !/\p{Cc}/u.test(text) && text.length <= 1024
    ? new Secret(text)
    : refuse('must be at most 1024 characters without control characters');
