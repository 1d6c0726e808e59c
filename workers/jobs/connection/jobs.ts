import type { ShownConnection } from '../../../server/domain/connection/connection.ts';
import { bytes, json, list, message, optional, text } from '../codec.ts';
import { defineJob } from '../define.ts';

interface SealConnectionParams {
  readonly aid: string;
  /** The id of the connection that is replaced; otherwise the body has one. */
  readonly id?: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly refuseUnknown: boolean;
  /** The caller may see data unmasked. */
  readonly mayReveal: boolean;
}

export const CONNECTION_JOBS = {
  /**
   * Validates the body of a connection and encrypts it; `invalid_request` names the invalid field. `previous` is the record
   * that it replaces, whose time of creation it keeps. `origin` is the URL of its host, which the caller must check.
   */
  sealConnection: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({ params: json<SealConnectionParams>(), previous: optional(bytes), body: bytes }),
    output: message({ id: text, origin: text, shown: json<ShownConnection>(), record: bytes }),
  }),
  /** Returns the public parts of connections, in the order of the records. */
  describeConnections: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: text, connections: list(message({ id: text, record: bytes })) }),
    output: json<readonly ShownConnection[]>(),
  }),
};
