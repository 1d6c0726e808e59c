import { VaultError } from '../core/errors.ts';
import { HEADER_NAME, type HeaderEntries } from '../core/headers.ts';

const NAME_LENGTH_MAX = 256;
/** Bytes (obs-text of RFC 9110, section 5.5, which includes UTF-8) except ASCII control characters and tab. */
const VALUE = /^[\u0020-\u007e\u0080-\u00ff]*$/;
/** Headers of the connection and of framing (RFC 9110, section 7.6.1), which only this code sets. */
const RESERVED =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|http2-settings|proxy-.*)$/i;

const COUNT_MAX = 128;
const BYTES_MAX = 32_768;

/**
 * Checks headers, so that none can inject another header or change the framing. Rejects malformed names, values with control
 * characters or characters beyond Latin-1, reserved names, and lists of more than 128 headers or 32 KB.
 *
 * @throws {VaultError} `invalid_request`, with `field` at the list or at its member (`FIELD[2]`).
 */
export function checkHeaders(headers: HeaderEntries, { field }: { readonly field: string }): void {
  let bytes = 0;
  for (const header of headers) {
    const [name, value] = header;
    const isName = HEADER_NAME.test(name) && name.length <= NAME_LENGTH_MAX;
    if (!isName || !VALUE.test(value) || RESERVED.test(name)) {
      const expected =
        'must be a header with a name that may be set, and a value of Latin-1 without control characters';
      throw new VaultError('invalid_request', { field: `${field}[${headers.indexOf(header)}]`, expected });
    }
    bytes += name.length + value.length + 4;
  }
  if (headers.length > COUNT_MAX || bytes > BYTES_MAX) {
    throw new VaultError('invalid_request', {
      field,
      expected: `must be at most ${COUNT_MAX} headers with ${BYTES_MAX} bytes`,
    });
  }
}
