/** Decodes what the owner of a form sends in base64: texts and an image. */

const TEXT_BYTES_MAX = 65_536;
const LOGO_BYTES_MAX = 262_144;
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * The bytes of a text in standard base64 (RFC 4648), which may contain line breaks. Undefined if it is invalid or too
 * long.
 */
function decodeBase64(text: string, bytesMax: number): Uint8Array | undefined {
  try {
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' });
    return bytes.length <= bytesMax ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Decodes base64 to a text of at most 64 KB; undefined if it is invalid. */
export function decodeFormText(text: string): string | undefined {
  const bytes = decodeBase64(text, TEXT_BYTES_MAX);
  try {
    return bytes && decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first bytes of image formats, one character per byte; `.` matches any byte. */
const BEGINNINGS: readonly (readonly [type: string, beginning: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'RIFF....WEBP'],
];
/** The start of an SVG document: comments and declarations may precede the root element. */
const SVG =
  /^(?:\xef\xbb\xbf)?\s*(?:(?:<\?[^?]*\?>|<!--(?:[^-]|-(?!->))*-->|<!DOCTYPE svg\b[^>[]*>)\s*)*<svg[\s>/]/i;
/** The image type is searched within these bytes. */
const HEAD_BYTES = 4_096;

function beginsWith(head: string, beginning: string): boolean {
  return [...beginning].every((character, i) => character === '.' || character === head[i]);
}

/** The media type of an image, from its first bytes. */
function imageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1');
  const known = BEGINNINGS.find(([, beginning]) => beginsWith(head, beginning));
  return known?.[0] ?? (SVG.test(head) ? 'image/svg+xml' : undefined);
}

/**
 * The data: URL of an image of at most 256 KB in base64. Its first bytes determine the type. Undefined if it is no
 * known image.
 */
export function logoUrl(text: string): string | undefined {
  const bytes = decodeBase64(text, LOGO_BYTES_MAX);
  const type = bytes && imageType(bytes);
  return type && `data:${type};base64,${bytes.toBase64()}`;
}
