/** The headers of a relayed message: what belongs to a connection, to the vault or to an origin stays behind. */
import { type HeaderEntries, joinedValues } from '../../core/headers.ts';
import { remembered } from '../text/remembered.ts';

/** Headers of one connection and of framing (RFC 9110, section 7.6.1), which each side sets for itself. */
const OF_CONNECTION =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|content-length|proxy-.*)$/i;
/** Headers of the caller for the vault, and of proxies in front of it about the caller. */
const OF_VAULT = /^(?:host|expect|authorization|x-vault-.*|forwarded|x-forwarded-.*|x-real-ip)$/i;
/** Headers that make some servers use another method or path than the request has. */
const OF_ROUTING = /^(?:x-http-method|x-(?:http-)?method-override|x-original-(?:url|uri)|x-rewrite-url)$/i;
/**
 * Headers of a reply about its origin, or for a browser there: the vault's origin is not that of a third party.
 */
const OF_ORIGIN =
  /^(?:refresh|link|www-authenticate|strict-transport-security|clear-site-data|alt-svc|service-worker-allowed|nel|report-to|reporting-endpoints|access-control-.*|origin-agent-cluster|cross-origin-.*)$/i;

/** Headers of the vault in a reply: only the vault sets them. */
const BY_VAULT = /^x-vault-.*$/i;
/** The vault's own cookies, with any prefix that browsers know. */
const VAULT_COOKIE = /^(?:__(?:host|secure)-)?vault_(?:session|signin)$/i;

/** The members of a header that is a list, in lower case. A pattern for the blanks would take quadratic time. */
function membersOf(value: string): readonly string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((member) => member.trim());
}

/**
 * The names in `Connection`, which are as those of the connection itself; none that says what the body is, which a third party
 * could have dropped so that nobody knows how to search it.
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

/** A name with capitals, as servers know it that do not know that case has no meaning: `Content-Type`. */
function capitalised(name: string): string {
  return name.replace(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

/** A name as servers compare it that read `_` as `-`. */
const comparedName = remembered((name) => name.toLowerCase().replaceAll('_', '-'));

/** A name as it is sent on; empty for one that is not. */
const sentName = remembered((name) => (NOT_SENT.test(comparedName(name)) ? '' : capitalised(name)));
const isReturned = remembered((name) => !NOT_RETURNED.test(name));

/** The name in front of the first equals sign; empty where there is none. */
function cookieName(pair: string): string {
  return pair.slice(0, Math.max(0, pair.indexOf('='))).trim();
}

/** A `Cookie` header without the vault's own; a comma may be what joins two headers. */
function withoutVaultCookies(value: string): string {
  const isOwn = (pair: string): boolean => VAULT_COOKIE.test(cookieName(pair));
  const members = value.split(';');
  const others = members.filter((member) => !member.split(',').some(isOwn));
  return others.length === members.length ? value : others.join(';').trim();
}

/** Whether a cookie of a third party goes back: one without a name could be sent as any other. */
function isCookieReturned(value: string): boolean {
  const [pair = ''] = value.split(';', 1);
  const name = cookieName(pair);
  return name !== '' && !VAULT_COOKIE.test(name);
}

/** The headers that go on to the third party, before those of its connection. */
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

/** The headers of one list without those that a server could take for one of another list, and the headers of that. */
export function replaceHeaders(headers: HeaderEntries, by: HeaderEntries): HeaderEntries {
  if (by.length === 0) {
    return headers;
  }
  const names = new Set(by.map(([name]) => comparedName(name)));
  return [...headers.filter(([name]) => !names.has(comparedName(name))), ...by];
}

/** The headers of a reply that go back to the caller. */
export function headersToReturn(headers: HeaderEntries): HeaderEntries {
  const named = namedByConnection(headers);
  return headers.filter(([given, value]) => {
    const name = given.toLowerCase();
    return isReturned(given) && !named.includes(name) && (name !== 'set-cookie' || isCookieReturned(value));
  });
}

/** Content codings that can be searched for numbers, of those that a caller takes. */
export const readableCodings = remembered((accepted) => {
  const readable = membersOf(accepted).filter(
    (name) => /^(?:gzip|deflate|br)\s*(?:;|$)/.test(name) && !/;\s*q=0(?:\.0*)?$/.test(name),
  );
  return readable.length === 0 ? 'identity' : readable.join(', ');
});
