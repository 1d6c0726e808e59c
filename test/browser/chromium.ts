import { join } from 'node:path';
import { type Browser, type BrowserServer, chromium, type LaunchOptions } from 'playwright-core';

const LAUNCH_MS_MAX = 60_000;
const TOOLS = join(import.meta.dir, '..', '..', 'scripts', 'test', 'tools.sh');

/** The path of the Chromium that is installed; without one an error that says which command installs it. */
export function findChromium(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(['/bin/sh', TOOLS, '--find'], { env });
  if (exitCode !== 0) {
    throw new Error(stderr.toString().trim());
  }
  return stdout.toString().trim();
}

/**
 * Chromium for pages of this machine: it resolves no other name and does nothing in the background. It runs without its
 * sandbox, which root and most containers do not have, so that it must open pages of ours alone.
 */
function options(): LaunchOptions {
  return {
    executablePath: findChromium(),
    chromiumSandbox: false,
    // Beside other tests it may be starved for a while.
    timeout: LAUNCH_MS_MAX,
    args: [
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--metrics-recording-only',
      '--no-first-run',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
  };
}

/** Starts a Chromium of the caller's own. */
export function launchChromium(more: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({ ...options(), ...more });
}

/** Starts a Chromium that other processes reach at its `wsEndpoint()`. */
export function launchSharedChromium(): Promise<BrowserServer> {
  return chromium.launchServer({ ...options(), host: '127.0.0.1' });
}

/** Reaches the Chromium of another process; closing it closes what was opened here, and not that Chromium. */
export function connectChromium(endpoint: string): Promise<Browser> {
  return chromium.connect(endpoint, { timeout: LAUNCH_MS_MAX });
}
