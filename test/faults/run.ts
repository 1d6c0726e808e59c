/**
 * Lets everything under a vault fail while it works, and checks that no acknowledged write is lost and no record is
 * half written: `bun test/faults/run.ts [--seed N] [--only NAME] [--rounds N]`. Needs `cc`.
 */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { renderTable } from '../bench/report.ts';
import { chanceOfCase } from '../fuzz/chance.ts';
import { startLoad } from './ledger.ts';
import { newPlace } from './place.ts';
import { SCENES, type Scene } from './scenes.ts';
import { buildShim } from './shim.ts';

interface Round {
  readonly acknowledged: number;
  readonly lost: readonly string[];
  readonly verify: string;
  readonly note: string;
  readonly broken: string | undefined;
}

const { values } = parseArgs({
  options: { seed: { type: 'string' }, only: { type: 'string', default: '' }, rounds: { type: 'string' } },
});
const seed = Number(values.seed ?? randomInt(1_000_000));
function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function runRound(scene: Scene, round: number, library: string): Promise<Round> {
  const place = await newPlace(library, scene.fsync);
  try {
    await place.start();
    const load = await startLoad(place, (writer) => chanceOfCase(seed, `${scene.name} ${round}`, writer));
    let [note, broken]: [string, string | undefined] = ['', undefined];
    try {
      note = await scene.fail({ place, load, chance: chanceOfCase(seed, scene.name, round) });
    } catch (error) {
      broken = error instanceof Error ? error.message : String(error);
    }
    await Bun.sleep(300);
    await load.stop();
    const lost = await load.check();
    return { acknowledged: load.ends.acknowledged, lost, verify: await place.verify(), note, broken };
  } finally {
    await place.remove();
  }
}

function isGood(scene: Scene, rounds: readonly Round[]): boolean {
  return (
    rounds.every(({ broken, verify }) => broken === undefined && verify.startsWith('ok')) &&
    rounds.some(({ lost }) => lost.length > 0) === (scene.mustLose ?? false)
  );
}

const chosen = SCENES.filter(({ name }) => name.includes(values.only));

async function main(): Promise<number> {
  if (chosen.length === 0) {
    say(`--only takes a part of: ${SCENES.map(({ name }) => name).join('; ')}`);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'cv-shim-'));
  const rows: string[][] = [];
  let failed = 0;
  try {
    const library = buildShim(folder);
    for (const scene of chosen) {
      const rounds: Round[] = [];
      for (let round = 1; round <= Number(values.rounds ?? scene.rounds); round += 1) {
        const done = await runRound(scene, round, library);
        rounds.push(done);
        say(
          `${scene.name} ${round}: ${done.acknowledged} acknowledged, ${done.lost.length} lost; ${done.broken ?? done.note}`,
        );
        if (!done.verify.startsWith('ok')) {
          say(done.verify);
        }
        for (const fault of scene.mustLose ? [] : done.lost.slice(0, 5)) {
          say(`  ${fault}`);
        }
      }
      const total = (of: (round: Round) => number): string =>
        String(rounds.reduce((sum, each) => sum + of(each), 0));
      const good = isGood(scene, rounds);
      failed += good ? 0 : 1;
      rows.push([
        scene.name,
        String(rounds.length),
        total(({ acknowledged }) => acknowledged),
        total(({ lost }) => lost.length),
        total(({ verify }) => (verify.startsWith('ok') ? 0 : 1)),
        good ? 'yes' : 'NO',
      ]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const head = ['What failed', 'Rounds', 'Acknowledged', 'Lost', 'Half written', 'As it must be'];
  say(`\nSeed ${seed}\n\n${renderTable({ head, rows })}`);
  return failed;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(1));
}
process.exit((await main()) === 0 ? 0 : 1);
