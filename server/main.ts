import './core/native-addons.ts';

import { SupervisorLink } from './boot/processes/link.ts';
import { type Config, loadConfig, processEnv } from './config/config.ts';
import { ConfigError } from './config/reader.ts';
import { parseMasterKeyBytes } from './config/ring.ts';
import { StartError } from './core/errors.ts';
import { closeMemory } from './core/process-memory.ts';
import { describeRefusal, refusalOf } from './core/write-refusal.ts';
import { findFreePort } from './http/listen/port.ts';

/** Replaces each port 0 by a free port, which pages and documents contain before the listener is opened. */
function withFreePorts(config: Config): Config {
  const { host, port, admin } = config;
  return Object.freeze({
    ...config,
    port: port === 0 ? findFreePort(host) : port,
    admin: admin?.port === 0 ? Object.freeze({ ...admin, port: findFreePort(admin.host) }) : admin,
  });
}

/** A process of several reads the ring that a command has printed from its supervisor, which ran it. */
async function withPassedRing(config: Config): Promise<Config> {
  if (config.masterKeyCommand === undefined) {
    return config;
  }
  const bytes = await Bun.stdin.bytes();
  const masterKey = parseMasterKeyBytes(bytes);
  bytes.fill(0);
  return Object.freeze({ ...config, masterKey });
}

/** Serves in this process, or supervises several that do. Each loads only the code that it runs. */
async function main(): Promise<void> {
  // Before the settings are read, which contain keys.
  closeMemory();
  const link = SupervisorLink.open();
  const config = withFreePorts(loadConfig(processEnv(), process.execArgv));
  if (link === undefined && config.processes > 1) {
    const { supervise } = await import('./boot/run/supervise.ts');
    await supervise(config);
  } else {
    const { serve } = await import('./boot/run/serve.ts');
    await serve(link === undefined ? config : await withPassedRing(config), link);
  }
}

/** The lines for a failed start. The message of an unknown error may hold data; its stack names the place. */
function failureText(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) {
    return error.message;
  }
  const refusal = refusalOf(error);
  if (refusal !== undefined) {
    return describeRefusal(refusal);
  }
  return error instanceof Error ? `${error.name} ${error.stack?.split('\n')[1]?.trim() ?? ''}` : 'error';
}

main().catch((error: unknown) => {
  process.stderr.write(failureText(error).replaceAll(/^/gm, 'cardvault: ').concat('\n'));
  process.exit(1);
});
