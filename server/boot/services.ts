import { asVaultError, failureFields, isFault } from '../core/failure.ts';
import type { Crypto } from '../crypto/client.ts';
import { createRetryPause } from '../domain/proxy/retry-pause.ts';
import { createAddressPolicy } from '../outbound/addresses.ts';
import { createThirdParties } from '../outbound/third-parties.ts';
import { createAccounts } from '../services/account/account.ts';
import { createAdmin } from '../services/admin/admin.ts';
import { createCompliance } from '../services/admin/certificate.ts';
import { createPasswords } from '../services/admin/password.ts';
import { createPreferences } from '../services/admin/preference.ts';
import { createUtility } from '../services/admin/utility.ts';
import { createAudit } from '../services/audit/audit.ts';
import { createCheckpoints } from '../services/audit/checkpoint.ts';
import { createLogHeads } from '../services/audit/heads.ts';
import { createAuditRetention } from '../services/audit/keep.ts';
import { createAuditStream } from '../services/audit/stream.ts';
import { createAuditVerifier } from '../services/audit/verify.ts';
import { createCaptures } from '../services/capture/capture.ts';
import { createSealing } from '../services/capture/sealing.ts';
import { createCerts } from '../services/cert/cert.ts';
import type { Clock, RandomFraction, RandomId } from '../services/common/clock.ts';
import type { Cursors } from '../services/common/cursor.ts';
import type { ServiceSettings } from '../services/common/settings.ts';
import { createConnections } from '../services/connection/connection.ts';
import { createEndpointAuth } from '../services/endpoint/auth.ts';
import { createEndpoints } from '../services/endpoint/endpoint.ts';
import { createHostedForms } from '../services/form/form.ts';
import { createKeys } from '../services/key/key.ts';
import { createKeyOpener } from '../services/key/open.ts';
import { createRecoveries } from '../services/key/recovery.ts';
import { ownedKeys } from '../services/maintenance/walk.ts';
import { createProxyJobs } from '../services/proxy/job.ts';
import { createJobListing } from '../services/proxy/job-list.ts';
import { createProxy } from '../services/proxy/proxy.ts';
import { createProxySending } from '../services/proxy/send.ts';
import { createCallBounds } from '../services/proxy/slots.ts';
import { createRelay } from '../services/relay/relay.ts';
import { createAdmission } from '../services/request/admission.ts';
import { createAttempts } from '../services/request/attempts.ts';
import { createIdempotency } from '../services/request/idempotency.ts';
import { createMetering } from '../services/request/metering.ts';
import { createRates } from '../services/request/rate.ts';
import { createRetrievals } from '../services/retrieve/retrieve.ts';
import { createRules } from '../services/rule/rule.ts';
import { createBatches } from '../services/vault/batch.ts';
import { createCardMetadata } from '../services/vault/card.ts';
import { createErasing } from '../services/vault/erase.ts';
import { createExpiry } from '../services/vault/expire.ts';
import { createVaultExport } from '../services/vault/export.ts';
import { createVaultList } from '../services/vault/list.ts';
import { createReading } from '../services/vault/read.ts';
import { createRejections } from '../services/vault/rejections.ts';
import { createRemoving } from '../services/vault/remove.ts';
import { createReplacing } from '../services/vault/replace.ts';
import { createStoring } from '../services/vault/store.ts';
import { createStoreBatch } from '../services/vault/store-batch.ts';
import { createVault } from '../services/vault/vault.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { Observer } from '../telemetry/observer.ts';
import { openAuditSink } from './audit-sink.ts';
import { createLazyJobQueue } from './job-queue.ts';
import type { SystemOptions } from './options.ts';
import type { Stores } from './stores.ts';

/** What all services are created from. */
interface Foundation {
  readonly options: SystemOptions;
  readonly settings: ServiceSettings;
  readonly stores: Stores;
  readonly crypto: Crypto;
  readonly cursors: Cursors;
  /** What is known of the root and of another one, while it is rotated. */
  readonly roots: { readonly hasOther: () => boolean; readonly wantedPepper: () => string | undefined };
  readonly observer: Observer;
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly random: RandomFraction;
}

/** The queue of asynchronous requests. */
interface Queued {
  readonly queue: ReturnType<typeof createLazyJobQueue>;
}

type Audits = ReturnType<typeof createAuditServices>;
type Access = ReturnType<typeof createAccess>;
type Items = ReturnType<typeof createItemServices>;
type Proxied = ReturnType<typeof createProxyServices>;

/** All services of a vault, by name. */
export type Services = ReturnType<typeof createServices>;

/**
 * Creates all services. Each receives only the functions that it uses; a group uses only groups that were created
 * before it.
 */
