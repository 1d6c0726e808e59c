import { VaultError } from '../core/errors.ts';

/** Headers as they stand in a message: a name may come several times, the order counts. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** A token (RFC 9110, section 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
/** Bytes (obs-text of RFC 9110, section 5.5, which UTF-8 travels as) but control characters of ASCII, the tab included. */
const VALUE = /^[\u0020-\u007e\u0080-\u00ff]*$/;
/** They steer the connection or frame the message, which is our part alone (RFC 9110, section 7.6.1). */
const OURS =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|http2-settings|proxy-.*)$/i;

const COUNT_MAX = 128;
const BYTES_MAX = 32_768;

/**
 * Refuses headers that could end a header early, change the framing or leave for somebody else: bad names,
 * values with control characters or characters beyond Latin-1, the names that are ours to set, and lists
 * of more than 128 headers or 32 KB. Returns the list as it is.
 *
 * @throws {VaultError} `invalid_request`, with `field` at the list or at its member (`FIELD[2]`).
 */
export const checkHeaders = (headers: HeaderList, { field }: { readonly field: string }): HeaderList => {
  let bytes = 0;
  for (const [index, [name, value]] of headers.entries()) {
    if (!NAME.test(name) || !VALUE.test(value) || OURS.test(name)) {
      throw new VaultError('invalid_request', { field: `${field}[${index}]` });
    }
    bytes += name.length + value.length + 4;
  }
  if (headers.length > COUNT_MAX || bytes > BYTES_MAX) {
    throw new VaultError('invalid_request', { field });
  }
  return headers;
};
