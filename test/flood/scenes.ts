/** The floods, and what each must leave to others. */
import { join } from 'node:path';
import { withGrowth } from '../bench/cpu.ts';
import { resultOf, say } from '../bench/processes.ts';
import type { Sent } from '../bench/sender.ts';
import type { BodiesOrder, BodiesResult } from './bodies.ts';
import { besideOneGuesser } from './guesser.ts';
import type { SlowResult } from './slow.ts';
import { HEALTH, type Prepared, run, type Traffic, type World } from './traffic.ts';
import { FLOOD, storing } from './world.ts';

const MIB = 1_048_576;

function round(value: number | null): string {
  return value === null ? 'none' : value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

function refusalsOf({ statuses }: Sent): number {
  return Object.entries(statuses).reduce((sum, [status, n]) => sum + (status === '200' ? 0 : n), 0);
}

/** Runs traffic under a flood that begins a second before it and ends with it; also the growth of memory, in MB. */
async function under(
  world: World,
  flood: Traffic,
  traffic: readonly Traffic[],
): Promise<{ readonly flood: Sent; readonly sent: readonly Sent[]; readonly grownMb: number }> {
  const { result, grown } = await withGrowth(world.vault.pid, async () => {
    const flooding = run(world, flood, world.seconds + 2);
    await Bun.sleep(1_000);
    const sent = await Promise.all(traffic.map((each) => run(world, each)));
    return { flood: await flooding, sent };
  });
  return { ...result, grownMb: grown / MIB };
}

function timesIdle(
  world: World,
  flood: string,
  measured: string,
  idle: Sent,
  sent: Sent,
  most: number,
): void {
  const ratio = sent.p99Ms / idle.p99Ms;
  const rejects = refusalsOf(sent);
  world.rows.push({
    flood,
    measured: `${measured}: p99 against idle`,
    value: `${round(sent.p99Ms)} ms / ${round(idle.p99Ms)} ms = ${round(ratio)} (p50 ${round(sent.p50Ms)} / ${round(idle.p50Ms)}); ${rejects} refused, ${sent.unanswered} still waiting`,
    aim: `<= ${most}, none refused`,
    isReached: ratio <= most && rejects === 0,
  });
}

function floodLine(world: World, flood: string, { statuses, okPerSecond, p99Ms, otherP99Ms }: Sent): void {
  world.rows.push({
    flood,
    measured: 'the flood itself',
    value: `${round(okPerSecond)}/s done, p99 ${round(p99Ms)} ms; refused p99 ${round(otherP99Ms)} ms; ${JSON.stringify(statuses)}`,
    aim: '',
    isReached: undefined,
  });
}

/** Adds a line: whether a value is at most what it may be. */
function isAtMost(
  world: World,
  flood: string,
  measured: string,
  value: number,
  most: number,
  unit: string,
): void {
  world.rows.push({
    flood,
    measured,
    value: `${round(value)} ${unit}`,
    aim: `<= ${most} ${unit}`,
    isReached: value <= most,
  });
}

async function idleOf(world: World, { small }: Prepared): Promise<readonly [Sent, Sent, Sent]> {
  const [store, decrypt, health] = await Promise.all(
    [small.store, small.decrypt, HEALTH].map((each) => run(world, each)),
  );
  if (store === undefined || decrypt === undefined || health === undefined) {
    throw new Error('the idle service did not answer');
  }
  return [store, decrypt, health];
}

/** One account unlocks from cold a hundred times a second; lists and reads whole keys; sends five times too much. */
export const FLOODS: Readonly<Record<string, (world: World, prepared: Prepared) => Promise<void>>> = {
  cold: async (world, prepared) => {
    const name = 'cold unlocks, 100/s';
    await beside(world, prepared, name, prepared.cold, 2);
    const idle = await run(world, prepared.captures);
    const loud = await under(world, prepared.cold, [prepared.captures]);
    for (const sent of loud.sent) {
      timesIdle(world, name, 'captures for the same account', idle, sent, 2);
    }
  },
  lists: async (world, prepared) => {
    await beside(world, prepared, 'pages of 1,000', prepared.pages, 3);
    await beside(world, prepared, 'whole lists', prepared.listAll, 3);
  },
  opens: async (world, prepared) => {
    await beside(world, prepared, 'decrypt_all', prepared.openAll, 3);
  },
  reads: async (world, prepared) => {
    await beside(world, prepared, 'warm decrypts, 160 at once', prepared.reads(160), 3);
  },
  stores: async (world, prepared) => {
    const calm = await run(world, prepared.stores(32));
    floodLine(world, 'stores, 32 at once', calm);
    for (const connections of [160, 1_000]) {
      const name = `stores, ${connections} at once`;
      const loud = await beside(world, prepared, name, prepared.stores(connections), 3);
      const part = loud.okPerSecond / calm.okPerSecond;
      world.rows.push({
        flood: name,
        measured: 'goodput against 32 at once; p99 of accepted',
        value: `${round(100 * part)} %; ${round(loud.p99Ms / calm.p99Ms)} times`,
        aim: '>= 80 %; <= 3 times',
        isReached: part >= 0.8 && loud.p99Ms / calm.p99Ms <= 3,
      });
      await calmAfter(world, prepared, name);
    }
  },
  secrets: besideGuesses,
  passwords: besideWrongPasswords,
  guesses: besideOneGuesser,
  slow: besideSlow,
  bodies: async (world, prepared) => {
    const wrong = { Authorization: `Basic ${btoa('nobody:a wrong password')}` };
    const long = '1 MB with wrong credentials';
    const piece = 'x'.repeat(100_000);
    const head = headOf({ ...wrong, 'Content-Length': '1000000' });
    await besideBodies(world, prepared, long, { connections: 2_000, head, piece, times: 10 });
    const chunk = `10000\r\n${'x'.repeat(0x1_0000)}\r\n`;
    const endless = headOf({ ...wrong, 'Transfer-Encoding': 'chunked' });
    const name = 'endless bodies with wrong credentials';
    await besideBodies(world, prepared, name, { connections: 200, head: endless, piece: chunk });
  },
};

function headOf(fields: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ Host: 'vault.test', ...fields }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `POST /v1/retrieve/iframe HTTP/1.1\r\n${lines.join('')}\r\n`;
}

