/** TLS connections to third parties, each for one request at a time; some wait for another one. */
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';

/**
 * How long a connection without a request is kept: less than any usual server keeps it, so that none is closed at the very
 * moment at which a request is written to it, whose outcome would be unknown.
 */
const WAITING_MS = 1_000;
/** The most idle connections of one name. */
const WAITING_MAX = 64;

/** What a request is told of its connection. */
export interface ConnectionUser {
  /** The handshake is done. */
  onOpen(): void;
  onData(chunk: Buffer): void;
  /** The peer has ended it properly. */
  onClosing(): void;
  /** It is of no more use; `error` is why, where the runtime says so. */
  onLost(error?: Error): void;
}

/** A connection; without a user nothing is expected of it, and it ends at any byte. */
export interface Connection {
  readonly socket: TLSSocket;
  /** Whether a request has used it before. */
  isUsed: boolean;
  user: ConnectionUser | undefined;
  /** When its last request ended, on `performance.now()`. */
  waitsSince: number;
}

/** The connections of a process. */
export type ConnectionPool = ReturnType<typeof createConnectionPool>;

function open(
  options: ConnectionOptions,
  user: ConnectionUser,
  onUnused: (one: Connection) => void,
): Connection {
  const socket = connect(options);
  socket.setNoDelay(true);
  const connection: Connection = { socket, isUsed: false, user, waitsSince: 0 };
  const lose = (error?: Error): void =>
    connection.user === undefined ? onUnused(connection) : connection.user.onLost(error);
  // Once: the runtime says it again when the peer negotiates anew (TLS 1.2), while a request is on its way.
  socket.once('secureConnect', () => connection.user?.onOpen());
  socket.on('data', (chunk: Buffer) =>
    connection.user === undefined ? onUnused(connection) : connection.user.onData(chunk),
  );
  socket.on('end', () =>
    connection.user === undefined ? onUnused(connection) : connection.user.onClosing(),
  );
  socket.on('error', lose);
  socket.on('close', () => lose());
  return connection;
}

/** How long one may still wait; 0 or less if it has waited too long. `now` is of `performance.now()`. */
function leftMs({ waitsSince }: Connection, now: number): number {
  return waitsSince + WAITING_MS - now;
}

/** The one that has waited the least, if that is not too long. */
function takeWaiting(waiting: Map<string, Connection[]>, name: string): Connection | undefined {
  const found = waiting.get(name)?.pop();
  if (found !== undefined && leftMs(found, performance.now()) <= 0) {
    found.socket.destroy();
    return undefined;
  }
  return found;
}

/**
 * Makes a pool. A connection is used again only for the name that it was opened for, which says whose it is, to whom, and at
 * which addresses. Each new one is verified in full: TLS sessions are not resumed.
 */
export function createConnectionPool() {
  /** Those that wait, by name, the longest ago first. Only the sweep forgets names. */
  const waiting = new Map<string, Connection[]>();
  let isSweepDue = false;
  const remove = (name: string | undefined, connection: Connection): void => {
    const connections = name === undefined ? [] : (waiting.get(name) ?? []);
    const at = connections.indexOf(connection);
    if (at >= 0) {
      connections.splice(at, 1);
    }
    connection.socket.destroy();
  };
  const sweep = (): void => {
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [name, connections] of waiting) {
      for (const old of connections.filter((connection) => leftMs(connection, now) <= 0)) {
        remove(name, old);
      }
      const [first] = connections;
      if (first === undefined) {
        waiting.delete(name);
      } else {
        nextMs = Math.min(nextMs, leftMs(first, now));
      }
    }
    isSweepDue = waiting.size > 0;
    if (isSweepDue) {
      setTimeout(sweep, Math.ceil(nextMs)).unref();
    }
  };
  return {
    /** One that waits, which is open, or a new one, which is not yet; without a name a new one. */
    take(name: string | undefined, options: () => ConnectionOptions, user: ConnectionUser): Connection {
      const found = name === undefined ? undefined : takeWaiting(waiting, name);
      if (found !== undefined) {
        found.user = user;
        return found;
      }
      return open(options(), user, (unused) => remove(name, unused));
    },

    /** Keeps one that was taken for a name, for a second. */
    give(name: string, connection: Connection): void {
      const { socket } = connection;
      const others = waiting.get(name) ?? [];
      connection.user = undefined;
      connection.isUsed = true;
      if (others.length >= WAITING_MAX || !socket.writable) {
        socket.destroy();
        return;
      }
      connection.waitsSince = performance.now();
      others.push(connection);
      waiting.set(name, others);
      if (!isSweepDue) {
        isSweepDue = true;
        setTimeout(sweep, WAITING_MS).unref();
      }
      socket.resume();
    },
  };
}
