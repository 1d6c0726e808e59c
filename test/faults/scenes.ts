/** What may fail under a vault that is working, and what must be so while it does and afterwards. */
import type { Chance } from '../fuzz/chance.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import type { Load } from './ledger.ts';
import type { FaultPlace } from './place.ts';

/** A place under load, and chance for when things fail. */
export interface Stage {
  readonly place: FaultPlace;
  readonly load: Load;
  readonly chance: Chance;
}

export interface Scene {
  readonly name: string;
  readonly rounds: number;
  readonly fsync?: 'everysec';
  /** Lets something fail; gives notes for the report. Throws with a sentence where a promise is broken. */
  readonly fail: (stage: Stage) => Promise<string>;
  /** The scene proves that the method finds losses: without one it has failed. */
  readonly mustLose?: boolean;
}

const RECOVERY_MS_MAX = 3_000;
/** A command waits for two seconds; the request around it is answered a little later. */
const ANSWER_MS_MAX = 6_000;
const MEMORY_MB_MAX = 100;
/** Ten rounds are twenty thousand writes that must be there afterwards. */
const ACKNOWLEDGED_BEFORE_CUT = 2_000;
const CUT_MS_MAX = 60_000;
/** A clock of whole seconds, and what passes meanwhile. */
const CLOCK_MS_MAX = 2_500;
const HOUR_MS = 3_600_000;
const REPEATED_USER = 'repeated';
const REPEATED_ITEMS = 5_000;
const REPEATED_CALLERS = 32;

function demand(isSo: boolean, otherwise: string): void {
  if (!isSo) {
    throw new Error(otherwise);
  }
}

function someLoad(chance: Chance, most = 1_500): Promise<void> {
  return Bun.sleep(300 + chance.int(most));
}

/** Waits until a write goes through again; gives the ms from now. */
async function recovery({ load }: Stage): Promise<number> {
  const since = performance.now();
  while (load.ends.lastWrite < since) {
    demand(performance.now() - since < RECOVERY_MS_MAX * 5, 'nothing could be written any more');
    await Bun.sleep(5);
  }
  return load.ends.lastWrite - since;
}

async function timely(stage: Stage): Promise<string> {
  const ms = await recovery(stage);
  demand(ms <= RECOVERY_MS_MAX, `writes went through only ${Math.round(ms)} ms after it was over`);
  return `back in ${Math.round(ms)} ms`;
}

function refused({ ends }: Load): number {
  return [...ends.counts].reduce((sum, [name, count]) => sum + (name.includes(' 503 ') ? count : 0), 0);
}

async function restarted(stage: Stage): Promise<string> {
  await stage.place.start();
  return `back in ${Math.round(await recovery(stage))} ms`;
}

/** The memory and the answers while nothing can be written. */
async function whileAway(stage: Stage, ms: number, begin: () => void, over: () => void): Promise<string> {
  const { place, load } = stage;
  const [before, refusedBefore] = [place.memoryMb(), refused(load)];
  begin();
  await Bun.sleep(ms);
  const grown = place.memoryMb() - before;
  over();
  const back = await timely(stage);
  demand(grown < MEMORY_MB_MAX, `the server grew by ${Math.round(grown)} MB`);
  demand(load.ends.slowestMs < ANSWER_MS_MAX, `a request took ${Math.round(load.ends.slowestMs)} ms`);
  demand(refused(load) > refusedBefore, 'nothing was refused');
  return `${back}, ${refused(load) - refusedBefore} refused, slowest ${Math.round(load.ends.slowestMs)} ms`;
}

async function powerCut(stage: Stage): Promise<string> {
  const since = performance.now();
  while (stage.load.ends.acknowledged < ACKNOWLEDGED_BEFORE_CUT) {
    demand(performance.now() - since < CUT_MS_MAX, 'too few writes went through');
    await Bun.sleep(5);
  }
  await someLoad(stage.chance);
  const lost = await stage.place.cutPower();
  return `${lost} bytes were not synced, ${await restarted(stage)}`;
}

async function stalled(stage: Stage, ms: number): Promise<string> {
  await someLoad(stage.chance);
  const { place } = stage;
  return whileAway(
    stage,
    ms,
    () => place.signalRedis('SIGSTOP'),
    () => place.signalRedis('SIGCONT'),
  );
}

/** Runs a job for each number from 1 to REPEATED_ITEMS, some at a time. */
async function forEachItem(job: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < REPEATED_ITEMS) {
      next += 1;
      await job(next);
    }
  };
  await Promise.all(Array.from({ length: REPEATED_CALLERS }, run));
}

