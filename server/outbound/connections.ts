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
  /** For whose next request, to whom, it is kept; undefined for one that is used once. */
  readonly name: string | undefined;
  readonly socket: TLSSocket;
  /** Whether a request has used it before. */
  isUsed: boolean;
  user: ConnectionUser | undefined;
  /** Ends it when no request has come; only while it waits. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** The connections of a process. */
export type ConnectionPool = ReturnType<typeof createConnectionPool>;

function open(
  name: string | undefined,
  options: ConnectionOptions,
  user: ConnectionUser,
  onUnused: (one: Connection) => void,
): Connection {
  const socket = connect(options);
  socket.setNoDelay(true);
  const connection: Connection = { name, socket, isUsed: false, user, timer: undefined };
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

/**
 * Makes a pool. A connection is used again only for the name that it was opened for, which says whose it is, to whom, and at
 * which addresses. Each new one is verified in full: TLS sessions are not resumed.
 */
export function createConnectionPool() {
  /** Those that wait, by name, the longest ago first; no list is empty. */
  const waiting = new Map<string, Connection[]>();
  const remove = (connection: Connection): void => {
    const { name = '', socket, timer } = connection;
    const others = waiting.get(name)?.filter((other) => other !== connection) ?? [];
    if (others.length > 0) {
      waiting.set(name, others);
    } else {
      waiting.delete(name);
    }
    clearTimeout(timer);
    socket.destroy();
  };
  return {
    /** The one that waits the shortest, which is open, or a new one, which is not yet; without a name a new one. */
    take(name: string | undefined, options: () => ConnectionOptions, user: ConnectionUser): Connection {
      const connections = name === undefined ? undefined : waiting.get(name);
      const found = connections?.pop();
      if (name !== undefined && connections?.length === 0) {
        waiting.delete(name);
      }
      clearTimeout(found?.timer);
      if (found?.socket.writable === true) {
        found.user = user;
        return found;
      }
      return open(name, options(), user, remove);
    },

    /** Keeps one after its request, for a second; ends one without a name. */
    give(connection: Connection): void {
      const { name, socket } = connection;
      const others = name === undefined ? [] : (waiting.get(name) ?? []);
      connection.user = undefined;
      connection.isUsed = true;
      if (name === undefined || others.length >= WAITING_MAX || !socket.writable) {
        socket.destroy();
        return;
      }
      connection.timer = setTimeout(remove, WAITING_MS, connection);
      connection.timer.unref();
      others.push(connection);
      waiting.set(name, others);
      socket.resume();
    },
  };
}
