import { expect, test } from 'bun:test';
import { runChaos } from './chaos.ts';
import { planOrders } from './orders.ts';
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
    // Each with an Idempotency-Key is made until it is accepted; how many of the others are depends on the kills.
    const repeated = planOrders(options.seed, options.requests, options.sendMs).filter(
      ({ idempotencyKey }) => idempotencyKey !== undefined,
    );
    const accepted = new Set(result.evidence.jobs.map(({ order }) => order.label));
    expect(repeated.length).toBeGreaterThan(10);
    expect(repeated.filter(({ label }) => !accepted.has(label))).toEqual([]);
    expect(result.exitCode).toBe(0);
  },
  RUN_MS_MAX,
);