/** Stores items once while replies are lost, then all again under the same keys: each of them is there once. */
async function repeated({ place }: Stage): Promise<string> {
  const { link, client } = place;
  await client.key(REPEATED_USER);
  const store = async (n: number): Promise<string> => {
    const body = { number: String(5_000_000_000 + n), n };
    const query = { user: REPEATED_USER, algorithm: 'uuid' };
    const sending = { query, body, passphrase: PASSPHRASE, idempotencyKey: `item ${n}` };
    return client.send('POST', '/vault', sending).then(
      ({ outcome }) => outcome,
      () => 'no answer',
    );
  };
  let unanswered = 0;
  link.loseEvery = 7;
  try {
    await forEachItem(async (n) => {
      unanswered += (await store(n)) === '200' ? 0 : 1;
    });
  } finally {
    link.loseEvery = 0;
  }
  const untilMs = performance.now() + CUT_MS_MAX;
  await forEachItem(async (n) => {
    for (let outcome = await store(n); outcome !== '200'; outcome = await store(n)) {
      demand(performance.now() < untilMs, `item ${n} could not be stored: ${outcome}`);
      // A request whose answer was lost keeps its key for half a minute.
      await Bun.sleep(250);
    }
  });
  const found: unknown[] = [];
  for await (const { data } of client.sdk.vault.decryptAll({ user: REPEATED_USER, passphrase: PASSPHRASE })) {
    found.push(data['n']);
  }
  const distinct = new Set(found).size;
  demand(link.lost() > 0 && unanswered > 0, 'no reply was lost');
  demand(
    found.length === REPEATED_ITEMS && distinct === REPEATED_ITEMS,
    `${found.length} items, ${distinct} different ones, of ${REPEATED_ITEMS} stores`,
  );
  return `${link.lost()} replies lost, ${unanswered} stores repeated, ${found.length} items`;
}

export const SCENES: readonly Scene[] = [
  {
    name: 'server killed',
    rounds: 10,
    fail: async (stage) => {
      await someLoad(stage.chance);
      await stage.place.killServer();
      return restarted(stage);
    },
  },
  {
    name: 'redis killed',
    rounds: 10,
    fail: async (stage) => {
      await someLoad(stage.chance);
      await stage.place.killRedis();
      await Bun.sleep(stage.chance.int(300));
      return restarted(stage);
    },
  },
  { name: 'power cut', rounds: 10, fail: powerCut },
  { name: 'power cut, control at everysec', rounds: 3, fsync: 'everysec', fail: powerCut, mustLose: true },
  { name: 'redis stalled for 5 s', rounds: 2, fail: (stage) => stalled(stage, 5_000) },
  { name: 'redis stalled for 30 s', rounds: 1, fail: (stage) => stalled(stage, 30_000) },
  {
    name: 'way to redis silent for 5 s',
    rounds: 2,
    fail: async (stage) => {
      await someLoad(stage.chance);
      const { link } = stage.place;
      const set = (isSilent: boolean): void => {
        link.isSilent = isSilent;
      };
      return whileAway(
        stage,
        5_000,
        () => set(true),
        () => set(false),
      );
    },
  },
  {
    name: 'every 7th reply lost',
    rounds: 2,
    fail: async (stage) => {
      const { link } = stage.place;
      link.loseEvery = 7;
      await Bun.sleep(6_000);
      link.loseEvery = 0;
      const back = await timely(stage);
      demand(link.lost() > 0, 'no reply was lost');
      return `${link.lost()} replies lost, ${back}`;
    },
  },
  { name: 'every 7th reply lost, stores repeated', rounds: 1, fail: repeated },
  {
    name: 'redis full',
    rounds: 2,
    fail: async (stage) => {
      const { raw } = stage.place;
      const used = Number(/^used_memory:(\d+)/m.exec(await raw.info('memory'))?.[1]);
      await raw.config('SET', 'maxmemory', String(used + 400_000));
      return whileAway(
        stage,
        5_000,
        () => undefined,
        () => void raw.config('SET', 'maxmemory', '0'),
      );
    },
  },
  {
    name: 'disk full',
    rounds: 2,
    fail: async (stage) => {
      const { place, load } = stage;
      await someLoad(stage.chance);
      const before = refused(load);
      place.shim.setDisk(20_000 + stage.chance.int(200_000));
      await Bun.sleep(4_000);
      place.shim.setDisk(-1);
      demand(refused(load) > before, 'the disk was never full');
      return restarted(stage);
    },
  },
  {
    name: 'clock jumps',
    rounds: 2,
    fail: async (stage) => {
      const { shim, raw } = stage.place;
      const jumps = Array.from({ length: 8 }, () => stage.chance.pick([-24, -1, -0.01, 0, 0.01, 1, 24, 240]));
      for (const hours of jumps) {
        shim.setClock(Math.round(hours * HOUR_MS));
        await Bun.sleep(400);
        const [seconds] = await raw.time();
        const offsetMs = Number(seconds) * 1_000 - Date.now();
        demand(Math.abs(offsetMs - hours * HOUR_MS) < CLOCK_MS_MAX, 'the clock did not jump');
      }
      shim.setClock(0);
      return `by ${jumps.join(', ')} h, ${await timely(stage)}`;
    },
  },
];
