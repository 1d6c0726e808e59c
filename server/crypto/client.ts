/** The typed client of the worker threads: every sealing, opening and derivation goes through it. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Pool } from '../../workers/pool/pool.ts';
import { JOBS } from '../../workers/table.ts';
import type { Secret } from '../core/secret.ts';
import { createJobClient, type JobClient, type JobReport } from './jobs.ts';

export type {
  AuditEvent,
  AuditFilter,
  ChainFacts,
  ChainFault,
  Checkpoint,
  MarkFacts,
  OpenedEvent,
} from '../../workers/jobs/audit/jobs.ts';
export type { EndpointPolicy, EndpointRecords } from '../../workers/jobs/endpoint/jobs.ts';
export type {
  ActorParams,
  CardFacts,
  PageFields,
  StoredFacts,
  StoreParams,
} from '../../workers/jobs/item/jobs.ts';
export type { Opening, WarmMiss } from '../../workers/jobs/key/jobs.ts';
export type { LongLog, Reencryption } from '../../workers/jobs/maintenance/jobs.ts';
export type { FillProxyParams, JobFacts, OrderFacts, ProxyOutcome } from '../../workers/jobs/proxy/jobs.ts';
export type { RuleSet } from '../../workers/jobs/rule/jobs.ts';

/** A key's private halves as an unlock left them: they open only together with the passphrase. */
export type WarmBlob = Uint8Array;

/** The passphrase of a vault key, as its holder sent it. */
export type Passphrase = Secret<Uint8Array>;

/** A method for each job of the threads, and what is done with secrets on this side. */
export interface Crypto extends JobClient<typeof JOBS> {
  /** A digest of a secret and of what it belongs to, good for comparing within this process only. */
  digestSecret(context: readonly string[], secret: Secret<Uint8Array>): string;
  lengthOf(secret: Secret<Uint8Array>): number;
}

/** The client of the threads of a pool; `report` receives each job that has ended. */
export function createCrypto(pool: Pick<Pool, 'run'>, report?: JobReport): Crypto {
  const digestKey = randomBytes(32);
  return {
    ...createJobClient(pool, JOBS, report),
    digestSecret: (context, secret) =>
      createHmac('sha256', digestKey)
        .update(JSON.stringify(context))
        .update(secret.expose())
        .digest('base64'),
    lengthOf: (secret) => secret.expose().length,
  };
}
