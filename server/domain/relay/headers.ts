/** The headers of a relayed message without those of a connection, of the vault or of an origin. */
import { type HeaderEntries, joinedValues } from '../../core/headers.ts';
import { remembered } from '../text/remembered.ts';

/** Headers of one connection and of framing (RFC 9110, section 7.6.1). */
const OF_CONNECTION =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|content-length|proxy-.*)$/i;
/** Headers for the vault, and of proxies in front of it. */
const OF_VAULT = /^(?:host|expect|authorization|x-vault-.*|forwarded|x-forwarded-.*|x-real-ip)$/i;
/** Headers that override method or path on some servers. */
const OF_ROUTING = /^(?:x-http-method|x-(?:http-)?method-override|x-original-(?:url|uri)|x-rewrite-url)$/i;
/** Headers about the origin of a reply, or for a browser there: the vault has another origin. */
const OF_ORIGIN =
  /^(?:refresh|link|www-authenticate|strict-transport-security|clear-site-data|alt-svc|service-worker-allowed|nel|report-to|reporting-endpoints|access-control-.*|origin-agent-cluster|cross-origin-.*)$/i;

/** Only the vault sets these headers of a reply. */
const BY_VAULT = /^x-vault-.*$/i;
/** The vault's own cookies, with any prefix that browsers know. */
const VAULT_COOKIE = /^(?:__(?:host|secure)-)?vault_(?:session|signin)$/i;

/** The members of a list header, in lower case. A pattern for the blanks would take quadratic time. */
function membersOf(value: string): readonly string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((member) => member.trim());
}

/**
 * The names in `Connection`, except those of headers that describe the body: a third party could remove them to prevent
 * a search.
 */
function namedByConnection(headers: HeaderEntries): readonly string[] {
  const named = membersOf(joinedValues(headers, 'connection') ?? '');
  return named.filter((name) => !name.startsWith('content-'));
}

function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), 'i');
}

const NOT_SENT = anyOf(OF_CONNECTION, OF_VAULT, OF_ROUTING);
const NOT_RETURNED = anyOf(OF_CONNECTION, OF_ORIGIN, BY_VAULT);

/** A capitalised name, for servers that compare case: `Content-Type`. */
function capitalised(name: string): string {
  return name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

/** A name as compared by servers that read `_` as `-`. */
const comparedName = remembered((name) => name.toLowerCase().replaceAll('_', '-'));

/** The sent name; empty if it is not sent. */
const sentName = remembered((name) => (NOT_SENT.test(comparedName(name)) ? '' : capitalised(name)));
const isReturned = remembered((name) => !NOT_RETURNED.test(name));

/** The name before the first equals sign; empty without one. */
function cookieName(pair: string): string {
  return pair.slice(0, Math.max(0, pair.indexOf('='))).trim();
}

/** Removes the vault's cookies from a `Cookie` header; a comma may join two headers. */
function withoutVaultCookies(value: string): string {
  const isOwn = (pair: string): boolean => VAULT_COOKIE.test(cookieName(pair));
  const members = value.split(';');
  const others = members.filter((member) => !member.split(',').some(isOwn));
  return others.length === members.length ? value : others.join(';').trim();
}

/** Tells whether a cookie of a third party is returned; one without a name could be sent as any other. */
function isCookieReturned(value: string): boolean {
  const [pair = ''] = value.split(';', 1);
  const name = cookieName(pair);
  return name !== '' && !VAULT_COOKIE.test(name);
}

/** The headers for the third party, before those of its connection. */
export function headersToSend(headers: HeaderEntries): HeaderEntries {
  const named = namedByConnection(headers);
  const sent: HeaderEntries[number][] = [];
  for (const [name, value] of headers) {
    const written = sentName(name);
    const kept = written === 'Cookie' ? withoutVaultCookies(value) : value;
    const isEmptied = kept === '' && value !== '';
    if (written !== '' && !isEmptied && !named.includes(name.toLowerCase())) {
      sent.push([written, kept]);
    }
  }
  return sent;
}

/** Adds headers in place of those that a server could confuse with them. */
export function replaceHeaders(headers: HeaderEntries, by: HeaderEntries): HeaderEntries {
  if (by.length === 0) {
    return headers;
  }
  const names = new Set(by.map(([name]) => comparedName(name)));
  return [...headers.filter(([name]) => !names.has(comparedName(name))), ...by];
}

export function headersToReturn(headers: HeaderEntries): HeaderEntries {
  const named = namedByConnection(headers);
  return headers.filter(([given, value]) => {
    const name = given.toLowerCase();
    return isReturned(given) && !named.includes(name) && (name !== 'set-cookie' || isCookieReturned(value));
  });
}

/** Accepted content codings that can be searched for numbers. */
export const readableCodings = remembered((accepted) => {
  const readable = membersOf(accepted).filter(
    (name) => /^(?:gzip|deflate|br)\s*(?:;|$)/.test(name) && !/;\s*q=0(?:\.0*)?$/.test(name),
  );
  return readable.length === 0 ? 'identity' : readable.join(', ');
});
