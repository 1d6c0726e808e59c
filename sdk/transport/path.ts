/** The URLs of requests. Every URL of the SDK is built here, from checked parts. */
import { VaultError } from './errors.ts';

/** A parameter that is sent once for each of its texts. */
export interface Repeated {
  readonly each: readonly string[];
}

/** A query parameter: a list is sent as comma-separated text, an undefined one is omitted. */
export type QueryValue = string | number | boolean | readonly string[] | Repeated | undefined;

/**
 * The service's URL, given with or without `/v1`, as a prefix without a trailing slash. Throws a VaultError for other
 * schemes than http and https, and for credentials, a query or a fragment.
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

/** Removes trailing slashes; a pattern would take quadratic time for slashes in the middle. */
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
 * Appends path segments and query parameters to the base. Each segment is one step of the path: it is
 * percent-encoded; an empty one, `.` and `..`, which a URL would resolve, are rejected.
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
    if (typeof value === 'object' && value !== null && 'each' in value) {
      for (const text of value.each) {
        parameters.append(name, text);
      }
    } else if (value !== undefined) {
      parameters.set(name, textOf(name, value));
    }
  }
  const search = parameters.toString();
  return `${base}/${segments.map(segmentOf).join('/')}${search === '' ? '' : `?${search}`}`;
}

/** The service ignores unknown parameters: `maskFields` would mask nothing. */
const CAPITAL = /[A-Z]/;

function segmentOf(segment: string | undefined): string {
  if (typeof segment !== 'string' || segment === '' || segment === '.' || segment === '..') {
    throw new VaultError('An identifier is missing, empty, "." or "..".');
  }
  return encoded(segment, 'An identifier');
}

function textOf(name: string, value: Exclude<QueryValue, Repeated | undefined>): string {
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

/** Percent-encodes a text as UTF-8. Throws a VaultError for lone surrogates, which have no UTF-8 form. */
export function encoded(text: string, what: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw new VaultError(`${what} is not well-formed Unicode text.`);
  }
}
