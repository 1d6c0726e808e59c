import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';

/** The lifetime of an idle connection: below that of usual servers, which could close it while a request is written. */
const IDLE_MS = 1_000;
/** Maximum number of idle connections of one name. */
const IDLE_MAX = 64;

export interface ConnectionUser {
  /** The handshake is done. */
  onOpen(): void;
  onData(chunk: Buffer): void;
  /** The peer has ended it properly. */
  onClosing(): void;
  /** It is unusable; `error` is the reason, where the runtime gives one. */
  onLost(error?: Error): void;
}

/** A TLS connection for one request at a time. An idle one has no user, and ends at any byte. */
export interface Connection {
  /** Owner, target and addresses of the requests that may reuse it; undefined for one that is used once. */
  readonly name: string | undefined;
  readonly socket: TLSSocket;
  isUsed: boolean;
  user: ConnectionUser | undefined;
  /** Ends it while it is idle. */
  timer: NodeJS.Timeout | undefined;
}

/** Connections of a process. One is reused only for its name. Each new one is verified in full: TLS sessions are not resumed. */
export class ConnectionPool {
  /** Idle connections by name, the oldest first; no list is empty. */
  private readonly idle = new Map<string, Connection[]>();

  /** Takes the newest idle connection, or opens one; without a name it opens one. */
  acquire(name: string | undefined, options: () => ConnectionOptions, user: ConnectionUser): Connection {
    const connections = name === undefined ? undefined : this.idle.get(name);
    const found = connections?.pop();
    if (name !== undefined && connections?.length === 0) {
      this.idle.delete(name);
    }
    clearTimeout(found?.timer);
    if (found?.socket.writable === true) {
      found.user = user;
      return found;
    }
    return this.open(name, options(), user);
  }

  /** Keeps a connection after its request, for a second; ends one without a name. */
  release(connection: Connection): void {
    const { name, socket } = connection;
    const others = name === undefined ? [] : (this.idle.get(name) ?? []);
    connection.user = undefined;
    connection.isUsed = true;
    if (name === undefined || others.length >= IDLE_MAX || !socket.writable) {
      socket.destroy();
      return;
    }
    connection.timer = setTimeout(() => this.remove(connection), IDLE_MS);
    connection.timer.unref();
    others.push(connection);
    this.idle.set(name, others);
    socket.resume();
  }

  private open(name: string | undefined, options: ConnectionOptions, user: ConnectionUser): Connection {
    const socket = connect(options);
    socket.setNoDelay(true);
    const connection: Connection = { name, socket, isUsed: false, user, timer: undefined };
    const notify = (event: (current: ConnectionUser) => void): void =>
      connection.user === undefined ? this.remove(connection) : event(connection.user);
    // Once: the runtime repeats it when the peer renegotiates (TLS 1.2) during a request.
    socket.once('secureConnect', () => connection.user?.onOpen());
    socket.on('data', (chunk: Buffer) => notify((current) => current.onData(chunk)));
    socket.on('end', () => notify((current) => current.onClosing()));
    socket.on('error', (error: Error) => notify((current) => current.onLost(error)));
    socket.on('close', () => notify((current) => current.onLost()));
    return connection;
  }

  private remove(connection: Connection): void {
    const { name = '', socket, timer } = connection;
    const others = this.idle.get(name)?.filter((other) => other !== connection) ?? [];
    if (others.length > 0) {
      this.idle.set(name, others);
    } else {
      this.idle.delete(name);
    }
    clearTimeout(timer);
    socket.destroy();
  }
}
