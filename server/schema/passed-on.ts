import { Type } from '@sinclair/typebox';
import { BODY_BYTES } from './body-bytes.ts';
import { NO_QUERY } from './common.ts';

/** The end of the path of a request that is passed on. */
export const PassedPath = Type.String({ description: 'What follows the base URL of the connection.' });

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
