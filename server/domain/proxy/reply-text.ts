/** A third party's reply as text, and as the object for a waiting caller. */
import type { HeaderEntries } from '../../core/headers.ts';
import { encodeJson } from '../json/bytes.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';

type Label = ConstructorParameters<typeof TextDecoder>[0];

/** `charset` of a Content-Type, bare or in quotes. */
const CHARSET = /;\s*charset\s*=\s*(?:"([^"\\]{1,64})"|([^\s;"]{1,64}))/i;

function decoderFor(contentType: string | undefined, fatal: boolean): TextDecoder {
  const found = CHARSET.exec(contentType ?? '');
  const options = { fatal, ignoreBOM: true };
  try {
    return new TextDecoder((found?.[1] ?? found?.[2] ?? 'utf-8') as Label, options);
  } catch {
    return new TextDecoder('utf-8', options);
  }
}

/**
 * A third party's bytes as text, by the charset of their Content-Type, or as UTF-8 where that names none that is
 * known. Bytes that are not of that charset become U+FFFD; a byte order mark stays.
 */
export function replyText(body: Uint8Array, contentType: string | undefined): string {
  return decoderFor(contentType, false).decode(body);
}

/** Decodes a reply exactly: undefined when a byte of it is not of its charset. */
export function exactReplyText(body: Uint8Array, contentType: string | undefined): string | undefined {
  try {
    return decoderFor(contentType, true).decode(body);
  } catch {
    return undefined;
  }
}

/** Whether a Content-Type names a charset of two bytes a character. */
export function isWide(contentType: string | undefined): boolean {
  return decoderFor(contentType, false).encoding.startsWith('utf-16');
}

/** Further members of the reply to a synchronous request. */
interface ReplyNotes {
  /** Whether the caller sees only the members that the connection names. */
  readonly withheld: boolean;
  /** The request that was sent, where it is shown. */
  readonly request?: JsonValue | undefined;
}

/** The reply of a third party as the caller of a synchronous request gets it. */
export function replyObject(
  statusCode: number,
  headers: HeaderEntries,
  body: string,
  { withheld, request }: ReplyNotes,
): Uint8Array {
  const reply: JsonObject = new Map<string, JsonValue>([
    ['status_code', new JsonNumber(String(statusCode))],
    ['headers', headers.map((line) => new Map([line]))],
    ['body', body],
  ]);
  if (withheld) {
    reply.set('withheld', true);
  }
  if (request !== undefined) {
    reply.set('populated_template', request);
  }
  return encodeJson(reply);
}
