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
  /** Ends it when it has waited too long. */
  timer: ReturnType<typeof setTimeout> | undefined;
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
  const connection: Connection = { socket, isUsed: false, user, timer: undefined };
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
  const waiting = new Map<string, Connection[]>();
  const remove = (name: string, connection: Connection): void => {
    const left = waiting.get(name)?.filter((one) => one !== connection) ?? [];
    if (left.length > 0) {
      waiting.set(name, left);
    } else {
      waiting.delete(name);
    }
    clearTimeout(connection.timer);
  };
  return {
    /** One that waits, which is open, or a new one, which is not yet; without a name a new one. */
    take(name: string | undefined, options: ConnectionOptions, user: ConnectionUser): Connection {
      const found = name === undefined ? undefined : waiting.get(name)?.at(-1);
      if (name !== undefined && found !== undefined) {
        remove(name, found);
        found.user = user;
        return found;
      }
      return open(options, user, (unused) => {
        if (name !== undefined) {
          remove(name, unused);
        }
        unused.socket.destroy();
      });
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
      waiting.set(name, [...others, connection]);
      connection.timer = setTimeout(() => {
        remove(name, connection);
        socket.destroy();
      }, WAITING_MS);
      connection.timer.unref();
      socket.resume();
    },
  };
}
