/** Phases: what is compared takes turns, round by round, so that a disturbance meets all of it. */
import { addSplits, type CpuSplit, withCpu } from './cpu.ts';
import type { Load } from './load.ts';
import type { BenchOptions } from './options.ts';
import type { Plan } from './plan.ts';
import type { Server } from './servers.ts';
import { median } from './stats.ts';

/** One connection has one request under way. */
export const CONNECTIONS = 32;
const OTHER_CONNECTIONS = [1, 8, 128] as const;

/** What came of one round. Some generators tell no percentiles, and some servers no CPU time. */
export interface Round {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly p999Ms?: number;
  readonly split?: CpuSplit;
}

/** One kind of request to one server. */
export interface Phase {
  /** `operation: server`. */
  readonly name: string;
  /** Whether it is measured with other numbers of connections too, where that is asked for. */
  readonly isScaled: boolean;
  readonly run: (seconds: number, connections: number) => Promise<Round>;
}

/** What came of a phase at one number of connections. */
export interface OperationRow {
  readonly name: string;
  readonly connections: number;
  /** Requests a second of each round: those of other phases in the same round are what to compare with. */
  readonly rates: readonly number[];
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly p999Ms?: number;
  /** Over all rounds. */
  readonly seconds: number;
  readonly requests: number;
  readonly split?: CpuSplit;
}

/** The phase of sending a plan's requests to a server. */
export function httpPhase(load: Load, name: string, server: Server, plan: Plan, isScaled = false): Phase {
  const run = async (seconds: number, connections: number): Promise<Round> => {
    const { result, split } = await withCpu({ serverPid: server.pid, redisPid: server.redisPid }, () =>
      load.forSeconds(server.port, plan, seconds, connections),
    );
    return { ...result, split: { ...split, load: result.cpuSeconds } };
  };
  return { name, isScaled, run };
}

export function summarize(name: string, connections: number, rounds: readonly Round[]): OperationRow {
  const times = (of: (round: Round) => number | undefined): number | undefined => {
    const found = rounds.flatMap((round) => of(round) ?? []);
    return found.length === 0 ? undefined : median(found);
  };
  const splits = rounds.flatMap(({ split }) => split ?? []);
  const [p50Ms, p99Ms, p999Ms] = [
    times((round) => round.p50Ms),
    times((round) => round.p99Ms),
    times((round) => round.p999Ms),
  ];
  return {
    name,
    connections,
    rates: rounds.map(({ requests, seconds }) => requests / seconds),
    ...(p50Ms === undefined ? {} : { p50Ms }),
    ...(p99Ms === undefined ? {} : { p99Ms }),
    ...(p999Ms === undefined ? {} : { p999Ms }),
    seconds: rounds.reduce((sum, { seconds }) => sum + seconds, 0),
    requests: rounds.reduce((sum, { requests }) => sum + requests, 0),
    ...(splits.length === 0 ? {} : { split: addSplits(splits) }),
  };
}

async function measureAt(
  phases: readonly Phase[],
  connections: number,
  rounds: number,
  seconds: number,
): Promise<OperationRow[]> {
  const measured = new Map<Phase, Round[]>(phases.map((phase) => [phase, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const phase of phases) {
      measured.get(phase)?.push(await phase.run(seconds, connections));
    }
  }
  return phases.map((phase) => summarize(phase.name, connections, measured.get(phase) ?? []));
}

/** Measures phases in turns with 32 connections, and those that are scaled with fewer and more. */
export async function comparePhases(
  phases: readonly Phase[],
  {
    seconds,
    rounds,
    warmUpSeconds,
    sections,
  }: Pick<BenchOptions, 'seconds' | 'rounds' | 'warmUpSeconds' | 'sections'>,
): Promise<OperationRow[]> {
  for (const phase of phases) {
    await phase.run(warmUpSeconds, CONNECTIONS);
  }
  const rows = await measureAt(phases, CONNECTIONS, rounds, seconds);
  const scaled = phases.filter(({ isScaled }) => isScaled);
  for (const connections of sections.has('connections') ? OTHER_CONNECTIONS : []) {
    rows.push(...(await measureAt(scaled, connections, rounds, seconds)));
  }
  return rows.toSorted((a, b) => a.connections - b.connections);
}
