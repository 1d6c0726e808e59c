/**
 * Checks deploy/ with the tools of those who will read it: promtool (of Debian's package prometheus) checks and runs the
 * rules for alerts, and parses the dashboard and the metrics; helm, where it is on the PATH, lints the chart, and must make of
 * it what the tests' own reading does; systemd-analyze verifies the unit, alone and with each addition. A tool that is missing is left
 * out, in a line of its own; tests check names and documents without it.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Glob } from 'bun';
import { renderAll } from '../helpers/metrics.ts';
import { byName, chartValues, documentsOf, renderChart } from './chart.ts';

const root = join(import.meta.dir, '../..');
const VENDORED = join(root, '.vendor/promtool');
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

/** The unit, alone and with each addition, in folders of their own: its program is one that is there, as on a machine that has it. */
async function writeUnits(): Promise<readonly string[]> {
  const unit = readFileSync(join(root, 'deploy/cardvault.service'), 'utf8').replace(
    '/usr/local/bin/bun server/main.ts',
    process.execPath,
  );
  const additions = [...new Glob('*.conf').scanSync({ cwd: join(root, 'deploy/examples') })].sort();
  return Promise.all(
    ['', ...additions].map(async (name) => {
      const path = join(folder, `unit-${name}`, 'cardvault.service');
      await Bun.write(path, unit);
      if (name !== '') {
        const addition = readFileSync(join(root, 'deploy/examples', name), 'utf8');
        await Bun.write(join(`${path}.d`, name), addition);
      }
      return path;
    }),
  );
}

/** A command, what it reads from its standard input, and what must be true of what it prints. */
interface Check {
  readonly command: readonly [tool: string, ...string[]];
  readonly input?: string;
  readonly accept?: (output: string) => boolean;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function isGood({ command, input = '', accept }: Check): Promise<boolean> {
  const [tool] = command;
  const path = Bun.which(tool, { PATH: `${process.env['PATH']}:${VENDORED}` });
  if (path === null) {
    say(`left out, there is no ${tool}: ${command.join(' ')}`);
    return true;
  }
  const child = Bun.spawn([path, ...command.slice(1)], {
    cwd: root,
    stdin: new TextEncoder().encode(input),
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const output = await child.stdout.text();
  const isPassed = (await child.exited) === 0 && (accept === undefined || accept(output));
  if (accept === undefined || !isPassed) {
    say(output.trimEnd());
  }
  say(`${isPassed ? 'passed' : 'FAILED'}: ${command.join(' ')}`);
  return isPassed;
}

function hasSameDocuments(output: string): boolean {
  return Bun.deepEquals(byName(documentsOf(output)), byName(renderChart(chartValues())), true);
}

// Where it can be had, it is; a machine without the distribution's packages, or without a network, goes without.
Bun.spawnSync(['sh', join(root, 'scripts/promtool-vendor.sh')], { stdio: ['ignore', 2, 2] });
const checks: readonly Check[] = [
  { command: ['promtool', 'check', 'rules', 'deploy/prometheus-rules.yml'] },
  { command: ['promtool', 'test', 'rules', 'test/deploy/alerts.yml'] },
  { command: ['promtool', 'check', 'rules', await writeDashboardRules()] },
  { command: ['promtool', 'check', 'metrics'], input: await renderAll() },
  { command: ['helm', 'lint', '--strict', 'deploy/helm'] },
  {
    command: ['helm', 'template', '--kube-version', '1.30.0', 'cardvault', 'deploy/helm'],
    accept: hasSameDocuments,
  },
  ...(await writeUnits()).map(
    (path): Check => ({
      command: ['systemd-analyze', 'verify', '--man=no', '--recursive-errors=one', path],
    }),
  ),
];
const results: boolean[] = [];
for (const check of checks) {
  results.push(await isGood(check));
}
rmSync(folder, { recursive: true, force: true });
process.exit(results.includes(false) ? 1 : 0);
