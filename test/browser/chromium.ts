import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const TOOLS = join(import.meta.dir, '..', '..', 'scripts', 'test-tools.sh');

/** The path of the Chromium that is installed; without one an error that says which command installs it. */
export const findChromium = (env: Readonly<Record<string, string | undefined>> = process.env): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['/bin/sh', TOOLS, '--find'], { env });
  if (exitCode !== 0) {
    throw new Error(stderr.toString().trim());
  }
  return stdout.toString().trim();
};

/**
 * Starts Chromium for pages of this machine: it resolves no other name and does nothing in the background. It
 * runs without its sandbox, which root and most containers do not have, so that it must open pages of ours alone.
 */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findChromium(),
    chromiumSandbox: false,
    args: [
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--metrics-recording-only',
      '--no-first-run',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
  });
