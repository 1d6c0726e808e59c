/**
 * Sends requests in a process of its own: at a rate, or as fast as replies come. Its argument is the file of an order in
 * JSON; its result one line of JSON. Replies are measured from when they were due, so that waiting counts.
 */
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { percentile } from '../bench/stats.ts';
import { createReplyEnd, type ReplyEnd } from './reply-end.ts';

/** What is sent. `@SEQ@` in a request stands for ten digits that count up. */
export interface SendOrder {
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
  sent: number;
  isOver: boolean;
}

function nextText(run: Run): string {
  const { first, requests } = run.order;
  const n = first + run.sent++;
  return (requests[n % requests.length] ?? '').replaceAll('@SEQ@', String(n).padStart(10, '0'));
}

function count({ statuses }: Run, status: string): void {
  statuses[status] = (statuses[status] ?? 0) + 1;
}

function send(run: Run, socket: Bun.Socket<Line>, dueAt: number): void {
  socket.data.dueAt = dueAt;
  socket.data.isBusy = true;
  socket.write(nextText(run));
}

function goOn(run: Run, socket: Bun.Socket<Line>): void {
  socket.data.isBusy = false;
  if (run.isOver) {
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
  if (!run.isOver) {
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
  const run: Run = { order, statuses: {}, okMs, otherMs, idle: [], due: [], sent: 0, isOver: false };
  await Promise.all(Array.from({ length: order.connections }, () => connect(run)));
  if (order.perSecond === undefined) {
    // Who floods has a machine of its own: here it gets what the server leaves, and takes no core from it.
    setPriority(constants.priority.PRIORITY_LOW);
  }
  const startedAt = performance.now();
  const endAt = startedAt + order.seconds * 1_000;
  const stop = order.perSecond === undefined ? () => 0 : startPace(run, order.perSecond, startedAt, endAt);
  await Bun.sleep(order.seconds * 1_000);
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
    maxMs: percentile(okMs, 1),
    otherP99Ms: percentile(otherMs, 0.99),
    otherWithin5Ms: otherMs.filter((ms) => ms < 5).length,
    unanswered: Math.max(0, made - answered()),
  };
}

if (import.meta.main) {
  const sent = await runOrder(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as SendOrder);
  process.stdout.write(`SENT ${JSON.stringify(sent)}\n`, () => process.exit(0));
}
