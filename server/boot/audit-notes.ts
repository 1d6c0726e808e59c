import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { version } from '../../package.json';
import { type Config, describeConfig } from '../config/config.ts';
import type { OpenVault } from './assemble.ts';

/** A digest of all settings, secrets left out: it tells whether two starts had the same. */
export const settingsDigest = (config: Config): string =>
  createHash('sha256')
    .update(JSON.stringify(describeConfig(config)))
    .digest('hex')
    .slice(0, 16);

/** Writes into the operator's security log that this server starts, or stops, and under which settings. */
export const noteServer = (
  vault: Pick<OpenVault, 'audit' | 'parts'>,
  action: 'server.start' | 'server.stop',
  config: Config,
): Promise<void> =>
  vault.audit.record({
    ...{ aid: '', action, outcome: 'success', actor: 'vault', ip: '' },
    userAgent: `cardvault/${version}`,
    requestId: vault.parts.randomId(),
    object: `settings/${settingsDigest(config)}`,
  });

/** Appends a checkpoint of a security log to the file that the operator has named for them, if any. */
export const keepCheckpoint = (
  { auditCheckpointFile }: Pick<Config, 'auditCheckpointFile'>,
  event: string,
  fields: Readonly<Record<string, unknown>>,
  onFailure: () => void,
): void => {
  if (event !== 'audit_checkpoint' || auditCheckpointFile === undefined) {
    return;
  }
  try {
    appendFileSync(auditCheckpointFile, `${JSON.stringify(fields)}\n`, { mode: 0o600, flush: true });
  } catch {
    onFailure();
  }
};
