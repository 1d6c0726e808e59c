/** The description of a Redis that rejects the user name or password. */
export const CREDENTIALS_REJECTED = 'it rejects the user name or password';

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; nothing listens on this address',
  ECONNRESET: 'the connection was reset; check that both sides use TLS, or neither',
  ENOENT: 'the socket does not exist',
  EACCES: 'this user has no permission to open the socket',
  ENOTFOUND: 'the host name cannot be resolved',
  ETIMEDOUT: 'the connection timed out',
};

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/**
 * Says why Redis cannot be reached, without address, user name or password. Undefined for an error that only says that
 * there was no reply.
 */
export function describeConnectionError(error: unknown): string | undefined {
  const lastNode = member(error, 'lastNodeError');
  if (lastNode !== undefined) {
    return describeConnectionError(lastNode);
  }
  const message = String(member(error, 'message') ?? '');
  if (/\b(NOAUTH|WRONGPASS|NOPERM)\b/.test(message)) {
    return CREDENTIALS_REJECTED;
  }
  if (/^LOADING\b/.test(message)) {
    return 'it is still loading its data';
  }
  const code = member(error, 'code');
  return typeof code === 'string' && /^E?[A-Z_]{3,40}$/.test(code) ? (DESCRIPTIONS[code] ?? code) : undefined;
}
