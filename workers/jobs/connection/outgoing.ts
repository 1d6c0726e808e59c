/** What a connection adds to the requests that go through it: its headers and its signature. */
import { createHmac } from 'node:crypto';
import type { HeaderEntries } from '../../../server/core/headers.ts';
import type { Connection } from '../../../server/domain/connection/connection.ts';
import { payloadPartsOf } from '../../../server/domain/connection/signing.ts';
import { replaceHeaders } from '../../../server/domain/relay/headers.ts';

/** A request as it is signed. */
interface Signed {
  readonly method: string;
  readonly url: string;
  readonly body: Uint8Array;
}

/** The headers by which a connection signs a request. */
function signatureOf({ sign }: Connection, { method, url, body }: Signed, now: number): HeaderEntries {
  if (sign === undefined) {
    return [];
  }
  const path = url.slice(url.indexOf('/', 'https://'.length));
  const timestamp = String(Math.floor(now / 1_000));
  const parts = { method, path, body, timestamp };
  const digest = createHmac(sign.algorithm.replace('hmac-', '').replace('-', ''), sign.key);
  for (const part of payloadPartsOf(sign.payload)) {
    digest.update('tag' in part ? parts[part.tag] : part.text);
  }
  return [
    ['X-Vault-Timestamp', timestamp],
    [sign.header, digest.digest('hex')],
  ];
}

/** The headers of a request through a connection: its own replace those of the same name, and the signature comes last. */
export function connectedHeaders(
  connection: Connection,
  sent: Signed & { readonly headers: HeaderEntries },
  now: number,
): HeaderEntries {
  const signature = signatureOf(connection, sent, now);
  return replaceHeaders(replaceHeaders(sent.headers, connection.headers), signature);
}
