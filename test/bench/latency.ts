/** How long requests take when few or many are under way at once. */
import type { Load } from './load.ts';
import type { Phase } from './phases.ts';

/** One connection has one request under way. */
export const CONCURRENCIES = [1, 8, 32, 128] as const;

/** What one kind of request did at one concurrency. */
export interface LatencyRow {
  readonly name: string;
  readonly connections: number;
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
}

/** Measures each phase at each concurrency, one after the other. */
export async function measureLatency(
  load: Load,
  phases: readonly Pick<Phase, 'name' | 'server' | 'plan'>[],
  seconds: number,
): Promise<LatencyRow[]> {
  const rows: LatencyRow[] = [];
  for (const { name, server, plan } of phases) {
    await load.forSeconds(server.port, plan, 1);
    for (const connections of CONCURRENCIES) {
      const {
        requests,
        seconds: took,
        p50Ms,
        p99Ms,
        p999Ms,
      } = await load.forSeconds(server.port, plan, seconds, connections);
      rows.push({ name, connections, rate: requests / took, p50Ms, p99Ms, p999Ms });
    }
  }
  return rows;
}
