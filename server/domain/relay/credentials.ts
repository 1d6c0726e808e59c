/** Credentials of a connection in the reply of a third party that repeats them. */
import { type HeaderEntries, isEncoded } from '../../core/headers.ts';
import { HIDDEN } from '../mask/echo-secrets.ts';

/** Names of headers whose values are credentials; others, as of a version or a format, may stand in any reply. */
const OF_CREDENTIALS = /auth|key|token|secret|pass|cookie|credential|session/i;
/** Shorter texts may be anything else in a reply. */
const LENGTH_MIN = 8;

/** A value, and what it has behind the name of a scheme; of Basic also the password, or the name that has none. */
function partsOf(value: string): readonly string[] {
  const [, scheme = '', rest = ''] = /^([\w-]+)\s+(.*)$/s.exec(value) ?? [];
  if (scheme.toLowerCase() !== 'basic') {
    return [value, rest];
  }
  const pair = Buffer.from(rest, 'base64').toString('latin1');
  const at = pair.indexOf(':');
  return [value, rest, pair, at + 1 < pair.length ? pair.slice(at + 1) : pair.slice(0, at)];
}

/** The texts of a connection's own headers that no reply may show, in the notations of JSON and URLs, longest first. */
export function credentialsOf(headers: HeaderEntries): readonly string[] {
  const found = headers
    .filter(([name]) => OF_CREDENTIALS.test(name))
    .flatMap(([, value]) => partsOf(value))
    .filter((text) => text.length >= LENGTH_MIN)
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]);
  return [...new Set(found)].sort((a, b) => b.length - a.length);
}

/** A text without these credentials. */
export function hideCredentials(text: string, credentials: readonly string[]): string {
  return credentials.reduce((left, credential) => left.replaceAll(credential, HIDDEN), text);
}

/** The length of the longest end of a text with which a credential may begin. */
function openEnd(text: string, credentials: readonly string[]): number {
  for (let length = Math.min(text.length, (credentials[0]?.length ?? 1) - 1); length > 0; length--) {
    const end = text.slice(-length);
    if (credentials.some((credential) => credential.length > length && credential.startsWith(end))) {
      return length;
    }
  }
  return 0;
}

/** The same for bytes that come in pieces. What may be the beginning of a credential waits for the next one. */
export function createCredentialFilter(credentials: readonly string[]): Transformer<Uint8Array, Uint8Array> {
  let waiting = '';
  return {
    transform(piece, controller) {
      const text = hideCredentials(waiting + Buffer.from(piece).toString('latin1'), credentials);
      const end = text.length - openEnd(text, credentials);
      waiting = text.slice(end);
      if (end > 0) {
        controller.enqueue(Buffer.from(text.slice(0, end), 'latin1'));
      }
    },
    flush(controller) {
      if (waiting !== '') {
        controller.enqueue(Buffer.from(waiting, 'latin1'));
      }
    },
  };
}

/** What a reply has beside its status. */
interface ReplyParts {
  readonly headers: HeaderEntries;
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
}

/** A reply without these credentials, also where it is passed on as it comes. A body that cannot be searched is hidden. */
export function withoutCredentials(reply: ReplyParts, credentials: readonly string[]): ReplyParts {
  const { headers, body } = reply;
  if (credentials.length === 0) {
    return reply;
  }
  const shown = headers.map(([name, value]) => [name, hideCredentials(value, credentials)] as const);
  if (body instanceof ReadableStream) {
    const filter = new TransformStream(createCredentialFilter(credentials));
    return { headers: shown, body: body.pipeThrough(filter) };
  }
  const text = Buffer.from(body).toString('latin1');
  const hidden = text !== '' && isEncoded(headers) ? HIDDEN : hideCredentials(text, credentials);
  return { headers: shown, body: Buffer.from(hidden, 'latin1') };
}