async function beside(
  world: World,
  prepared: Prepared,
  name: string,
  flood: Traffic,
  most: number,
): Promise<Sent> {
  say(name);
  const [idleStore, idleDecrypt] = await idleOf(world, prepared);
  const { small } = prepared;
  const loud = await under(world, flood, [small.store, small.decrypt, HEALTH]);
  const [store, decrypt, health] = loud.sent;
  if (store === undefined || decrypt === undefined || health === undefined) {
    throw new Error('no traffic beside the flood');
  }
  timesIdle(world, name, 'stores of another account', idleStore, store, most);
  timesIdle(world, name, 'warm decrypts of another account', idleDecrypt, decrypt, most);
  isAtMost(world, name, 'slowest answer of /health/live', health.maxMs, 100, 'ms');
  isAtMost(world, name, 'growth of memory', loud.grownMb, 150, 'MB');
  floodLine(world, name, loud.flood);
  return loud.flood;
}

const CALM_AFTER_MS = 5_000;
const CALM_SECONDS = 5;

/** Five seconds after a flood, everything is as fast as before. */
async function calmAfter(world: World, { small }: Prepared, name: string): Promise<void> {
  await Bun.sleep(CALM_AFTER_MS);
  const after = await run(world, small.store, CALM_SECONDS);
  const later = await run(world, small.store, CALM_SECONDS);
  timesIdle(world, name, 'stores five seconds after it, and ten seconds after', later, after, 2);
}

async function besideGuesses(world: World, { captures, guesses }: Prepared): Promise<void> {
  const name = 'wrong endpoint secrets, 500/s';
  say(name);
  const idle = await run(world, captures);
  const loud = await under(world, guesses, [captures]);
  const [sent] = loud.sent;
  if (sent !== undefined) {
    timesIdle(world, name, 'captures with the right one', idle, sent, 2);
  }
  floodLine(world, name, loud.flood);
}

const IDLE_SECONDS_MAX = 20;

