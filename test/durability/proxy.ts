/**
 * Kills servers and their Redis while asynchronous requests go to a third party that mostly fails, and checks that
 * none is lost and none is doubled: `bun test/durability/proxy.ts [--seed N] [--requests N] [--seconds N]`.
 */
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runChaos } from './chaos.ts';
import { reportOf } from './report.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    requests: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
    log: { type: 'string' },
  },
});
const seed = Number(values.seed ?? randomInt(1_000_000));
const requests = Number(values.requests);
const killMs = Number(values.seconds) * 1_000;
if (![seed, requests, killMs].every((value) => Number.isSafeInteger(value) && value >= 0)) {
  process.stderr.write('--seed, --requests and --seconds take whole numbers\n');
  process.exit(2);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // What was started ends with this process, which a signal alone would not see to.
  process.once(signal, () => process.exit(1));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
say(`Seed ${seed}: ${requests} requests, ${values.seconds} s of killing.`);
const result = await runChaos({
  ...{ seed, requests, killMs, say },
  sendMs: killMs / 2,
  betweenMs: [500, 4_000],
});
say(reportOf(result, seed, requests));
if (values.log !== undefined) {
  writeFileSync(values.log, result.printed, { mode: 0o600 });
}
process.exit(result.violations.length === 0 && result.exitCode === 0 ? 0 : 1);
