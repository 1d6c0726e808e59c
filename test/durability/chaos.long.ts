import { expect, test } from 'bun:test';
import { runChaos } from './chaos.ts';
import { reportOf } from './report.ts';

const RUN_MS_MAX = 180_000;

test(
  'a short run loses nothing and doubles nothing',
  async () => {
    const options = { seed: 11, requests: 30, sendMs: 3_000, killMs: 5_000, killsMin: 2 };
    const result = await runChaos({ ...options, betweenMs: [200, 1_000] });
    const report = reportOf(result, options.seed, options.requests);
    expect([result.violations, report]).toEqual([[], expect.stringMatching(/violations +0 /)]);
    expect(result.evidence.kills.length + result.redisKills).toBeGreaterThanOrEqual(2);
    expect(result.evidence.jobs.length).toBeGreaterThan(15);
    expect(result.exitCode).toBe(0);
  },
  RUN_MS_MAX,
);