export function createServices(base: Foundation) {
  const { options, recordEvent } = base;
  const audits = createAuditServices(base);
  const queue: Queued['queue'] = createLazyJobQueue(
    options.redis,
    (name) => proxied.jobs.run(name),
    recordEvent,
  );
  const access = createAccess(base, audits, { queue });
  const items = createItemServices(base, access);
  const proxied = createProxyServices(base, { ...access, ...items, queue });
  return {
    ...audits,
    ...access,
    ...items,
    ...createEndpointServices(base, { ...audits, ...access, ...items, ...proxied }),
    ...proxied,
    ...createAccountServices(base, access),
  };
}

/** The security logs: recording, verification, checkpoints and retention. */
function createAuditServices({ crypto, cursors, recordEvent, now, randomId, settings, ...base }: Foundation) {
  const { auditStore, headsStore, itemStore, recordStore, sinkStore } = base.stores;
  const { auditSink } = base.options;
  const accounts = () => ownedKeys({ crypto, recordStore });
  const audit = createAudit({ crypto, auditStore, cursors, now, randomId, recordEvent });
  const announce = (checkpoint: object): void => recordEvent('audit_checkpoint', { ...checkpoint });
  const onFailure = (error: unknown): void => {
    if (isFault(asVaultError(error))) {
      recordEvent('audit_checkpoint_failed', failureFields(error));
    }
  };
  const onDamaged = (account: string): void => recordEvent('audit_integrity_failed', { account });
  return {
    audit,
    auditVerifier: createAuditVerifier({ crypto, auditStore }),
    auditCheckpoints: createCheckpoints({ crypto, auditStore, audit, now, announce, onFailure }),
    logHeads: createLogHeads({
      ...{ crypto, headsStore, itemStore, now, onFailure },
      accounts,
      announce: (checkpoint) => recordEvent('log_heads_checkpoint', { ...checkpoint }),
      onFault: (fault) => recordEvent('log_heads_fault', { ...fault }),
      onRecorded: auditSink && (({ aid, kid }, numbers) => sinkStore.name(aid, kid, numbers)),
    }),
    auditStream:
      auditSink &&
      createAuditStream({
        ...{ crypto, auditStore, sinkStore, accounts, recordEvent, randomId },
        deliver: openAuditSink(auditSink),
      }),
    auditRetention: createAuditRetention({ crypto, auditStore, audit, now, randomId, settings, onDamaged }),
  };
}

/** Accounts, keys, limits and idempotency: what a request passes before it reaches data. */
function createAccess(
  { crypto, cursors, roots, now, randomId, settings, observer, stores }: Foundation,
  { audit }: Audits,
  { queue }: Queued,
) {
  const { accountStore, credentialStore, keyStore, endpointStore, idempotencyStore, rateStore, jobStore } =
    stores;
  const metering = createMetering({ accountStore, now, observer });
  const idempotency = createIdempotency({ crypto, idempotencyStore, randomId, hasOtherRoot: roots.hasOther });
  const attempts = createAttempts({ accountStore, now, settings });
  const opener = createKeyOpener({
    ...{ crypto, keyStore, endpointStore, accountStore, attempts, now, settings, observer },
  });
  return {
    metering,
    idempotency,
    rates: createRates({ rateStore, now, settings }),
    admission: createAdmission(performance.now.bind(performance)),
    accounts: createAccounts({
      ...{ crypto, accountStore, credentialStore, attempts, audit, auditStore: stores.auditStore },
      ...{ wantedPepper: roots.wantedPepper, now, randomId, settings, observer },
    }),
    keys: createKeys({
      ...{ crypto, keyStore, endpointStore, jobStore, opener, metering, idempotency, cursors, randomId },
      dequeue: queue.dequeue,
    }),
    recoveries: createRecoveries({ crypto, keyStore, accountStore, attempts, opener, metering }),
  };
}

/** Items: storing, reading and listing them, and the rules that are applied to them. */
function createItemServices(
  { crypto, cursors, now, settings, stores: { itemStore, binStore, ruleStore } }: Foundation,
  { metering, idempotency, admission, keys }: Access,
) {
  const rules = createRules({ crypto, ruleStore, metering, settings });
  const cards = createCardMetadata({ binStore, now });
  const storing = createStoring({ crypto, itemStore, cards, now, settings });
  const replacing = createReplacing({ itemStore, storing });
  const reading = createReading({ crypto, itemStore, cards, now });
  const removing = createRemoving({ crypto, itemStore, admission, keys, metering });
  const rejections = createRejections({ crypto, itemStore, keys, now });
  const trees = createVaultList({
    ...{ crypto, itemStore, admission, metering, keys, cards, rules, rejections, cursors, now },
  });
  const storeBatches = createStoreBatch({
    ...{ crypto, itemStore, admission, metering, idempotency, keys, storing, settings, now },
  });
  const batches = createBatches({
    ...{ crypto, itemStore, admission, metering, idempotency, keys, rules, rejections, removing, now },
  });
  const erasing = createErasing({ crypto, itemStore, keys, removing, cursors });
  const vault = createVault({
    ...{
      crypto,
      itemStore,
      metering,
      idempotency,
      keys,
      rules,
      storing,
      replacing,
      reading,
      removing,
      rejections,
      trees,
      batches,
      exports: createVaultExport({ crypto, keys, trees }),
      erasing,
      storeBatches,
    },
    ...{ cursors, now },
  });
  return { rules, storing, replacing, reading, removing, rejections, trees, vault };
}

