/** A small TCP balancer: it asks its servers for their health, and passes bytes on to those that are well. */
import { connect, createServer, type Socket } from 'node:net';

const CHECK_MS = 50;

export interface Balancer {
  readonly port: number;
  /** Adds a server that listens on a port of this machine; it gets connections once it is well. */
  readonly add: (port: number) => void;
  readonly remove: (port: number) => void;
  /** Resolves when the server is well. */
  readonly untilWell: (port: number) => Promise<void>;
  readonly close: () => void;
}

async function isWell(port: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/health/ready`, { keepalive: false });
    await reply.arrayBuffer();
    return reply.status === 200;
  } catch {
    return false;
  }
}

export async function startBalancer(): Promise<Balancer> {
  const servers = new Map<number, boolean>();
  let turn = 0;
  let isOver = false;

  const watch = async (): Promise<void> => {
    while (!isOver) {
      await Promise.all(
        [...servers.keys()].map(async (port) => {
          const well = await isWell(port);
          if (servers.has(port)) {
            servers.set(port, well);
          }
        }),
      );
      await Bun.sleep(CHECK_MS);
    }
  };
  const pass = (client: Socket, tried: ReadonlySet<number>): void => {
    const open = [...servers].filter(([port, well]) => well && !tried.has(port));
    const [port] = open[turn++ % Math.max(1, open.length)] ?? [];
    if (port === undefined) {
      client.destroy();
      return;
    }
    const server = connect({ port, host: '127.0.0.1', noDelay: true });
    server.once('connect', () => {
      client.on('error', () => server.destroy());
      client.pipe(server);
      server.pipe(client);
      server.off('error', refused);
      server.on('error', () => client.resetAndDestroy());
    });
    const refused = (): void => pass(client, new Set([...tried, port]));
    server.once('error', refused);
  };

  const listener = createServer({ noDelay: true }, (client) => pass(client, new Set()));
  const listening = Promise.withResolvers<void>();
  listener.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  void watch();
  const address = listener.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    add: (port) => void servers.set(port, false),
    remove: (port) => void servers.delete(port),
    untilWell: async (port) => {
      while (servers.get(port) !== true) {
        await Bun.sleep(CHECK_MS);
      }
    },
    close: () => {
      isOver = true;
      listener.close();
    },
  };
}
