import { randomBytes, randomInt } from 'node:crypto';
import { availableParallelism, freemem } from 'node:os';
import { KIND, type ThreadData } from '../../workers/jobs/kinds.ts';
import { createPool, type Pool } from '../../workers/pool/pool.ts';
import { StartError } from '../core/errors.ts';
import { createCrypto } from '../crypto/client.ts';
import type { PriceTable } from '../domain/account/price.ts';
import { type Accounts, createAccounts } from '../services/account/account.ts';
import type { AccountInfo } from '../services/account/record.ts';
import { type AdminService, createAdmin } from '../services/admin/admin.ts';
import { type Compliance, createCompliance } from '../services/admin/certificate.ts';
import { createPasswords, type PasswordService } from '../services/admin/password.ts';
import { createPreferences, type PreferenceService } from '../services/admin/preference.ts';
import { createUtility, type UtilityService } from '../services/admin/utility.ts';
import { type CaptureService, createCaptures } from '../services/capture/capture.ts';
import { type CertService, createCerts } from '../services/cert/cert.ts';
import type { Parts } from '../services/common/parts.ts';
import type { ServiceSettings } from '../services/common/settings.ts';
import { createEndpoints, type EndpointService } from '../services/endpoint/endpoint.ts';
import { createEndpointUse } from '../services/endpoint/use.ts';
import { createForms, type FormService } from '../services/form/form.ts';
import { createKeys, type Keys } from '../services/key/key.ts';
import type { ProxyService } from '../services/proxy/proxy.ts';
import { type Admission, createAdmission } from '../services/request/admission.ts';
import { createIdempotency } from '../services/request/idempotency.ts';
import { createMetering, type MeteringService } from '../services/request/metering.ts';
import { createRates, type RateService } from '../services/request/rate.ts';
import { createRetrievals, type RetrieveService } from '../services/retrieve/retrieve.ts';
import { createRules, type RuleService } from '../services/rule/rule.ts';
import { createCardMetadata } from '../services/vault/card.ts';
import { createVaultList } from '../services/vault/list.ts';
import { createReading } from '../services/vault/read.ts';
import { createStoring } from '../services/vault/store.ts';
import { createVault, type VaultService } from '../services/vault/vault.ts';
import { createAccountStore } from '../store/account.ts';
import { createComplianceStore } from '../store/admin.ts';
import { createAuditStore } from '../store/audit.ts';
import { createBinStore } from '../store/bin.ts';
import { createCertStore } from '../store/cert.ts';
import { createEndpointStore } from '../store/endpoint.ts';
import { createFormStore } from '../store/form.ts';
import { createIdempotencyStore } from '../store/idempotency.ts';
import {
  claimInstallation,
  type Installation,
  isHalfRestored,
  probeRedis,
  readInstallation,
} from '../store/installation.ts';
import { createItemStore } from '../store/item.ts';
import { createJobStore } from '../store/job.ts';
import { createKeyStore } from '../store/key.ts';
import { createCensusStore } from '../store/maintenance/census.ts';
import { createRecordStore } from '../store/maintenance/record.ts';
import { createSurveyStore } from '../store/maintenance/survey.ts';
import { createRateStore } from '../store/rate.ts';
import { openRedis, type RedisLink, type RedisTarget } from '../store/redis/client.ts';
import { readRedisFacts } from '../store/redis/facts.ts';
import { createRuleStore } from '../store/rule.ts';
import type { Figures } from '../telemetry/figures.ts';
import type { Observer } from '../telemetry/observer.ts';
import { type OpenAudit, openAudit } from './audit.ts';
import { openProxy, openThirdParties, type ProxyOptions, type RunningJobs } from './proxy.ts';

const BUCKETS = 16;
/** How fine the chances are that spread things in time. */
const CHANCES = 2 ** 32;
const HOT_QUEUE_MAX = 2_000;
const entry = new URL('../../workers/worker.ts', import.meta.url);

const HALF_RESTORED =
  'This Redis holds a restore that did not come to its end. Run the restore again with the same file, or empty this Redis.';

export interface VaultOptions {
  readonly redis: RedisTarget;
  /** Replicas that must have a write before it is acknowledged. */
  readonly replicas: number;
  readonly ring: { readonly writeId: string; readonly keys: ReadonlyMap<string, Uint8Array> };
  readonly argon2: ThreadData['argon2'];
  readonly workers: number;
  readonly settings: ServiceSettings;
  readonly proxy: ProxyOptions;
  readonly prices: PriceTable;
  readonly now?: () => number;
  /** Opens a vault that is being restored, which is refused otherwise. */
  readonly restoring?: boolean;
  /** Refuses, by throwing, a Redis that must not be written to. */
  readonly checkRedis?: (redis: RedisLink) => Promise<void>;
  /** Told of threads that died, and of what happens to asynchronous requests; never of what anybody sent. */
  readonly onEvent?: (event: string, fields: Readonly<Record<string, unknown>>) => void;
  /** Is told of the work while it is done. */
  readonly observer?: Observer;
}