/** Everything that an account does is slowed a little by wrong passwords of a thousand sources, and nothing is refused. */
async function besideWrongPasswords(world: World, { passwords, small }: Prepared): Promise<void> {
  const name = 'wrong passwords of 1,000 sources, 200/s';
  say(name);
  const parts = [
    ['stores', small.store],
    ['warm decrypts', small.decrypt],
    ['cold unlocks', small.unlock],
  ] as const;
  const traffic = parts.map(([, each]) => each);
  const idleSeconds = Math.min(world.seconds, IDLE_SECONDS_MAX);
  const idle = await Promise.all(traffic.map((each) => run(world, each, idleSeconds)));
  const loud = await under(world, passwords, traffic);
  for (const [at, [measured]] of parts.entries()) {
    const [calm, sent] = [idle[at], loud.sent[at]];
    if (calm !== undefined && sent !== undefined) {
      timesIdle(world, name, `${measured} of an account`, calm, sent, 3);
    }
  }
  isAtMost(world, name, 'growth of memory', loud.grownMb, 150, 'MB');
  floodLine(world, name, loud.flood);
}

const SLOW_EACH = 500;

async function besideSlow(world: World, prepared: Prepared): Promise<void> {
  const { vault, seconds, rows } = world;
  const { small } = prepared;
  const name = `${SLOW_EACH} slow senders, ${SLOW_EACH} who do not read`;
  say(name);
  const [idleStore, idleDecrypt] = await idleOf(world, prepared);
  const [slowRequest] = storing(FLOOD, 'new').map((text) =>
    text.replace(/Content-Length: \d+\r\n\r\n.*$/, 'Content-Length: 100000\r\n\r\n'),
  );
  const [unreadRequest] = prepared.listAll.requests;
  const order = {
    port: vault.port,
    seconds: Math.max(40, seconds + 5),
    each: SLOW_EACH,
    slowRequest,
    unreadRequest,
  };
  const { result, grown } = await withGrowth(vault.pid, async () => {
    const ended = resultOf<SlowResult>([
      process.execPath,
      join(import.meta.dir, 'slow.ts'),
      JSON.stringify(order),
    ]);
    await Bun.sleep(4_000);
    return { others: await Promise.all([run(world, small.store), run(world, small.decrypt)]), ended };
  });
  const [store, decrypt] = result.others;
  timesIdle(world, name, 'stores of another account', idleStore, store, 3);
  timesIdle(world, name, 'warm decrypts of another account', idleDecrypt, decrypt, 3);
  isAtMost(world, name, 'growth of memory', grown / MIB, 200, 'MB');
  const { slowCut, unreadCut } = (await result.ended).result;
  rows.push({
    flood: name,
    measured: `cut off after ${order.seconds} s`,
    value: `${slowCut} slow, ${unreadCut} unread`,
    aim: 'all slow ones',
    isReached: slowCut === SLOW_EACH,
  });
}

const BODIES_SECONDS = 25;

/** Bodies of callers who are not signed in cost little memory, and others are served meanwhile. */
async function besideBodies(
  world: World,
  { small }: Prepared,
  kind: string,
  bodies: Omit<BodiesOrder, 'port' | 'seconds'>,
): Promise<void> {
  const { vault, rows } = world;
  const name = `${bodies.connections} times ${kind}`;
  say(name);
  const order: BodiesOrder = { ...bodies, port: vault.port, seconds: BODIES_SECONDS };
  const command = [process.execPath, join(import.meta.dir, 'bodies.ts'), JSON.stringify(order)];
  const { result, grown } = await withGrowth(vault.pid, () =>
    Promise.all([resultOf<BodiesResult>(command), run(world, small.store)]),
  );
  const [{ result: statuses }, sent] = result;
  isAtMost(world, name, 'growth of memory', grown / MIB, 64, 'MB');
  isAtMost(world, name, 'stores of others that are refused', refusalsOf(sent), 0, 'requests');
  rows.push({
    flood: name,
    measured: 'the flood itself',
    value: `${JSON.stringify(statuses)}; stores beside it: p50 ${round(sent.p50Ms)} ms, p99 ${round(sent.p99Ms)} ms`,
    aim: '',
    isReached: undefined,
  });
}
