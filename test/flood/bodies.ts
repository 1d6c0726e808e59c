/**
 * Connections that send long bodies, in a process of its own. Its argument is an order in JSON; its result how many
 * connections got which status.
 */
import { endWith } from '../bench/processes.ts';

/** How many connections, and what each sends for how long. */
export interface BodiesOrder {
  readonly port: number;
  readonly seconds: number;
  readonly connections: number;
  /** The head of a request. */
  readonly head: string;
  /** A piece of the body, and how often it is sent; endlessly when that is left out. */
  readonly piece: string;
  readonly times?: number;
}

/** Connections by the status of their reply; `none` for those without one. */
export type BodiesResult = Readonly<Record<string, number>>;

const STATUS_AT = 9;

/** Sends as much of a body as the socket takes; the rest when it drains. */
function createFeed({ head, piece, times = Number.POSITIVE_INFINITY }: BodiesOrder) {
  const bytes = Buffer.from(piece);
  let rest: Uint8Array = Buffer.from(head);
  let left = times;
  return (socket: Bun.Socket<undefined>): void => {
    for (;;) {
      const taken = socket.write(rest);
      if (taken < rest.length) {
        rest = rest.subarray(Math.max(taken, 0));
        return;
      }
      if (left === 0) {
        rest = rest.subarray(rest.length);
        return;
      }
      left -= 1;
      rest = bytes;
    }
  };
}

function sendOne(order: BodiesOrder): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const feed = createFeed(order);
  let status = 'none';
  const socket = {
    open: feed,
    drain: feed,
    data(_: unknown, reply: Buffer) {
      status = status === 'none' ? reply.toString('latin1', STATUS_AT, STATUS_AT + 3) : status;
    },
    close: () => resolve(status),
    error: () => undefined,
    connectError: () => resolve(status),
  };
  Bun.connect({ hostname: '127.0.0.1', port: order.port, socket }).catch(() => resolve(status));
  setTimeout(() => resolve(status), order.seconds * 1_000);
  return promise;
}

async function sendAll(order: BodiesOrder): Promise<BodiesResult> {
  const counts: Record<string, number> = {};
  for (const status of await Promise.all(Array.from({ length: order.connections }, () => sendOne(order)))) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

if (import.meta.main) {
  endWith(await sendAll(JSON.parse(process.argv[2] ?? '{}') as BodiesOrder));
}
