import { Type } from '@sinclair/typebox';
import { BODY_BYTES } from './body-bytes.ts';
import { NO_QUERY } from './common.ts';

/** The end of the path of a request that is passed on. */
export const PassedPath = Type.String({ description: 'What follows the base URL of the connection.' });

/** The methods of requests that are passed on; HEAD is answered as GET is. */
export const PASSED_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** The base of a URL, its path from the slash after the name of what passes it on, and its query with the question mark. */
const PASSED = /^[^/]*\/\/[^/]*\/v1\/(?:relay|inbound)\/[^/?#]*([^?#]*)(\??[^#]*)/;

/** The part of a URL that is passed on. */
export function passedPart(url: string): { readonly path: string; readonly query: string } {
  const [, path = '', query = ''] = PASSED.exec(url) ?? [];
  return { path, query };
}

/** Routes that pass a request on through a connection, and its reply back. */
export const PASSED_ON = {
  query: NO_QUERY,
  passesQuery: true,
  body: {
    kind: 'stored',
    schema: Type.Any({ description: 'What the third party takes.' }),
    bytesMax: BODY_BYTES.long,
    optional: true,
    type: '*/*',
  },
  response: Type.Any({ description: 'What the third party has replied, with its own status.' }),
} as const;