/** What works without an account's password: capture and retrieve endpoints, forms, and the end of items. */
function createEndpointServices(
  { crypto, now, randomId, settings, stores }: Foundation,
  services: Audits & Access & Items & Pick<Proxied, 'telling'>,
) {
  const { audit, metering, idempotency, rates, accounts, keys } = services;
  const { rules, storing, replacing, reading, rejections, trees, telling } = services;
  const { endpointStore, formStore, itemStore, keyStore, sealingStore } = stores;
  const sealing = createSealing({ crypto, sealingStore, now });
  const endpoints = createEndpoints({ crypto, endpointStore, metering, keys, audit, now, randomId });
  const endpointAuth = createEndpointAuth({ crypto, endpointStore, accounts, keys, rates, audit, now });
  return {
    endpoints,
    captures: createCaptures({
      ...{ crypto, itemStore, metering, idempotency, keys, rules, storing, replacing, rejections },
      ...{ endpoints, endpointAuth, sealing, telling, now },
    }),
    sealing,
    retrievals: createRetrievals({ metering, rules, reading, rejections, trees, endpoints, endpointAuth }),
    expiry: createExpiry({ crypto, itemStore, keyStore, keys, audit, now, randomId, settings }),
    forms: createHostedForms({ crypto, formStore, now, randomId, settings }),
  };
}

/** Requests to third parties: client certificates, the proxy, and its asynchronous requests. */
function createProxyServices(
  { crypto, cursors, now, randomId, random, settings, recordEvent, options, stores }: Foundation,
  { metering, idempotency, accounts, keys, rules, storing, rejections, queue }: Access & Items & Queued,
) {
  const { certStore, connectionStore, itemStore, jobStore, keyStore } = stores;
  const { proxyAllow, proxyCa, networkTokenRequesters: requesters, retryMs } = options;
  const retryPause = createRetryPause(random, retryMs);
  const thirdParties = createThirdParties({
    policy: createAddressPolicy({ allow: proxyAllow }),
    caPem: proxyCa,
  });
  const connections = createConnections({ crypto, connectionStore, thirdParties, now, settings });
  const certs = createCerts({ crypto, certStore, metering, randomId });
  const sending = createProxySending({
    ...{ crypto, itemStore, thirdParties, keys, rules, storing, credentials: certs, requesters },
    ...{ recordEvent, now, retryPause, settings },
  });
  const jobs = createProxyJobs({
    ...{ crypto, jobStore, keyStore, thirdParties, accounts, sending, enqueue: queue.enqueue },
    ...{ recordEvent, now, randomId, random, retryPause },
  });
  const jobListing = createJobListing({
    ...{ crypto, jobStore, keys, jobs, cursors, metering, requesters, recordEvent, now, randomId, settings },
    dequeue: queue.dequeue,
  });
  const calls = createCallBounds();
  const proxied = createProxy({
    ...{
      crypto,
      connections,
      itemStore,
      jobStore,
      thirdParties,
      metering,
      idempotency,
      keys,
      rules,
      sending,
      jobs,
    },
    ...{ rejections, calls, recordEvent, now, randomId, settings },
  });
  // No new job starts once `close` has been called; `finish` then waits for those in flight.
  const end = (finish: () => Promise<void>) => async (): Promise<void> => {
    jobs.close();
    await finish();
  };
  return {
    certs,
    connections,
    relay: createRelay({
      ...{ crypto, connections, itemStore, keys, certs, thirdParties, metering, sending, rejections },
      ...{ calls, recordEvent, now },
    }),
    ...proxied,
    jobListing,
    /**
     * Asynchronous requests of this server. `release` finishes those in flight and leaves queued ones to other
     * servers.
     */
    jobs: {
      start: queue.start,
      run: jobs.run,
      resume: jobs.resume,
      release: end(queue.rest),
      close: end(queue.close),
      figures: { queued: queue.waiting, inFlight: jobs.inFlight },
    },
  };
}

/** What an account can read and change about itself, and the operator's documents. */
function createAccountServices(
  { crypto, now, randomId, stores: { accountStore, itemStore, complianceStore }, options }: Foundation,
  { metering, accounts, keys }: Access,
) {
  return {
    admin: createAdmin({ itemStore, metering, keys, prices: options.prices, now }),
    passwords: createPasswords({ accountStore, accounts, metering }),
    preferences: createPreferences({ accounts, metering }),
    compliance: createCompliance({ crypto, complianceStore, randomId }),
    utility: createUtility({ crypto, metering }),
  };
}
