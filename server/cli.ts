import './core/native-addons.ts';

import { writeSync } from 'node:fs';
import { runCommandLine } from './cli/run.ts';
import { COMMANDS, openForCommand } from './commands.ts';
import { loadConfig, processEnv } from './config/config.ts';
import { errorCode } from './config/folder.ts';
import { closeMemory } from './core/process-memory.ts';

const PIPE_FULL_MS = 5;
const nap = new Int32Array(new SharedArrayBuffer(4));

/** Writes all of it, also to a pipe whose reader is slow. When the reader has gone, the command ends. */
function writeAll(fd: number, text: string | Uint8Array): void {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') {
        process.exit(1);
      }
      Atomics.wait(nap, 0, 0, PIPE_FULL_MS);
    }
  }
}

closeMemory();
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) {
      process.exit(1);
    }
    stopping.abort();
  });
}

const exitCode = await runCommandLine(process.argv.slice(2), COMMANDS, {
  out: (text) => writeAll(1, text),
  err: (text) => writeAll(2, text),
  isTerminal: process.stderr.isTTY,
  now: Date.now,
  signal: stopping.signal,
  config: () => loadConfig(processEnv(), process.execArgv),
  open: openForCommand,
});
process.exit(exitCode);