const NOBODY: Observer = {
  count: () => undefined,
  step: (_name, work) => work(),
  redisCall: () => undefined,
  threadJob: () => undefined,
};

/** An open vault: its services, and what runs underneath. */
export interface OpenVault extends Pick<OpenAudit, 'audit' | 'auditVerifier' | 'checkpoint'> {
  readonly parts: Parts;
  readonly redis: RedisLink;
  readonly pool: Pool;
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly rates: RateService;
  readonly admission: Admission;
  readonly vault: VaultService;
  readonly endpoints: EndpointService;
  readonly captures: CaptureService;
  readonly retrievals: RetrieveService;
  readonly rules: RuleService;
  readonly certs: CertService;
  readonly forms: FormService;
  readonly proxy: ProxyService;
  readonly jobs: RunningJobs;
  readonly utility: UtilityService;
  readonly admin: AdminService;
  readonly passwords: PasswordService;
  readonly preferences: PreferenceService;
  readonly compliance: Compliance;
  readonly metering: MeteringService;
  /** What metrics ask for when they are asked. */
  readonly figures: Figures;
  /** Resolves when Redis takes a write. */
  readonly probe: () => Promise<void>;
  /** Finishes deletions of keys and accounts that were left unfinished. */
  readonly sweep: () => Promise<void>;
  /** Deletes an account with all its keys and data; undefined when there is none of this name. */
  readonly removeAccount: (name: string) => Promise<AccountInfo | undefined>;
  /** Lets work in hand finish, then lets go of everything. */
  readonly close: () => Promise<void>;
}

/** Argon2id at once: as memory allows, and one core stays free for everything else. */
const coldConcurrency = (memoryKiB: number): number =>
  Math.max(1, Math.min(availableParallelism() - 1, Math.floor(freemem() / (memoryKiB * 1_024))));

const KIND_NAMES = new Map(Object.entries(KIND).map(([name, kind]) => [Number(kind), name]));

/** The pool itself, unless somebody wants to know of each job. */
function watchedPool(pool: Pool, { threadCall }: Observer): Pool {
  if (threadCall === undefined) {
    return pool;
  }
  const run: Pool['run'] = async (job) => {
    const startedAt = performance.now();
    let hasFailed = true;
    try {
      const fields = await pool.run(job);
      hasFailed = false;
      return fields;
    } finally {
      threadCall(KIND_NAMES.get(job.kind) ?? 'job', startedAt, hasFailed);
    }
  };
  return { ...pool, run };
}

/** The installation's facts; made for an empty Redis, and checked against the master key in any case. */
async function openInstallation(redis: RedisLink, threadData: ThreadData): Promise<Installation> {
  const pool = createPool({ entry, threads: 1, workerData: threadData, queueMax: 8, coldConcurrency: 1 });
  try {
    await pool.ready();
    const crypto = createCrypto(pool);
    const found = await readInstallation(redis);
    const facts =
      found ??
      (await claimInstallation(redis, { buckets: BUCKETS, root: Buffer.from(await crypto.createRoot()) }));
    if (facts === undefined) {
      throw new StartError(HALF_RESTORED);
    }
    await crypto.checkRoot(facts.root).catch(() => {
      throw new StartError(
        'The master key (or VAULT_ENV) does not fit the data in this Redis. Start with the key that the vault was made with.',
      );
    });
    return facts;
  } finally {
    await pool.drain();
  }
}

/** Does one work after the other, those behind a failed one too; the first failure is thrown at the end. */
async function eachInSpite(works: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const work of works) {
    await work().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) {
    throw failures[0];
  }
}

/** Opens a vault on its Redis. Refuses, with a StartError, a master key that does not fit the data. */
export async function openVault(options: VaultOptions): Promise<OpenVault> {
  const { replicas, observer = NOBODY, onEvent } = options;
  const redis = await openRedis(options.redis, {
    replicas,
    onCall: observer.redisCall,
    onLink: (state) => onEvent?.(`redis_${state}`, {}),
  });
  try {
    await options.checkRedis?.(redis);
    if (options.restoring !== true && (await isHalfRestored(redis))) {
      throw new StartError(HALF_RESTORED);
    }
    return await openOn(redis, options);
  } catch (error) {
    await redis.close();
    throw error;
  }
}

