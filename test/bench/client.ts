/**
 * The load generator where there is no wrk, and the one that stores a given number of cards. Its arguments are one
 * JSON object; its result is the same line of JSON that load.lua prints.
 */
import { readFileSync } from 'node:fs';
import { createReplyReader, type ReplyReader } from './http-reply.ts';
import { createRequests } from './plan.ts';
import { percentile } from './stats.ts';

/** What the client is told to do: for `seconds`, or `count` requests. */
export interface ClientOrder {
  readonly port: number;
  readonly connections: number;
  readonly requestFile: string;
  readonly linesFile?: string | undefined;
  readonly first: number;
  readonly seconds?: number | undefined;
  readonly count?: number | undefined;
}

interface Connection {
  readonly read: ReplyReader;
  sentAt: number;
}

async function run(order: ClientOrder): Promise<object> {
  const lines =
    order.linesFile === undefined ? [] : readFileSync(order.linesFile, 'utf8').trimEnd().split('\n');
  const next = createRequests(readFileSync(order.requestFile, 'utf8'), lines, order.first);
  const latencies: number[] = [];
  const finished = Promise.withResolvers<void>();
  const startedAt = performance.now();
  const endAt = order.seconds === undefined ? Infinity : startedAt + order.seconds * 1_000;
  let left = order.count ?? Infinity;
  let errors = 0;
  let open = order.connections;

  const send = (socket: Bun.Socket<Connection>, now: number): void => {
    if (now >= endAt || left === 0) {
      socket.end();
      return;
    }
    left -= 1;
    socket.data.sentAt = now;
    socket.write(next());
  };
  const close = (): void => {
    // A server that hangs up has left a request without its reply.
    errors += left > 0 && performance.now() < endAt ? 1 : 0;
    open -= 1;
    if (open === 0) {
      finished.resolve();
    }
  };
  const socket: Bun.SocketHandler<Connection> = {
    open: (opened) => send(opened, performance.now()),
    data: (from, chunk) => {
      const status = from.data.read(chunk);
      if (status === undefined) {
        return;
      }
      const now = performance.now();
      latencies.push(now - from.data.sentAt);
      if (status !== 200) {
        errors += 1;
      }
      send(from, now);
    },
    close,
    error: () => {
      errors += 1;
    },
  };
  const { port } = order;
  const connect = () =>
    Bun.connect({ hostname: '127.0.0.1', port, data: { read: createReplyReader(), sentAt: 0 }, socket });
  await Promise.all(Array.from({ length: order.connections }, connect));
  await finished.promise;
  return {
    requests: latencies.length,
    seconds: (performance.now() - startedAt) / 1_000,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    p999Ms: percentile(latencies, 0.999),
    // A connection that the server ended leaves requests of a given count unsent.
    errors: errors + (order.count === undefined ? 0 : order.count - latencies.length),
  };
}

if (import.meta.main) {
  const result = await run(JSON.parse(process.argv[2] ?? '{}') as ClientOrder);
  process.stdout.write(`RESULT ${JSON.stringify(result)}\n`);
}
