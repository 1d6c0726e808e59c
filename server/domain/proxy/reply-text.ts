import type { HeaderEntries } from '../../core/headers.ts';
import { encodeJson } from '../json/bytes.ts';
import { definedMembers, JsonNumber, type JsonValue } from '../json/json.ts';
import { charsetLabel } from '../text/charset.ts';

type Label = ConstructorParameters<typeof TextDecoder>[0];

function decoderFor(contentType: string | undefined): TextDecoder {
  const options = { ignoreBOM: true };
  try {
    return new TextDecoder((charsetLabel(contentType) ?? 'utf-8') as Label, options);
  } catch {
    return new TextDecoder('utf-8', options);
  }
}

/** Decodes a reply by the charset of its Content-Type, or as UTF-8. Invalid bytes become U+FFFD; a byte order mark is kept. */
export function replyText(body: Uint8Array, contentType: string | undefined): string {
  return decoderFor(contentType).decode(body);
}

/** Tells whether a charset has two bytes a character. */
export function isWide(contentType: string | undefined): boolean {
  return decoderFor(contentType).encoding.startsWith('utf-16');
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
