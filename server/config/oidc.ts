import { ROLES, type Role } from '../core/roles.ts';
import { Secret } from '../core/secret.ts';
import type { OidcRole } from '../core/settings.ts';
import { readPrivateFile } from './files.ts';
import { BadValue, type Parse, rejectValue } from './reader.ts';
import { parseAccountName } from './values.ts';

const WELL_KNOWN = '/.well-known/';

/** The issuer as the provider writes it in its tokens, where a trailing slash counts: an https URL. */
export const parseIssuer: Parse<string> = (text) => {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:' || /[\s?#]/.test(text)) {
    return rejectValue('must be an https:// URL without a query or fragment');
  }
  if (url.username !== '' || url.password !== '') {
    rejectValue('must not contain a user name or password');
  }
  if (text.includes(WELL_KNOWN)) {
    rejectValue(`must be the issuer alone, without ${WELL_KNOWN}openid-configuration`);
  }
  return text;
};

/** A client id as RFC 6749 allows it: printable ASCII. */
export const parseClientId: Parse<string> = (text) =>
  /^[\x20-\x7e]{1,512}$/.test(text) && text === text.trim()
    ? text
    : rejectValue('must be 1 to 512 printable ASCII characters, without spaces around it');

/** The client secret in a private file, without the end of its line. */
export const parseClientSecretFile: Parse<Secret<string>> = (path) => {
  const secret = readPrivateFile(path).trimEnd();
  return /^[\x20-\x7e]+$/.test(secret)
    ? new Secret(secret)
    : rejectValue('names a file that is not one line of printable ASCII characters');
};

const PAIR = 'claim=value:account:role';

function decoded(part: string, place: string): string {
  try {
    return part === '' || /%(?![0-9a-f]{2})/i.test(part) ? malformed(place) : decodeURIComponent(part);
  } catch {
    return malformed(place);
  }
}

function malformed(place: string): never {
  return rejectValue(
    `must be ${PAIR} pairs, comma-separated, with , : = and % in a part percent-encoded: ${place} is not`,
  );
}

/** The account of a pair, without the value in its error. */
function accountIn(text: string, place: string): string {
  try {
    return parseAccountName(text);
  } catch (error) {
    throw error instanceof BadValue
      ? new BadValue(`has an account in ${place} whose name ${error.message}`)
      : error;
  }
}

/** The role of a pair. A word is told, so that it is found; anything else may have slipped in from elsewhere. */
function roleIn(text: string, place: string): Role {
  const told = /^[A-Za-z_-]{1,20}$/.test(text) ? ` ${text}` : '';
  return (
    ROLES.find((role) => role === text) ??
    rejectValue(`has the unknown role${told} in ${place}; it must be one of: ${ROLES.join(', ')}`)
  );
}

function pairOf(text: string, place: string): OidcRole {
  const [, claim = '', value = '', account = '', role = ''] =
    /^([^=:]+)=([^=:]+):([^=:]+):([^=:]+)$/.exec(text) ?? malformed(place);
  return Object.freeze({
    claim: decoded(claim, place),
    value: decoded(value, place),
    account: accountIn(decoded(account, place), place),
    role: roleIn(decoded(role, place), place),
  });
}

const PAIRS_MAX = 1_000;

/** Comma-separated `claim=value:account:role`, where `,` `:` `=` `%` inside a part are percent-encoded. */
export const parseOidcRoles: Parse<readonly OidcRole[]> = (text) => {
  const pairs = text.split(',');
  if (pairs.length > PAIRS_MAX) {
    rejectValue(`must be at most ${PAIRS_MAX} pairs`);
  }
  return Object.freeze(pairs.map((pair, at) => pairOf(pair.trim(), `pair ${at + 1}`)));
};
