/** HTTP phases: what is compared takes turns, round by round, so that a disturbance meets all of it. */
import { addSplits, type CpuSplit, withCpu } from './cpu.ts';
import type { Load, LoadResult } from './load.ts';
import type { BenchOptions } from './options.ts';
import type { Plan } from './plan.ts';
import type { CpuRow } from './report.ts';
import type { Server, Vault } from './servers.ts';
import { type Aim, type Figure, median } from './stats.ts';

/** One kind of request to one server. */
export interface Phase {
  readonly name: string;
  readonly server: Server | Vault;
  readonly plan: Plan;
  readonly aim?: Aim;
}

/** What came of a phase. */
export interface Measured {
  readonly figure: Figure;
  readonly cpu: CpuRow;
}

interface Round {
  readonly load: LoadResult;
  readonly split: CpuSplit;
}

function rateOf({ load }: Round): number {
  return load.requests / load.seconds;
}

async function measureRound(load: Load, { server, plan }: Phase, seconds: number): Promise<Round> {
  const redisPid = 'redisPid' in server ? server.redisPid : undefined;
  const { result, split } = await withCpu({ serverPid: server.pid, redisPid }, () =>
    load.forSeconds(server.port, plan, seconds),
  );
  return { load: result, split: { ...split, load: result.cpuSeconds } };
}

function summarize(
  phase: Phase,
  rounds: readonly Round[],
  base: Phase,
  baseRounds: readonly Round[],
): Measured {
  const ratios = rounds.map((round, i) => rateOf(round) / rateOf(baseRounds[i] ?? round));
  const total = (of: (round: Round) => number): number => rounds.reduce((sum, round) => sum + of(round), 0);
  return {
    figure: {
      name: phase.name,
      value: median(rounds.map(rateOf)),
      unit: 'requests/s',
      ...(phase === base ? {} : { ratio: { to: base.name, value: median(ratios) } }),
      ...(phase.aim === undefined ? {} : { aim: phase.aim }),
      p50Ms: median(rounds.map(({ load }) => load.p50Ms)),
      p99Ms: median(rounds.map(({ load }) => load.p99Ms)),
    },
    cpu: {
      name: phase.name,
      seconds: total(({ load }) => load.seconds),
      requests: total(({ load }) => load.requests),
      split: addSplits(rounds.map(({ split }) => split)),
    },
  };
}

/** Measures phases in turns; the first is the one that the others are compared with. */
export async function comparePhases(
  load: Load,
  phases: readonly [Phase, ...Phase[]],
  { seconds, rounds, warmUpSeconds }: BenchOptions,
): Promise<Measured[]> {
  const measured = new Map<Phase, Round[]>(phases.map((phase) => [phase, []]));
  for (const phase of phases) {
    await measureRound(load, phase, warmUpSeconds);
  }
  for (let round = 0; round < rounds; round++) {
    for (const phase of phases) {
      measured.get(phase)?.push(await measureRound(load, phase, seconds));
    }
  }
  const [base] = phases;
  const baseRounds = measured.get(base) ?? [];
  return phases.map((phase) => summarize(phase, measured.get(phase) ?? [], base, baseRounds));
}
