import { expect, test } from 'bun:test';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SINK = join(import.meta.dir, '../../server/telemetry/log-sink.ts');
const LINES = 4_000;
const WRITERS = 3;

/** A process that writes lines of its own to its output, as fast as it can. */
const WRITER = `
  const { createLogSink } = await import(${JSON.stringify(SINK)});
  const log = createLogSink(1);
  for (let at = 0; at < ${LINES}; at++) {
    log.write({ writer: process.argv.at(-1), at, filled: 'x'.repeat(at % 700) });
  }
  log.flush();
`;

test('lines of several processes on one pipe stay whole, name their process, and each keeps its order', async () => {
  const path = join(tmpdir(), `cv-log-${process.pid}`);
  const file = openSync(path, 'w', 0o600);
  // A shell gives all writers the same pipe; its reader is slow at first, so that the pipe fills up.
  const writers = Array.from({ length: WRITERS }, (_, at) => `"$BUN" -e "$WRITER" ${at} &`).join(' ');
  const child = Bun.spawn(['sh', '-c', `{ ${writers} wait; } | { sleep 0.5; cat; }`], {
    env: { ...process.env, BUN: process.execPath, WRITER },
    stdio: ['ignore', file, 'inherit'],
  });
  expect(await child.exited).toBe(0);
  closeSync(file);
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  rmSync(path);
  const seen = Array.from({ length: WRITERS }, () => 0);
  const pids = new Map<number, Set<number>>();
  for (const line of lines) {
    const { writer, at, filled, pid } = JSON.parse(line);
    pids.set(writer, (pids.get(writer) ?? new Set()).add(pid));
    expect([at, filled.length]).toEqual([seen[writer], at % 700]);
    seen[writer] = at + 1;
  }
  expect(seen).toEqual(Array.from({ length: WRITERS }, () => LINES));
  expect([...pids.values()].map(({ size }) => size)).toEqual(Array.from({ length: WRITERS }, () => 1));
  expect(new Set([...pids.values()].flatMap((each) => [...each])).size).toBe(WRITERS);
});
