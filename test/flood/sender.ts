/**
 * Sends requests in a process of its own: at a rate, or as fast as replies come. Its argument is the file of an order in
 * JSON; its result one line of JSON. Replies are measured from when they were due, so that waiting counts.
 */
import { readFileSync } from 'node:fs';
import { percentile } from '../bench/stats.ts';
import { createReplyEnd, type ReplyEnd } from './reply-end.ts';

/** What is sent. `@SEQ@` in a request stands for ten digits that count up. */
export interface Order {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second; without it each connection sends the next when it has its reply. */
  readonly perSecond?: number;
  /** Texts of whole requests, sent one after the other, again and again. */
  readonly requests: readonly string[];
  readonly first: number;
}

/** What came of it: replies by status, and how long those with 200 and all others took. */
export interface Sent {
  readonly statuses: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly okPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly otherP99Ms: number;
  /** Requests that were due and not answered at the end. */
  readonly unanswered: number;
}

interface Line {
  readonly read: ReplyEnd;
  dueAt: number;
  isBusy: boolean;
}

const TICK_MS = 2;
/** How long replies are waited for behind the last request. */
const PATIENCE_MS = 5_000;

async function runOrder(order: Order): Promise<Sent> {
  const statuses: Record<string, number> = {};
  const ok: number[] = [];
  const other: number[] = [];
  const idle: Bun.Socket<Line>[] = [];
  const due: number[] = [];
  let at = 0;
  let isOver = false;

  const next = (): string => {
    const n = order.first + at++;
    const text = order.requests[n % order.requests.length] ?? '';
    return text.replaceAll('@SEQ@', String(n).padStart(10, '0'));
  };
  const count = (status: string): void => {
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const send = (socket: Bun.Socket<Line>, dueAt: number): void => {
    socket.data.dueAt = dueAt;
    socket.data.isBusy = true;
    socket.write(next());
  };
  const goOn = (socket: Bun.Socket<Line>): void => {
    socket.data.isBusy = false;
    if (isOver) {
      socket.end();
      return;
    }
    const dueAt = order.perSecond === undefined ? performance.now() : due.shift();
    if (dueAt === undefined) {
      idle.push(socket);
    } else {
      send(socket, dueAt);
    }
  };
  const connect = (): Promise<unknown> =>
    Bun.connect<Line>({
      hostname: '127.0.0.1',
      port: order.port,
      data: { read: createReplyEnd(), dueAt: 0, isBusy: false },
      socket: {
        open: goOn,
        data(socket, chunk) {
          const status = socket.data.read(chunk);
          if (status === undefined) {
            return;
          }
          count(String(status));
          (status === 200 ? ok : other).push(performance.now() - socket.data.dueAt);
          goOn(socket);
        },
        close(socket) {
          const place = idle.indexOf(socket);
          if (place >= 0) {
            idle.splice(place, 1);
          }
          if (socket.data.isBusy) {
            count('cut');
          }
          if (!isOver) {
            connect().catch(() => count('refused'));
          }
        },
        error: () => undefined,
      },
    });

  await Promise.all(Array.from({ length: order.connections }, connect));
  const startedAt = performance.now();
  const endAt = startedAt + order.seconds * 1_000;
  let made = 0;
  const ticker = setInterval(() => {
    const { perSecond } = order;
    if (perSecond === undefined) {
      return;
    }
    const now = performance.now();
    for (; made < ((now - startedAt) / 1_000) * perSecond && now < endAt; made++) {
      const dueAt = startedAt + (made / perSecond) * 1_000;
      const socket = idle.pop();
      if (socket === undefined) {
        due.push(dueAt);
      } else {
        send(socket, dueAt);
      }
    }
  }, TICK_MS);
  await Bun.sleep(order.seconds * 1_000);
  isOver = true;
  clearInterval(ticker);
  const seconds = (performance.now() - startedAt) / 1_000;
  const okPerSecond = ok.length / seconds;
  const answered = (): number => ok.length + other.length;
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && order.perSecond !== undefined; waitedMs += 50) {
    if (answered() + due.length >= made) {
      break;
    }
    await Bun.sleep(50);
  }
  return {
    statuses,
    seconds,
    okPerSecond,
    p50Ms: percentile(ok, 0.5),
    p99Ms: percentile(ok, 0.99),
    maxMs: percentile(ok, 1),
    otherP99Ms: percentile(other, 0.99),
    unanswered: order.perSecond === undefined ? 0 : Math.max(0, made - answered()),
  };
}

if (import.meta.main) {
  const sent = await runOrder(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Order);
  process.stdout.write(`SENT ${JSON.stringify(sent)}\n`, () => process.exit(0));
}
