import { Agent, type RequestOptions } from 'node:https';

/**
 * How long a connection without a request is kept: less than any usual server keeps it, so that none is closed at the very
 * moment at which a request is written to it, whose outcome would be unknown.
 */
const IDLE_MS = 1_000;
/** The most idle connections of one owner to one host. */
const IDLE_MAX = 64;

/** Whose requests may follow each other over one connection. */
export interface ConnectionShare {
  readonly share: string;
}

/** What a request keeps its connection with. */
export type ConnectionAgent = ReturnType<typeof createAgent>;

/**
 * The connections that wait for another request. One is used again only for the same share, host, port and TLS options;
 * bytes that nobody asked for end it. Each new one is verified in full: TLS sessions are not resumed.
 */
class SharingAgent extends Agent {
  override getName(options?: RequestOptions & Partial<ConnectionShare>): string {
    return `${super.getName(options)} ${options?.share}`;
  }
}

/** Creates an agent that keeps connections for a second. */
export function createAgent(): Agent {
  return new SharingAgent({
    keepAlive: true,
    timeout: IDLE_MS,
    maxFreeSockets: IDLE_MAX,
    maxCachedSessions: 0,
  });
}
