/**
 * Checks deploy/ with the tools of those who will read it, as far as they are on the PATH: promtool (in Debian's package
 * prometheus) checks and runs the rules for alerts, and parses the dashboard and the metrics. A tool
 * that is missing is left out, in a line of its own; tests check the names without it.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderAll } from '../helpers/metrics.ts';

const root = join(import.meta.dir, '../..');
const folder = mkdtempSync(join(tmpdir(), 'cv-deploy-'));

interface Panels {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

/** The queries of the dashboard as rules, so that promtool parses them. */
async function writeDashboardRules(): Promise<string> {
  const { panels }: Panels = JSON.parse(readFileSync(join(root, 'deploy/grafana/cardvault.json'), 'utf8'));
  const rules = panels
    .flatMap(({ targets }) => targets)
    .map(({ expr }, at) => ({ record: `panel:${at}`, expr: expr.replaceAll('$__rate_interval', '5m') }));
  const path = join(folder, 'dashboard.yml');
  await Bun.write(path, Bun.YAML.stringify({ groups: [{ name: 'dashboard', rules }] }));
  return path;
}

/** A command with its arguments, and what it reads from its standard input. */
type Check = readonly [command: readonly [tool: string, ...string[]], input?: string];

async function isGood([command, input]: Check): Promise<boolean> {
  const [tool] = command;
  const path = Bun.which(tool);
  if (path === null) {
    process.stdout.write(`left out, ${tool} is not on the PATH: ${command.join(' ')}\n`);
    return true;
  }
  const child = Bun.spawn([path, ...command.slice(1)], {
    cwd: root,
    stdin: new TextEncoder().encode(input),
    stdout: 'inherit',
    stderr: 'inherit',
  });
  const isPassed = (await child.exited) === 0;
  process.stdout.write(`${isPassed ? 'passed' : 'FAILED'}: ${command.join(' ')}\n`);
  return isPassed;
}

const checks: readonly Check[] = [
  [['promtool', 'check', 'rules', 'deploy/prometheus-rules.yml']],
  [['promtool', 'test', 'rules', 'test/deploy/alerts.yml']],
  [['promtool', 'check', 'rules', await writeDashboardRules()]],
  [['promtool', 'check', 'metrics'], await renderAll()],
];
const results: boolean[] = [];
for (const check of checks) {
  results.push(await isGood(check));
}
rmSync(folder, { recursive: true, force: true });
process.exit(results.includes(false) ? 1 : 0);
