import type { HeaderEntries } from '../../core/headers.ts';
import { encodeJson } from '../json/bytes.ts';
import { definedMembers, JsonNumber, type JsonValue } from '../json/json.ts';

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

/** Decodes a reply by the charset of its Content-Type, or as UTF-8. Invalid bytes become U+FFFD; a byte order mark is kept. */
export function replyText(body: Uint8Array, contentType: string | undefined): string {
  return decoderFor(contentType, false).decode(body);
}

/** The same; undefined for invalid bytes. */
export function exactReplyText(body: Uint8Array, contentType: string | undefined): string | undefined {
  try {
    return decoderFor(contentType, true).decode(body);
  } catch {
    return undefined;
  }
}

/** Tells whether a charset has two bytes a character. */
export function isWide(contentType: string | undefined): boolean {
  return decoderFor(contentType, false).encoding.startsWith('utf-16');
}

interface ReplyNotes {
  /** The caller only sees the members that the connection names. */
  readonly withheld: boolean;
  /** The request that was sent, if it is shown. */
  readonly request?: JsonValue | undefined;
}

/** The reply to a synchronous request, with that of the third party. */
export function replyObject(
  statusCode: number,
  headers: HeaderEntries,
  body: string,
  { withheld, request }: ReplyNotes,
): Uint8Array {
  return encodeJson(
    definedMembers([
      ['status_code', new JsonNumber(String(statusCode))],
      ['headers', headers.map((line) => new Map([line]))],
      ['body', body],
      ['withheld', withheld || undefined],
      ['populated_template', request],
    ]),
  );
}
