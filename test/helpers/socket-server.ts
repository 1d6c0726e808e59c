/** TCP and TLS servers on this machine. Third parties of the tests are built from them. */
import net from 'node:net';
import tls from 'node:tls';

/** A running server. */
export interface SocketServer {
  readonly port: number;
  /** Number of TCP connections so far. */
  readonly connections: () => number;
  /** Ends all open connections after pending writes. */
  readonly end: () => void;
  /** Settles when every connection so far is closed. */
  readonly quiet: () => Promise<void>;
  /** Closes the server and every connection at once. */
  readonly stop: () => void;
}

export interface SocketServerOptions {
  readonly host?: string;
  /** Any free port by default. */
  readonly port?: number;
  /** TLS options. Plain TCP by default. */
  readonly tls?: tls.TlsOptions | undefined;
  readonly allowHalfOpen?: boolean;
  /** Whether a connection is closed before a byte was sent on it. */
  readonly refuses?: () => boolean;
}

/** The port of a server that listens. */
function portOf(server: net.Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Starts a server that gives each connection to `take`, over TLS once its handshake is done. */
export async function startSocketServer<S extends net.Socket = net.Socket>(
  { host = '127.0.0.1', port = 0, allowHalfOpen = false, refuses, ...options }: SocketServerOptions,
  take: (socket: S) => void,
): Promise<SocketServer> {
  const sockets = new Set<net.Socket>();
  let connections = 0;
  const accept = (socket: net.Socket): void => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (refuses?.() === true) {
      socket.destroy();
    }
  };
  const greet = (socket: net.Socket): void => {
    socket.on('error', () => undefined);
    take(socket as S);
  };
  const server = options.tls
    ? tls.createServer({ ...options.tls, allowHalfOpen } as tls.TlsOptions & net.ServerOpts, greet)
    : net.createServer({ allowHalfOpen });
  server.on('connection', accept);
  if (options.tls === undefined) {
    server.on('connection', greet);
  }
  server.on('tlsClientError', () => undefined);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, resolve);
  await promise;
  return {
    port: portOf(server),
    connections: () => connections,
    end: () => sockets.forEach((socket) => void socket.end()),
    quiet: async () => {
      while (sockets.size > 0) {
        await new Promise((closed) => [...sockets][0]?.once('close', closed));
      }
    },
    stop: () => {
      server.close();
      sockets.forEach((socket) => void socket.destroy());
    },
  };
}
