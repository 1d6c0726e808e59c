/**
 * Connections that send a byte in five seconds, and connections that ask for much and read nothing, in a process of its
 * own. Its argument is an order in JSON; its result how many of each the server has cut off.
 */
import { endWith } from '../bench/processes.ts';

/** Which connections, how many of each kind, and for how long. */
export interface SlowOrder {
  readonly port: number;
  readonly seconds: number;
  readonly each: number;
  /** The head of a request with a long body, which then comes byte by byte. */
  readonly slowRequest: string;
  /** A whole request with a long reply. */
  readonly unreadRequest: string;
}

/** How many connections of each kind the server has ended. */
export interface SlowResult {
  readonly slowCut: number;
  readonly unreadCut: number;
}

const BYTE_MS = 5_000;

async function holdAll(order: SlowOrder): Promise<SlowResult> {
  const cut = { slow: 0, unread: 0 };
  const slow: Bun.Socket<undefined>[] = [];
  const connect = (kind: 'slow' | 'unread'): Promise<unknown> =>
    Bun.connect({
      hostname: '127.0.0.1',
      port: order.port,
      socket: {
        open(socket) {
          if (kind === 'slow') {
            slow.push(socket);
            socket.write(order.slowRequest);
          } else {
            socket.write(order.unreadRequest);
            socket.pause();
          }
        },
        data: (socket) => void (kind === 'unread' && socket.pause()),
        close: () => {
          cut[kind] += 1;
        },
        error: () => undefined,
      },
    });
  await Promise.all(
    Array.from({ length: 2 * order.each }, (_, n) => connect(n % 2 === 0 ? 'slow' : 'unread')),
  );
  const drip = setInterval(() => slow.forEach((socket) => void socket.write('x')), BYTE_MS);
  await Bun.sleep(order.seconds * 1_000);
  clearInterval(drip);
  return { slowCut: cut.slow, unreadCut: cut.unread };
}

if (import.meta.main) {
  endWith(await holdAll(JSON.parse(process.argv[2] ?? '{}') as SlowOrder));
}
