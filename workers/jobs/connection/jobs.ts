/** Connections: read from what a caller sent, sealed, and shown without their credentials. */
import type { ShownConnection } from '../../../server/domain/connection/connection.ts';
import { bytes, json, list, message, optional, text } from '../codec.ts';
import { defineJob } from '../define.ts';

/** How a connection is read, and whose it is. */
export interface SealConnectionParams {
  readonly aid: string;
  /** The id of the connection that is replaced; otherwise the body has one. */
  readonly id?: string | undefined;
  /** The time, ms since 1970. */
  readonly now: number;
  /** Whether members that are not known are errors. */
  readonly refuseUnknown: boolean;
  /** Whether the caller may decide what others see. */
  readonly mayReveal: boolean;
}

/** Jobs on connections by themselves. */
export const CONNECTION_JOBS = {
  /**
   * Checks the body of a connection and seals it; `invalid_request` names the place of a fault. `previous` is the record
   * that it replaces, whose time of creation it keeps. `origin` is the URL of its host, which is not vetted.
   */
  sealConnection: defineJob({
    lane: 'bulk',
    share: ({ params }) => params.aid,
    input: message({ params: json<SealConnectionParams>(), previous: optional(bytes), body: bytes }),
    output: message({ id: text, origin: text, shown: json<ShownConnection>(), record: bytes }),
  }),
  /** What callers see of connections, in the order of the records. */
  describeConnections: defineJob({
    lane: 'bulk',
    share: ({ aid }) => aid,
    input: message({ aid: text, connections: list(message({ id: text, record: bytes })) }),
    output: json<readonly ShownConnection[]>(),
  }),
};
