import { writeSync } from 'node:fs';
import { runCommandLine } from './cli-run.ts';
import { loadConfig, processEnv } from './config.ts';

const exitCode = await runCommandLine(process.argv.slice(2), {
  out: (text) => void writeSync(1, text),
  err: (text) => void writeSync(2, text),
  open: async () => {
    const config = loadConfig(processEnv(), process.execArgv);
    // Imported when needed: a help text and a wrong command line do not load the server.
    const { buildOperator } = await import('./main-deps.ts');
    return buildOperator(config);
  },
});
process.exit(exitCode);
