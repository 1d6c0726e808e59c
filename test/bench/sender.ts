/**
 * Load generator that runs as a separate process: sends at a fixed rate, or as fast as replies come. Its argument is
 * the path of an order in JSON; it prints one line of JSON. Latency counts from the time at which a request was due, so
 * queueing is included.
 */
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { SEQUENCE, sequenceText } from './plan.ts';
import { endWith } from './processes.ts';
import { createReplyEnd, type ReplyEnd } from './reply-end.ts';
import { percentile } from './stats.ts';

/** An order: the requests, and either the seconds to send for or the number of requests. */
export interface SendOrder {
  readonly port: number;
  readonly connections: number;
  readonly seconds?: number;
  readonly count?: number;
  /** Requests per second. Without it, each connection sends its next request after a reply. */
  readonly perSecond?: number;
  /** Runs at low priority, as a client on another machine would not compete for the server's cores. */
  readonly isLow?: boolean;
  /** Texts of whole requests, sent one after the other, again and again. */
  readonly requests: readonly string[];
  readonly first: number;
}

/** The result: replies by status, latencies of replies with 200 and of all others. */
export interface Sent {
  readonly statuses: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly okPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  readonly otherP99Ms: number;
  /** How many replies with a status other than 200 came within 5 ms. */
  readonly otherWithin5Ms: number;
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

interface Run {
  readonly order: SendOrder;
  readonly statuses: Record<string, number>;
  /** How long replies took, those with 200 and all others. */
  readonly okMs: number[];
  readonly otherMs: number[];
  readonly idle: Bun.Socket<Line>[];
  /** When requests were due for which no connection was free. */
  readonly due: number[];
  /** Resolves when all of a given number of requests have ended. */
  readonly ended: PromiseWithResolvers<void>;
  sent: number;
  isOver: boolean;
}

function nextText(run: Run): string {
  const { first, requests } = run.order;
  const n = first + run.sent++;
  return (requests[n % requests.length] ?? '').replaceAll(SEQUENCE, sequenceText(n));
}

function count({ statuses, order, ended }: Run, status: string): void {
  statuses[status] = (statuses[status] ?? 0) + 1;
  const all = Object.values(statuses).reduce((sum, each) => sum + each, 0);
  if (status === 'refused' || all === order.count) {
    ended.resolve();
  }
}

function hasMore({ isOver, sent, order: { count: most = Infinity } }: Run): boolean {
  return !isOver && sent < most;
}

function send(run: Run, socket: Bun.Socket<Line>, dueAt: number): void {
  socket.data.dueAt = dueAt;
  socket.data.isBusy = true;
  socket.write(nextText(run));
}

function goOn(run: Run, socket: Bun.Socket<Line>): void {
  socket.data.isBusy = false;
  if (!hasMore(run)) {
    socket.end();
    return;
  }
  const dueAt = run.order.perSecond === undefined ? performance.now() : run.due.shift();
  if (dueAt === undefined) {
    run.idle.push(socket);
  } else {
    send(run, socket, dueAt);
  }
}

function connect(run: Run): Promise<unknown> {
  return Bun.connect<Line>({
    hostname: '127.0.0.1',
    port: run.order.port,
    data: { read: createReplyEnd(), dueAt: 0, isBusy: false },
    socket: {
      open: (socket) => goOn(run, socket),
      data(socket, chunk) {
        const status = socket.data.read(chunk);
        if (status !== undefined) {
          count(run, String(status));
          (status === 200 ? run.okMs : run.otherMs).push(performance.now() - socket.data.dueAt);
          goOn(run, socket);
        }
      },
      close: (socket) => replace(run, socket),
      error: () => undefined,
    },
  });
}

/** A connection that was closed is replaced by another one. */
function replace(run: Run, socket: Bun.Socket<Line>): void {
  const place = run.idle.indexOf(socket);
  if (place >= 0) {
    run.idle.splice(place, 1);
  }
  if (socket.data.isBusy) {
    count(run, 'cut');
  }
  if (hasMore(run)) {
    connect(run).catch(() => count(run, 'refused'));
  }
}

/** Sends at a rate until `endAt`, on the performance clock; gives how many requests were due. */
function startPace(run: Run, perSecond: number, startedAt: number, endAt: number) {
  let made = 0;
  const ticker = setInterval(() => {
    const now = performance.now();
    for (; made < ((now - startedAt) / 1_000) * perSecond && now < endAt; made++) {
      const dueAt = startedAt + (made / perSecond) * 1_000;
      const socket = run.idle.pop();
      if (socket === undefined) {
        run.due.push(dueAt);
      } else {
        send(run, socket, dueAt);
      }
    }
  }, TICK_MS);
  return () => {
    clearInterval(ticker);
    return made;
  };
}

async function runOrder(order: SendOrder): Promise<Sent> {
  const [okMs, otherMs]: [number[], number[]] = [[], []];
  const ended = Promise.withResolvers<void>();
  const run: Run = { order, statuses: {}, okMs, otherMs, idle: [], due: [], ended, sent: 0, isOver: false };
  const { seconds: forSeconds = 0, perSecond } = order;
  await Promise.all(Array.from({ length: order.connections }, () => connect(run)));
  if (order.isLow) {
    setPriority(constants.priority.PRIORITY_LOW);
  }
  const startedAt = performance.now();
  const endAt = startedAt + forSeconds * 1_000;
  const stop = perSecond === undefined ? () => 0 : startPace(run, perSecond, startedAt, endAt);
  await (order.count === undefined ? Bun.sleep(forSeconds * 1_000) : ended.promise);
  run.isOver = true;
  const made = stop();
  const seconds = (performance.now() - startedAt) / 1_000;
  const okPerSecond = okMs.length / seconds;
  const answered = (): number => okMs.length + otherMs.length;
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && answered() + run.due.length < made; waitedMs += 50) {
    await Bun.sleep(50);
  }
  return {
    statuses: run.statuses,
    seconds,
    okPerSecond,
    p50Ms: percentile(okMs, 0.5),
    p99Ms: percentile(okMs, 0.99),
    p999Ms: percentile(okMs, 0.999),
    maxMs: percentile(okMs, 1),
    otherP99Ms: percentile(otherMs, 0.99),
    otherWithin5Ms: otherMs.filter((ms) => ms < 5).length,
    unanswered: Math.max(0, made - answered()),
  };
}

if (import.meta.main) {
  endWith(await runOrder(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as SendOrder));
}