async function openOn(redis: RedisLink, options: VaultOptions): Promise<OpenVault> {
  const { settings, argon2, observer = NOBODY } = options;
  const threadData: ThreadData = {
    env: settings.environment,
    writeId: options.ring.writeId,
    keys: [...options.ring.keys],
    processKey: randomBytes(32),
    argon2,
  };
  const note = (event: string, fields: Readonly<Record<string, unknown>> = {}): void =>
    options.onEvent?.(event, fields);
  const { root, buckets } = await openInstallation(redis, threadData);
  const pool = createPool({
    entry,
    threads: options.workers,
    workerData: { ...threadData, root },
    queueMax: HOT_QUEUE_MAX,
    coldConcurrency: coldConcurrency(argon2.memoryKiB),
    onEvent: ({ type, ...fields }) => note(type, fields),
    onJob: observer.threadJob,
  });
  await pool.ready();
  const crypto = createCrypto(watchedPool(pool, observer));
  const parts: Parts = {
    crypto,
    accountStore: createAccountStore(redis),
    keyStore: createKeyStore(redis, buckets),
    itemStore: createItemStore(redis, buckets),
    endpointStore: createEndpointStore(redis),
    ruleStore: createRuleStore(redis),
    formStore: createFormStore(redis),
    certStore: createCertStore(redis),
    idempotencyStore: createIdempotencyStore(redis),
    recordStore: createRecordStore(redis),
    surveyStore: createSurveyStore(redis),
    censusStore: createCensusStore(redis),
    binStore: createBinStore(redis),
    complianceStore: createComplianceStore(redis),
    jobStore: createJobStore(redis),
    rateStore: createRateStore(redis),
    auditStore: createAuditStore(redis),
    thirdParties: openThirdParties(options.proxy),
    now: options.now ?? Date.now,
    randomId: () => randomBytes(16).toString('base64url'),
    chance: () => randomInt(CHANCES) / CHANCES,
    masterKeys: { writeId: options.ring.writeId, ids: [...options.ring.keys.keys()] },
    cursorKey: await crypto.cursorKey(),
    observer,
    settings,
  };
  const metering = createMetering(parts);
  const rates = createRates(parts);
  const admission = createAdmission(() => performance.now());
  const { audit, auditVerifier, checkpoint, expire, catchUp } = openAudit(parts, note);
  const accounts = createAccounts(parts, audit);
  const idempotency = createIdempotency(parts);
  const keys = createKeys(parts, metering, idempotency);
  const rules = createRules(parts, metering);
  const cards = createCardMetadata(parts);
  const storing = createStoring(parts, cards);
  const reading = createReading(parts, cards);
  const trees = createVaultList(parts, { admission, metering, keys, cards, rules });
  const endpoints = createEndpoints(parts, metering, keys, audit);
  const forms = createForms(parts);
  const endpointUse = createEndpointUse(parts, { accounts, keys, rates, audit });
  const shared = { metering, rules, endpoints, endpointUse };
  const { proxy, jobs } = openProxy(parts, options.redis, {
    ...{ accounts, metering, idempotency, keys, rules, storing, note },
    requesters: options.proxy.requesters,
  });
  /** What a deleted account leaves behind; rules last, since a request of it may still be making one. */
  const removeRest = async (aid: string): Promise<void> => {
    await parts.jobStore.removeAll(aid);
    await parts.endpointStore.removeAll(aid);
    await parts.formStore.removeAll(aid);
    await keys.removeAll(aid);
    await parts.ruleStore.removeAll(aid);
    await parts.certStore.removeAll(aid);
    await metering.forget({ aid });
    await parts.accountStore.forgetGone(aid);
  };
  return {
    parts,
    redis,
    pool,
    accounts,
    audit,
    auditVerifier,
    checkpoint,
    keys,
    rates,
    admission,
    metering,
    vault: createVault(parts, { metering, idempotency, keys, rules, storing, reading, trees }),
    endpoints,
    captures: createCaptures(parts, { ...shared, idempotency, storing }),
    retrievals: createRetrievals({ ...shared, reading, trees }),
    rules,
    certs: createCerts(parts, metering),
    forms,
    proxy,
    jobs,
    utility: createUtility(parts, metering),
    admin: createAdmin(parts, { metering, keys, prices: options.prices }),
    passwords: createPasswords(parts, { accounts, metering }),
    preferences: createPreferences({ accounts, metering }),
    compliance: createCompliance(parts),
    figures: {
      threads: pool.stats,
      isRedisConnected: redis.isConnected,
      redis: () => readRedisFacts(redis),
      jobs: jobs.figures,
      work: admission.stats,
    },
    probe: () => probeRedis(redis),
    async sweep() {
      const live = await accounts.list();
      const gone = await parts.accountStore.listGone();
      await eachInSpite([
        ...live.map(
          ({ aid }) =>
            () =>
              keys.sweep(aid),
        ),
        ...live.map(
          ({ aid }) =>
            () =>
              endpoints.sweep(aid),
        ),
        ...live.map(
          ({ aid }) =>
            () =>
              forms.sweep(aid),
        ),
        ...live.map(
          ({ aid }) =>
            () =>
              jobs.resume(aid),
        ),
        ...gone.map((aid) => () => removeRest(aid)),
        () => expire(live.map(({ aid }) => aid)),
        catchUp,
      ]);
    },
    async removeAccount(name) {
      // Nobody signs in any more before the data goes; what an interruption leaves is swept later.
      const account = await accounts.remove(name);
      if (account) {
        await removeRest(account.aid);
      }
      return account;
    },
    async close() {
      await jobs.close();
      keys.close();
      await audit.flush(true);
      await pool.drain();
      await metering.flush().catch(() => undefined);
      await redis.close();
    },
  };
}
