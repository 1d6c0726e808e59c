import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from './chromium.ts';

const script = join(import.meta.dir, '..', '..', 'scripts', 'test', 'tools.sh');
const HINT =
  'The tests need chromium. As root: apt-get update && apt-get install -y --no-install-recommends chromium';

/** A folder that stands for the PATH of a machine on which only what a test puts there is installed. */
let bin = '';
function command(name: string, lines: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${lines}\n`);
  chmodSync(join(bin, name), 0o755);
}
function calls(): string[] {
  const log = join(bin, 'log');
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
}
function run(): { code: number; out: string; err: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['/bin/sh', script], { env: { PATH: bin } });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}
/** An apt-get that notes how it is called and, for one package, puts a program in its place. */
function aptThatKnows(wanted: string): void {
  command(
    'apt-get',
    `echo "$*" >> '${bin}/log'
case "$*" in *update) exit 0;; *recommends*\\ ${wanted}) ;; *) exit 100;; esac
printf '#!/bin/sh\\n' > '${bin}/${wanted}' && chmod 755 '${bin}/${wanted}'`,
  );
}

beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'cv-bin-'));
  command('curl', '');
  command('openssl', '');
  for (const name of ['chmod', 'sed']) {
    symlinkSync(Bun.which(name) ?? '', join(bin, name));
  }
});
afterEach(() => rmSync(bin, { recursive: true, force: true }));

describe('what the tests need beside Bun', () => {
  test('is there: nothing is installed', () => {
    command('chromium', '');
    command('apt-get', `echo called >> '${bin}/log'`);
    expect(run()).toEqual({ code: 0, out: `${bin}/chromium\n`, err: '' });
    expect(calls()).toEqual([]);
  });

  test.each([
    ['by root', '0', 'chromium'],
    ['by who may become root without a password', '1000', 'chromium'],
    ['under the name that Ubuntu has for it', '0', 'chromium-browser'],
  ])('is installed %s', (_, user, name) => {
    command('id', `echo ${user}`);
    command('sudo', '[ "$1" = -n ] && shift && "$@"');
    command('true', '');
    aptThatKnows(name);
    expect(run()).toMatchObject({ code: 0, out: `${bin}/${name}\n` });
    expect(calls()).toContainValues(['-qq update', `-qq install -y --no-install-recommends ${name}`]);
  });

  test('cannot be installed: one line says what to do', () => {
    command('id', 'echo 1000');
    expect(run()).toEqual({ code: 1, out: '', err: `${HINT}\n` });
    command('id', 'echo 0');
    command('apt-get', 'exit 100');
    rmSync(join(bin, 'curl'));
    const { code, err } = run();
    expect(code).toBe(1);
    expect(err).toEndWith(
      'The tests need curl chromium. As root: apt-get update && apt-get install -y --no-install-recommends curl chromium\n',
    );
  });

  test('does not count when it does not run', () => {
    command('id', 'echo 1000');
    command('chromium', 'exit 1');
    expect(run().err).toBe(`${HINT}\n`);
  });

  test('is only looked for by the tests themselves, which fail with the same line', () => {
    command('id', 'echo 0');
    aptThatKnows('chromium');
    expect(() => findChromium({ PATH: bin })).toThrow(HINT);
    expect(calls()).toEqual([]);
  });
});
