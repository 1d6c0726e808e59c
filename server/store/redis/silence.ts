/** The reason of a Redis that lets nobody in under the name and password that were given. */
export const REFUSED = 'it refuses the name or password';

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut; is it TLS on one side alone?',
  ENOENT: 'there is no such socket',
  EACCES: 'this user may not open the socket',
  ENOTFOUND: 'its name is not known',
  ETIMEDOUT: 'the connection timed out',
};

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/**
 * Why Redis does not answer, as far as an error of its client tells, without address, name or password. Undefined for
 * an error that says no more than that there is no answer.
 */
export const silenceOf = (error: unknown): string | undefined => {
  const lastNode = member(error, 'lastNodeError');
  if (lastNode !== undefined) {
    return silenceOf(lastNode);
  }
  const message = String(member(error, 'message') ?? '');
  if (/\b(NOAUTH|WRONGPASS|NOPERM)\b/.test(message)) {
    return REFUSED;
  }
  if (/^LOADING\b/.test(message)) {
    return 'it is still loading its data';
  }
  const code = member(error, 'code');
  return typeof code === 'string' && /^E?[A-Z_]{3,40}$/.test(code) ? (REASONS[code] ?? code) : undefined;
};
