import type { HeaderEntries } from '../../../server/core/headers.ts';
import type { Showing, Sight } from '../../../server/domain/relay/sight.ts';
import { FAILURE } from '../../pool/failure.ts';
import { bytes, concealed, json, list, message, oneOf, revealed, text } from '../codec.ts';
import { defineJob, singlesOf } from '../define.ts';
import { type KeyName, OPENING } from '../key/jobs.ts';
import { laneByLength, OUTGOING } from '../proxy/jobs.ts';
import { type ActorParams, SEALED_ITEM } from '../vault/jobs.ts';

export interface FillRelayParams extends KeyName, ActorParams {
  readonly connection: string;
  readonly method: string;
  /** Path after the connection's name, as in `RelayRequest`. */
  readonly path: string;
  readonly query: string;
  readonly headers: HeaderEntries;
  /** Token and log length of each item, in the order of the items. */
  readonly items: readonly { readonly token: string; readonly seen: number }[];
  readonly sight: Sight;
  /** Cards of the reply are stored, for which it is read. */
  readonly storesReply?: boolean | undefined;
}

/** Jobs of relayed requests. Card data and credentials of connections never leave the threads but for sending. */
export const RELAY_JOBS = {
  /**
   * Fills a request from the items that exist of those that it names, and adds the headers of its connection. `logEntries`: one of
   * each item, empty for one that was not read. `showing`: for `showRelay`. `rejected`: nothing is sent.
   */
  fillRelay: defineJob({
    lane: ({ body }) => laneByLength(body),
    share: ({ params }) => singlesOf(params.aid),
    input: message({
      params: json<FillRelayParams>(),
      opening: OPENING,
      connection: bytes,
      items: list(SEALED_ITEM),
      body: bytes,
    }),
    output: oneOf({
      ready: {
        logEntries: list(bytes),
        request: OUTGOING,
        showing: concealed(json<Showing>()),
      },
      rejected: { logEntries: list(bytes), error: FAILURE },
      warm_miss: {},
    }),
  }),
  /** A reply, whose body is decoded, as its caller sees it. */
  showRelay: defineJob({
    lane: ({ body }) => laneByLength(body),
    share: ({ aid }) => singlesOf(aid),
    input: message({
      aid: text,
      showing: revealed(json<Showing>()),
      status: json<number>(),
      headers: json<HeaderEntries>(),
      body: bytes,
      tokens: json<readonly string[]>(),
    }),
    output: message({ headers: json<HeaderEntries>(), body: bytes, withheld: json<boolean>() }),
  }),
};
