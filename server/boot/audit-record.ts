import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { version } from '../../package.json';
import { type Config, describeConfig } from '../config/config.ts';
import type { System } from './assemble.ts';

/** The settings that the operator has made, without secrets. */
export function chosenSettings(config: Config): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(describeConfig(config)).filter(([, value]) => !/^not set$| \(default\)$/.test(value)),
  );
}

/** A digest of all settings, without secrets: it tells whether two starts had the same. */
export function settingsDigest(config: Config): string {
  return createHash('sha256')
    .update(JSON.stringify(describeConfig(config)))
    .digest('hex')
    .slice(0, 16);
}

/** Records in the operator's security log that this server starts or stops, and under which settings. */
export function recordServer(
  { services, randomId }: Pick<System, 'services' | 'randomId'>,
  action: 'server.start' | 'server.stop',
  config: Config,
): Promise<void> {
  return services.audit.record({
    ...{ aid: '', action, outcome: 'success', actor: 'vault', ip: '' },
    userAgent: `cardvault/${version}`,
    requestId: randomId(),
    object: `settings/${settingsDigest(config)}`,
  });
}

/** Appends a checkpoint of a security log to the file that the operator has named for them, if any. */
export function appendCheckpoint(
  path: string | undefined,
  checkpoint: Readonly<Record<string, unknown>>,
  onFailure: () => void,
): void {
  if (path === undefined) {
    return;
  }
  try {
    appendFileSync(path, `${JSON.stringify(checkpoint)}\n`, { mode: 0o600, flush: true });
  } catch {
    onFailure();
  }
}
