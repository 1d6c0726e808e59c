/** The description of a Redis that rejects the user name or password. */
const CREDENTIALS = 'it rejects the user name or password';
const NO_CLUSTER = 'it is not part of a Cluster, so VAULT_REDIS_URL must name one host';
const UNTRUSTED = 'no known authority has signed its certificate; name the right one in VAULT_REDIS_CA_FILE';
const OTHER_HOST = 'its certificate is for another host name than the one in VAULT_REDIS_URL';
const DATED = 'its certificate has expired, or is not valid yet';
const WANTS_CERTIFICATE = 'it wants a client certificate: set VAULT_REDIS_CERT_FILE and VAULT_REDIS_KEY_FILE';
const NO_DATABASE = 'it does not have the database of VAULT_REDIS_URL';
const CLIENT_CERTIFICATE = 'it rejects the client certificate of VAULT_REDIS_CERT_FILE';

/** Reasons that waiting does not change. */
const LASTING: ReadonlySet<string | undefined> = new Set([
  ...[CREDENTIALS, NO_CLUSTER, UNTRUSTED, OTHER_HOST, DATED, WANTS_CERTIFICATE, CLIENT_CERTIFICATE],
  NO_DATABASE,
]);

/** Descriptions by the code of the system's or the TLS library's error. */
const CODES: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'the connection was refused; nothing listens on this address'],
  [/^ENOENT$/, 'the socket does not exist'],
  [/^EACCES$/, 'this user has no permission to open the socket'],
  [/^ENOTFOUND$/, 'the host name cannot be resolved'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, OTHER_HOST],
  [/SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|^CERT_SIGNATURE/, UNTRUSTED],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, DATED],
  [/ALERT_CERTIFICATE_REQUIRED$/, WANTS_CERTIFICATE],
  [/ALERT_(?:UNKNOWN_CA|\w*CERTIFICATE\w*|DECRYPT_ERROR)$/, CLIENT_CERTIFICATE],
  [/^ERR_SSL_WRONG_VERSION_NUMBER$/, 'it does not speak TLS on this port; with redis:// none is used'],
];

/** Descriptions by the message of Redis or of the library. */
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/invalid reply: null|No such master/, 'the Sentinels know no primary of the name in VAULT_REDIS_URL'],
  [/sentinel .*unknown command/i, 'a host of VAULT_REDIS_URL is not a Sentinel'],
  [
    /sentinel .*\b(?:NOAUTH|WRONGPASS)\b/,
    'a Sentinel rejects the user name or password; its own are sentinel_user and sentinel_password in VAULT_REDIS_URL',
  ],
  [/sentinel .*because /, 'no Sentinel can be reached; check addresses, TLS and certificates'],
  [/\b(?:NOAUTH|WRONGPASS)\b|invalid username-password/, CREDENTIALS],
  [/cluster support disabled/, NO_CLUSTER],
  [/refresh slots cache/, 'none of its nodes can be reached; check addresses, TLS and certificates'],
  [/^LOADING\b/, 'it is still loading its data'],
  [/^(?:CLUSTERDOWN|MASTERDOWN)\b/, 'it has no primary that serves'],
  [/max number of clients/, 'it has as many connections as it allows (maxclients)'],
  [/\bDENIED\b.*protected mode/, 'it accepts only local connections (protected-mode)'],
  [/Command timed out|Socket timeout/, 'it accepts connections and does not answer'],
  [/SELECT is not allowed|DB index is out of range/, NO_DATABASE],
];

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** A connection that is cut or not answered may mean that only one side uses TLS. */
function describeCut(code: unknown, usesTls: boolean): string | undefined {
  if (code === 'ETIMEDOUT') {
    return usesTls
      ? 'no TLS handshake in time; if this port speaks no TLS, use redis:// instead of rediss://'
      : 'the connection timed out';
  }
  if (code !== 'ECONNRESET' && code !== 'EPIPE') {
    return undefined;
  }
  return usesTls
    ? 'the connection was cut during the TLS handshake; if this port speaks no TLS, use redis://'
    : 'the connection was cut; if this port speaks TLS, use rediss:// instead of redis://';
}

/** The reason why Redis cannot be reached, without addresses and credentials; undefined for a missing reply. */
export function describeConnectionError(error: unknown, usesTls: boolean): string | undefined {
  const cause = member(error, 'lastNodeError') ?? member(error, 'cause');
  const ofCause = cause === undefined ? undefined : describeConnectionError(cause, usesTls);
  if (ofCause !== undefined) {
    return ofCause;
  }
  const message = String(member(error, 'message') ?? '');
  const [, forbidden] = /\bNOPERM\b.* run the '([a-z|]+)' command/.exec(message) ?? [];
  if (forbidden !== undefined) {
    return `its user may not run the command ${forbidden}`;
  }
  const code = member(error, 'code');
  const isCode = typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,63}$/.test(code);
  return (
    describeCut(code, usesTls) ??
    MESSAGES.find(([pattern]) => pattern.test(message))?.[1] ??
    (isCode ? (CODES.find(([pattern]) => pattern.test(code))?.[1] ?? code) : undefined)
  );
}

/** True if a reason is a mistake in the settings: a retry does not help. */
export function isLasting(reason: string | undefined): boolean {
  return LASTING.has(reason) || reason?.includes('may not run') === true;
}
