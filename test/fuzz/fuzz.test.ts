/**
 * Cases made by chance. Without settings the same 2,000 each time, which are fast enough for every change;
 * `bun run test:long` makes 50,000, and `bun run test:fuzz [cases] [seed]` a million others, of which it prints how to
 * make them again.
 */
import { describe, expect, test } from 'bun:test';
import { chanceOfCase } from './chance.ts';
import { FORMATS } from './formats.ts';
import { PARSERS } from './parsers.ts';
import { REQUESTS } from './requests.ts';
import type { OpenSuite, Suite } from './suite.ts';
import { WIRE } from './wire.ts';

const SUITES: readonly Suite[] = [FORMATS, PARSERS, REQUESTS, WIRE];
const CASES = Number(process.env['VAULT_FUZZ_CASES'] ?? 2_000);
const SEED = Number(process.env['VAULT_FUZZ_SEED'] ?? 1);
/** Of one suite, all cases; a case that hangs ends it. */
const MS_MAX = 60_000 + 12 * CASES;
const FAULTS_MAX = 20;

/** The cases of a suite, some of them at once, and what was wrong with those that found a fault. */
async function runCases({ name, atOnce }: Suite, { run }: OpenSuite, cases: number): Promise<string[]> {
  const faults: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < cases && faults.length < FAULTS_MAX) {
      next += 1;
      const number = next;
      try {
        await run(chanceOfCase(SEED, name, number), number);
      } catch (error) {
        faults.push(`seed ${SEED}, ${name} ${number}: ${error instanceof Error ? error.message : error}`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return faults;
}

describe.each(SUITES.map((suite) => [suite.name, suite] as const))('%s', (_, suite) => {
  const cases = Math.round((CASES * suite.share) / 1_000);
  test(
    `${cases} cases`,
    async () => {
      const opened = await suite.open();
      const begun = performance.now();
      const faults = await runCases(suite, opened, cases);
      const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
      console.log(`${suite.name}: ${cases} cases of seed ${SEED} in ${seconds} s, ${faults.length} faults`);
      expect(faults).toEqual([]);
      await opened.finish();
    },
    MS_MAX,
  );
});

test('the shares of the suites are a whole', () => {
  expect(SUITES.reduce((sum, { share }) => sum + share, 0)).toBe(1_000);
});
