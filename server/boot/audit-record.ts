import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { version } from '../../package.json';
import type { Config } from '../config/config.ts';
import type { System } from './assemble.ts';

/** The settings that differ from their defaults because the operator set them, without secrets. */
export function chosenSettings(config: Config): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(config.effective).filter(([, value]) => !/^not set$| \(default\)$/.test(value)),
  );
}

/**
 * The first 16 hex digits of SHA-256 over all effective settings, without secrets: equal for two starts with equal
 * settings.
 */
export function settingsDigest(config: Config): string {
  return createHash('sha256').update(JSON.stringify(config.effective)).digest('hex').slice(0, 16);
}

/**
 * Records the start or stop of this server in the operator's security log, with the digest of its settings (PCI DSS
 * 10.2.1.2 to 10.2.1.7). Rejects when the entry cannot be queued.
 */
export function recordServer(
  { services, randomId }: System,
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

/**
 * Appends a checkpoint of a security log, as one line of JSON, to the file that the operator configured; does nothing
 * without a path. The line is synced to disk. Calls `onFailure` instead of throwing.
 */
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
