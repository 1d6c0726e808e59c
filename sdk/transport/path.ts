/** Where requests go: every URL of the SDK is built here, from checked parts. */
import { VaultError } from './errors.ts';

/** What a query parameter may be; a list travels as comma-separated text, an undefined one not at all. */
export type QueryValue = string | number | boolean | readonly string[] | undefined;

/**
 * Settles the service's URL, given with or without its `/v1`, as a prefix without a trailing slash.
 * Refuses anything but http and https, and credentials, a query or a fragment inside the URL.
 */
export function baseOf(baseUrl: string): string {
  const url = parse(baseUrl);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new VaultError('baseUrl must begin with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new VaultError('baseUrl must hold no credentials, query or fragment.');
  }
  const path = withoutLastSlashes(url.pathname);
  return `${url.origin}${path.endsWith('/v1') ? path : `${path}/v1`}`;
}

/** By hand: a pattern for slashes at the end takes a time that grows with the square of those in the middle. */
function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (path.charAt(end - 1) === '/') {
    end -= 1;
  }
  return path.slice(0, end);
}

function parse(baseUrl: string): URL {
  try {
    return new URL(baseUrl);
  } catch {
    throw new VaultError('baseUrl is not a URL, such as https://vault.example.');
  }
}

/**
 * Joins path segments and query parameters to the base. Each segment is one step of the path: it is
 * percent-encoded, and an empty one, `.` and `..`, which a URL would resolve away, are refused.
 */
export function urlOf(
  base: string,
  segments: readonly (string | undefined)[],
  query: Readonly<Record<string, QueryValue>> = {},
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (CAPITAL.test(name)) {
      throw new VaultError(`No parameter has the name ${name}: all are written as in mask_fields.`);
    }
    if (value !== undefined) {
      parameters.set(name, textOf(name, value));
    }
  }
  const search = parameters.toString();
  return `${base}/${segments.map(segmentOf).join('/')}${search === '' ? '' : `?${search}`}`;
}

/** The service ignores a parameter that it does not know: `maskFields` would mask nothing. */
const CAPITAL = /[A-Z]/;

function segmentOf(segment: string | undefined): string {
  if (typeof segment !== 'string' || segment === '' || segment === '.' || segment === '..') {
    throw new VaultError('An identifier is missing, empty, "." or "..".');
  }
  return encoded(segment, 'An identifier');
}

function textOf(name: string, value: Exclude<QueryValue, undefined>): string {
  if (typeof value !== 'object') {
    return String(value);
  }
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    throw new VaultError(`${name} is not of a kind that a query can hold.`);
  }
  if (value.some((entry) => entry.includes(','))) {
    throw new VaultError(`An entry of ${name} must not hold a comma.`);
  }
  return value.join(',');
}

/** Percent-encodes text as UTF-8; refuses text with lone surrogates, which has no UTF-8 form. */
export function encoded(text: string, what: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new VaultError(`${what} is not well-formed Unicode text.`);
  }
}
