import { availableParallelism } from 'node:os';
import { buildForms } from '../forms/build.ts';
import { version } from '../package.json';
import { keepCheckpoint, noteServer, settingsDigest } from './boot/audit-notes.ts';
import { forbidCoreFiles } from './boot/core-files.ts';
import { openConfiguredDoor, withFreePort } from './boot/listener.ts';
import {
  createConfiguredForms,
  ensureFirstAccount,
  type FirstAccount,
  openConfigured,
  openTraces,
} from './boot/open.ts';
import { keepPoolLow } from './boot/priority.ts';
import { createStop } from './boot/stop.ts';
import {
  type Config,
  ConfigError,
  describeConfig,
  loadConfig,
  processEnv,
  publicUrl,
} from './config/config.ts';
import { causeOf } from './core/error-cause.ts';
import { StartError, VaultError } from './core/errors.ts';
import type { Deps } from './http/plugins/app-parts.ts';
import { createHealth } from './services/admin/health.ts';
import { levelOfEvent } from './telemetry/events.ts';
import { createLogSink } from './telemetry/log-sink.ts';
import { createMetrics } from './telemetry/metrics.ts';

const SWEEP_MS = 10 * 60 * 1_000;
/** Behind one that failed: what it would have woken has waited long enough. */
const SWEEP_AGAIN_MS = 5_000;
/** Security logs are signed at least every minute; the work itself takes a part of it. */
const CHECKPOINT_MS = 30_000;
const BODY_TIMEOUT_MS = 30_000;

/** The lines that greet whoever starts the server: where it is, how to get in, and one thing to try. */
function banner(url: string, first: FirstAccount | undefined, config: Config, isShared: boolean): string {
  const lines = [
    '',
    `Cardvault (${config.env}) is ready.`,
    `  API   ${url}/v1`,
    `  Docs  ${url}/docs`,
    `  Guide ${url}/guide`,
  ];
  if (config.env === 'staging') {
    lines.push(`  Forms ${url}/forms`);
  }
  if (config.redis.kind === 'embedded') {
    lines.push(`  Data  ${config.dataDir} (back it up, with the master key)`);
  }
  if (isShared) {
    lines.push(
      '  Another server of this vault has this port already: both answer there, each with its own settings.',
    );
  }
  if (first) {
    const user = `${first.name}:${first.password.expose()}`;
    const passphrase = 'try-it-out-with-32-characters-ok';
    const card =
      '{"card_number":"4111111111111111","card_holder":"Ada Lovelace","expiry_month":"12","expiry_year":"2030"}';
    lines.push(
      '  First account, shown once:',
      `    name      ${first.name}`,
      `    password  ${first.password.expose()}`,
      '',
      'Make a key and store a card:',
      '',
      `  curl -su '${user}' ${url}/v1/key -d '{"user":"demo","passphrase":"${passphrase}"}'; echo; ` +
        `curl -su '${user}' '${url}/v1/vault?user=demo&reference=customer-1' ` +
        `-H 'X-Vault-Passphrase: ${passphrase}' -d '${card}'; echo`,
    );
  }
  lines.push('', 'Ctrl-C stops it. What is stored stays, and is there again at the next start.');
  return `${lines.join('\n')}\n\n`;
}

/** The settings that somebody made, secrets left out. */
const chosenSettings = (config: Config): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(describeConfig(config)).filter(([, value]) => !/^not set$| \(default\)$/.test(value)),
  );

