import { availableParallelism } from 'node:os';
import { buildForms } from '../forms/build.ts';
import { chosenSettings, recordServer, settingsDigest } from './boot/audit-record.ts';
import { bannerOf } from './boot/banner.ts';
import { forbidCoreFiles } from './boot/core-files.ts';
import { ensureFirstAccount } from './boot/first-account.ts';
import { createHttpParts, httpConfigOf } from './boot/http.ts';
import { type AnnouncedListener, openConfiguredListener, withFreePort } from './boot/listener.ts';
import { openConfigured, type Session } from './boot/open.ts';
import { createStop } from './boot/stop.ts';
import { openTelemetry, type Telemetry } from './boot/telemetry.ts';
import { type Config, loadConfig, processEnv } from './config/config.ts';
import { ConfigError } from './config/reader.ts';
import { StartError } from './core/errors.ts';
import type { Health } from './services/admin/health.ts';

async function main(): Promise<void> {
  const config = withFreePort(loadConfig(processEnv(), process.execArgv));
  forbidCoreFiles();
  const telemetry = openTelemetry(config);
  const { log, metrics, traces, recordEvent } = telemetry;
  const http = httpConfigOf(config);
  const bundles = await buildForms();
  const opened = await openConfigured(config, telemetry);
  const { vault, unsafe } = opened;
  metrics.watch(vault.figures);
  const httpParts = createHttpParts(vault, {
    ...{ http, bundles, unsafe, metrics, stagingUrl: config.stagingUrl },
    tracing: traces?.tracing,
    log: log.write,
  });
  const { health } = httpParts;
  health.hold('starting');
  const listener = await openConfiguredListener(config, httpParts, vault);
  // After the port is taken, so that a failed start never creates an account whose password was not shown.
  const first = await ensureFirstAccount(vault, config.bootstrap);
  await recordServer(vault, 'server.start', config);
  health.release();
  recordEvent('started', {
    cores: availableParallelism(),
    settings: chosenSettings(config),
    settings_digest: settingsDigest(config),
  });
  log.flush();
  process.stdout.write(bannerOf(config, first, listener.isShared));
  vault.background.start();
  stopOnSignal({ config, telemetry, opened, listener, health });
}

/** Stops the server at SIGTERM or SIGINT; see `createStop`. */
function stopOnSignal({
  config,
  telemetry: { log, traces, recordEvent },
  opened: { vault, close },
  listener,
  health,
}: {
  readonly config: Config;
  readonly telemetry: Telemetry;
  readonly opened: Session;
  readonly listener: AnnouncedListener;
  readonly health: Health;
}): void {
  const stop = createStop({
    drainSeconds: config.drainSeconds,
    startDraining: () => {
      health.hold('draining');
      listener.startDraining();
    },
    close: listener.close,
    releaseJobs: vault.services.jobs.release,
    end: async () => {
      vault.background.stop();
      await recordServer(vault, 'server.stop', config).catch(() => undefined);
      await vault.services.audit.flush(true);
      await vault.checkpoint();
      await close();
      await traces?.close();
    },
    recordEvent,
    flush: log.flush,
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => stop(signal));
  }
}

/** The lines for a failed start. The message of an unknown error may hold data; its stack names the place. */
function failureText(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) {
    return error.message;
  }
  return error instanceof Error ? `${error.name} ${error.stack?.split('\n')[1]?.trim() ?? ''}` : 'error';
}

main().catch((error: unknown) => {
  process.stderr.write(failureText(error).replaceAll(/^/gm, 'cardvault: ').concat('\n'));
  process.exit(1);
});
