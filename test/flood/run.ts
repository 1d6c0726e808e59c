/**
 * Floods a server on sockets and measures what it leaves to others: `bun run bench:flood [--seconds N] [--only a,b]
 * [--listed N]`. Prints a table and writes `bench-results/flood.json`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeFolder, runMain } from '../bench/processes.ts';
import { renderTable } from '../bench/report.ts';
import { startVault } from '../bench/servers.ts';
import { FLOODS } from './scenes.ts';
import { prepare, type Row, type World } from './traffic.ts';
import { makeAccounts } from './world.ts';

const RESULTS = resolve(import.meta.dir, '../../bench-results');

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    listed: { type: 'string', default: '50000' },
    only: { type: 'string', default: Object.keys(FLOODS).join(',') },
  },
});

function verdict({ isReached }: Row): string {
  return isReached === undefined ? '' : isReached ? 'yes' : 'NO';
}

async function main(): Promise<void> {
  const folder = makeFolder();
  // Senders name the addresses that they come from.
  const vault = await startVault(folder, { VAULT_TRUSTED_PROXIES: '127.0.0.1' });
  const rows: Row[] = [];
  const world: World = { vault, folder, seconds: Number(values.seconds), rows };
  try {
    await makeAccounts(vault, ['flood', 'small']);
    const prepared = await prepare(world, Number(values.listed));
    for (const name of values.only.split(',')) {
      const flood = FLOODS[name];
      if (flood === undefined) {
        throw new Error(`--only takes a list of: ${Object.keys(FLOODS).join(', ')}`);
      }
      await flood(world, prepared);
    }
  } finally {
    await vault.stop();
    mkdirSync(RESULTS, { recursive: true });
    writeFileSync(join(RESULTS, 'flood.json'), `${JSON.stringify(rows, undefined, 2)}\n`);
    const [load = 0] = loadavg();
    process.stdout.write(`\n${availableParallelism()} cores, load average ${load.toFixed(2)}\n\n`);
    const lines = rows.map((row) => [row.flood, row.measured, row.value, row.aim, verdict(row)]);
    process.stdout.write(
      `${renderTable({ head: ['Flood', 'Measured', 'Value', 'Aim', 'Reached'], rows: lines })}\n`,
    );
  }
}

runMain('flood', main);