async function main(): Promise<void> {
  const config = withFreePort(loadConfig(processEnv(), process.execArgv));
  forbidCoreFiles();
  const sink = createLogSink(process.stdout.fd);
  const metrics = createMetrics({ version, environment: config.env });
  const traces = openTraces(config, metrics);
  const note = (event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    metrics.observeEvent(event, fields);
    traces?.event(event, fields);
    sink.write({ time: new Date().toISOString(), level: levelOfEvent(event, fields), event, ...fields });
    keepCheckpoint(config, event, fields, () => note('audit_checkpoint_file'));
  };

  const formPages = createConfiguredForms(config, await buildForms());
  const opened = await openConfigured(config, note, traces?.observer ?? metrics.observer);
  const { vault } = opened;
  metrics.watch(vault.figures);
  const health = createHealth(
    {
      redis: () => vault.probe(),
      workers: async () => {
        if (vault.pool.stats().threadsAlive === 0) {
          throw new StartError('no thread is alive');
        }
      },
    },
    Date.now,
    opened.unsafe,
  );
  const deps: Deps = {
    http: {
      publicUrl: publicUrl(config, config.port),
      formsUrl: config.formsUrl,
      trustedProxies: config.trustedProxies,
      tls: config.tls !== undefined,
      bodyTimeoutMs: BODY_TIMEOUT_MS,
      checkReplies: false,
    },
    vault: vault.vault,
    keys: vault.keys,
    endpoints: vault.endpoints,
    captures: vault.captures,
    retrievals: vault.retrievals,
    rules: vault.rules,
    certs: vault.certs,
    forms: vault.forms,
    formPages,
    proxy: vault.proxy,
    utility: vault.utility,
    admin: vault.admin,
    passwords: vault.passwords,
    preferences: vault.preferences,
    compliance: vault.compliance,
    accounts: vault.accounts,
    rates: vault.rates,
    admission: vault.admission,
    audit: vault.audit,
    metering: vault.metering,
    health,
    metrics,
    tracing: traces?.tracing,
    log: sink.write,
    now: Date.now,
    newRequestId: vault.parts.randomId,
  };
  health.hold('starting');
  const door = await openConfiguredDoor(config, deps, { vault, note });
  // Behind the port, so that a start that fails never makes an account whose password nobody has seen.
  const first = await ensureFirstAccount(vault, config.bootstrap);
  await noteServer(vault, 'server.start', config);
  vault.jobs.start();
  keepPoolLow();
  health.release();
  note('started', {
    cores: availableParallelism(),
    settings: chosenSettings(config),
    settings_digest: settingsDigest(config),
  });
  sink.flush();
  process.stdout.write(banner(publicUrl(config, config.port), first, config, door.isShared));
  const sweep = async (): Promise<void> => {
    const startedAt = performance.now();
    const failure = await vault.sweep().then(
      () => undefined,
      (error: unknown) => (error instanceof VaultError ? { code: error.code } : causeOf(error)),
    );
    const isDone = failure === undefined;
    note('sweep', { ms: Math.round(performance.now() - startedAt), ...failure });
    // Behind the last one, however long that took.
    setTimeout(sweep, isDone ? SWEEP_MS : SWEEP_AGAIN_MS).unref();
  };
  void sweep();
  const checkpoint = async (): Promise<void> => {
    await vault.checkpoint();
    setTimeout(checkpoint, CHECKPOINT_MS).unref();
  };
  void checkpoint();

  const stop = createStop({
    drainSeconds: config.drainSeconds,
    leave: () => {
      health.hold('draining');
      door.leave();
    },
    close: door.close,
    rest: vault.jobs.rest,
    end: async () => {
      await noteServer(vault, 'server.stop', config).catch(() => undefined);
      await vault.audit.flush(true);
      await vault.checkpoint();
      await opened.close();
      await traces?.close();
    },
    note,
    flush: sink.flush,
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => stop(signal));
  }
}

main().catch((error: unknown) => {
  const known = error instanceof ConfigError || error instanceof StartError;
  // An unknown error's message may hold data; its stack names the place.
  const line = known
    ? error.message
    : error instanceof Error
      ? `${error.name} ${error.stack?.split('\n')[1]?.trim() ?? ''}`
      : 'error';
  process.stderr.write(line.replaceAll(/^/gm, 'cardvault: ').concat('\n'));
  process.exit(1);
});
