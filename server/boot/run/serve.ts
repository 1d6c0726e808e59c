import { availableParallelism } from 'node:os';
import { buildForms } from '../../../forms/build.ts';
import type { Config } from '../../config/config.ts';
import { chosenSettings, recordServer, settingsDigest } from '../audit-record.ts';
import { ensureFirstAccount } from '../first-account.ts';
import { createHttpDeps, httpConfigOf } from '../http.ts';
import { openConfiguredListener } from '../listener.ts';
import { openConfigured } from '../open.ts';
import type { SupervisorLink } from '../processes/link.ts';
import { preparePlace } from '../redis/process.ts';
import { openTelemetry } from '../telemetry.ts';
import { bannerOf } from './banner.ts';
import { missingAccounts } from './missing-accounts.ts';
import { createStop, DRAIN_MS } from './stop.ts';

/** Serves in this process until a signal ends it. Rejects with a `ConfigError` or `StartError` when it cannot start. */
export async function serve(config: Config, link: SupervisorLink | undefined): Promise<void> {
  const telemetry = openTelemetry(config);
  const { log, metrics, spans, tracer, recordEvent } = telemetry;
  const http = httpConfigOf(config);
  const bundles = await buildForms();
  const { vault, unsafe, close } = await openConfigured(
    link === undefined ? config : ownShare(config, link.slot),
    telemetry,
  );
  metrics.watch(vault.figures);
  const httpDeps = createHttpDeps(vault, {
    ...{ http, bundles, unsafe, stagingUrl: config.stagingUrl },
    metrics,
    scrape: link && (() => link.scrape()),
    tracer,
    log: log.write,
  });
  const { health } = httpDeps;
  const isFirst = link === undefined || link.isFirst;
  if (isFirst) {
    health.hold('starting');
  }
  const listener = await openConfiguredListener(config, httpDeps, vault);
  // After the port is taken, so that a failed start never creates an account whose password was not shown.
  const first = isFirst ? await ensureFirstAccount(vault, config.bootstrap) : undefined;
  await recordServer(vault, 'server.start', config);
  health.release();
  recordEvent('started', {
    cores: availableParallelism(),
    settings: chosenSettings(config),
    settings_digest: settingsDigest(config),
    port: config.port,
    ...(listener.isShared ? { shares_port: true } : {}),
  });
  const { flaw } = http.people;
  if (flaw !== undefined) {
    recordEvent('people_unavailable', { reason: flaw });
  }
  for (const account of isFirst ? await missingAccounts(vault, config.oidc) : []) {
    recordEvent('oidc_account_unknown', { account });
  }
  log.flush();
  // In production standard output is the log alone, which machines read line by line.
  if (isFirst && config.env === 'staging') {
    process.stdout.write(bannerOf(config, first, listener.isShared));
  }
  vault.background.start();
  const stop = createStop({
    drainSeconds: config.drainSeconds,
    finishMs: DRAIN_MS,
    startDraining: (hasSuccessor) => {
      if (!hasSuccessor) {
        health.hold('draining');
      }
      listener.startDraining();
    },
    close: listener.close,
    releaseJobs: () => vault.services.jobs.release(),
    end: async () => {
      vault.background.stop();
      await recordServer(vault, 'server.stop', config).catch(() => undefined);
      await vault.services.audit.flush(true);
      await vault.checkpoint(true);
      await close();
      await spans?.close();
      await link?.reportLast(await metrics.collect());
    },
    recordEvent,
    beforeExit: log.flush,
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => stop(signal));
  }
  link?.serve(
    () => metrics.collect(),
    (reason) => stop(reason, reason === 'retired'),
  );
}

/** The configuration of one of several processes: its share of the worker threads, and the Redis of its supervisor. */
function ownShare(config: Config, slot: number): Config {
  const { processes, workers, redis, dataDir } = config;
  return Object.freeze({
    ...config,
    workers: Math.max(1, Math.floor((workers + slot) / processes)),
    redis:
      redis.kind === 'embedded' ? { kind: 'socket' as const, path: preparePlace(dataDir).socketPath } : redis,
  });
}
