import { KIND } from '../../workers/jobs/kinds.ts';
import type { Pool } from '../../workers/pool/pool.ts';
import { JOBS } from '../../workers/table.ts';

const KIND_NAMES = new Map([
  ...Object.entries(KIND).map(([name, kind]) => [Number(kind), name] as const),
  ...Object.values(JOBS).map(({ kind, name }) => [kind, name] as const),
]);

/** Receives each job that has ended: the name of its kind, when it started (`performance.now()`), and whether it failed. */
type ReportJob = (kind: string, startedAt: number, hasFailed: boolean) => void;

/** A pool that reports its jobs; the same pool when there is nobody to report to. */
export function observePool(pool: Pool, report: ReportJob | undefined): Pool {
  if (report === undefined) {
    return pool;
  }
  const run: Pool['run'] = async (job) => {
    const startedAt = performance.now();
    let hasFailed = true;
    try {
      const fields = await pool.run(job);
      hasFailed = false;
      return fields;
    } finally {
      report(KIND_NAMES.get(job.kind) ?? 'job', startedAt, hasFailed);
    }
  };
  return { ...pool, run };
}
