import { Accounts } from '../account/accounts.ts';
import { Credentials } from '../account/credential/credentials.ts';
import { CredentialSignIn } from '../account/credential/sign-in.ts';
import { Passwords } from '../account/passwords.ts';
import { AccountPreferences } from '../account/preferences.ts';
import { AccountRecords } from '../account/records.ts';
import { SignIns } from '../account/sign-in.ts';
import { Audit } from '../audit/audit.ts';
import { AuditCheckpoints } from '../audit/checkpoints.ts';
import { AuditListing } from '../audit/listing.ts';
import { AuditQueue } from '../audit/queue.ts';
import { AuditRetention } from '../audit/retention.ts';
import { AuditVerifier } from '../audit/verifier.ts';
import { CallBounds, JobSlots } from '../call/bounds.ts';
import { createRetryPause } from '../call/outcome.ts';
import { CallPreparer } from '../call/prepare.ts';
import { CallSender } from '../call/send.ts';
import { Certificates } from '../certificate/certificates.ts';
import { Compliance } from '../compliance/compliance.ts';
import { Connections } from '../connection/connections.ts';
import type { Clock, RandomFraction, RandomId } from '../core/clock.ts';
import type { Cursors } from '../core/cursors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { EndpointAuth } from '../endpoint/auth.ts';
import { Captures } from '../endpoint/captures.ts';
import { Endpoints } from '../endpoint/endpoints.ts';
import { Retrievals } from '../endpoint/retrievals.ts';
import { SealingKeys } from '../endpoint/sealing-keys.ts';
import { CaptureWebhooks } from '../endpoint/webhooks.ts';
import { Exports } from '../export/exports.ts';
import { HostedForms } from '../form/forms.ts';
import type { Roots } from '../installation/roots.ts';
import { ProxyJobs } from '../job/jobs.ts';
import { JobListing } from '../job/listing.ts';
import { JobQueue } from '../job/queue.ts';
import { JobSteps } from '../job/steps.ts';
import { Keys } from '../key/keys.ts';
import { type KeyDependent, KeyOpener } from '../key/opener.ts';
import { KeyRecords } from '../key/records.ts';
import { Recoveries } from '../key/recoveries.ts';
import { Admission } from '../limits/admission.ts';
import { Attempts } from '../limits/attempts.ts';
import { Rates } from '../limits/rates.ts';
import { LogHeads } from '../log-heads/heads.ts';
import { RootRotation } from '../maintenance/rotate/root.ts';
import { KeyRotation } from '../maintenance/rotate/rotate.ts';
import { HeadsVerifier } from '../maintenance/verify/heads.ts';
import { BucketVerifier } from '../maintenance/verify/items.ts';
import { NameVerifier } from '../maintenance/verify/names.ts';
import { Rollbacks } from '../maintenance/verify/rollback.ts';
import { Verifier } from '../maintenance/verify/verify.ts';
import { Walk } from '../maintenance/walk.ts';
import { createAddressPolicy } from '../outbound/addresses.ts';
import { createThirdParties } from '../outbound/third-parties.ts';
import { ProxyService } from '../proxy/proxy.ts';
import { Relay } from '../relay/relay.ts';
import { Idempotency } from '../request/idempotency.ts';
import { Metering } from '../request/metering.ts';
import { Rules } from '../rule/rules.ts';
import type { SinkEvent } from '../sink/event.ts';
import { AuditStream } from '../sink/stream.ts';
import { streamAll, type WantedEvents } from '../sink/stream-all.ts';
import { openAuditSink } from '../sink/target.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { Observer } from '../telemetry/observer.ts';
import { UsageReports } from '../usage/usage.ts';
import { Utility } from '../utility/utility.ts';
import { Batches } from '../vault/batch/batches.ts';
import { StoreBatches } from '../vault/batch/store-batch.ts';
import { BatchWriter } from '../vault/batch/write-batch.ts';
import { CardMetadataSource } from '../vault/card-metadata.ts';
import { Erasure } from '../vault/erasure.ts';
import { ItemExpiry } from '../vault/expiry.ts';
import { VaultTrees } from '../vault/list/list.ts';
import { ItemPages } from '../vault/list/page.ts';
import { ListPlanner } from '../vault/list/plan.ts';
import { ItemReader } from '../vault/reader.ts';
import { Rejections } from '../vault/rejections.ts';
import { ItemRemover } from '../vault/remover.ts';
import { ItemReplacer } from '../vault/replacer.ts';
import { Vault } from '../vault/vault.ts';
import { ItemWriter } from '../vault/writer.ts';
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
  readonly roots: Roots;
  readonly observer: Observer;
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly random: RandomFraction;
}

/** The queue of asynchronous requests. */
interface Queued {
  readonly queue: JobQueue;
}

type Audits = ReturnType<typeof createAuditServices>;
type Access = ReturnType<typeof createAccess>;
type Items = ReturnType<typeof createItemServices>;
type Calls = ReturnType<typeof createCalls>;

/** All services of a vault, by name. */
export type Services = ReturnType<typeof createServices>;

/**
 * Creates all services. A group uses only groups that were created before it.
 */
export function createServices(base: Foundation) {
  const maintenance = createMaintenance(base);
  const audits = createAuditServices(base, maintenance);
  const queue = new JobQueue(base.options.redis, base.recordEvent);
  const access = createAccess(base, audits, { queue });
  const items = createItemServices(base, access);
  const calls = createCalls(base, { ...access, ...items, queue });
  return {
    ...maintenance,
    ...audits,
    ...access,
    ...items,
    ...createEndpointServices(base, { ...audits, ...access, ...items, ...calls }),
    ...createProxyServices(base, { ...access, ...items, ...calls, queue }),
    ...createAccountServices(base, access),
  };
}

/** Maintenance of records: walk, verification and rotations. */
function createMaintenance({ crypto, now, options, roots, stores }: Foundation) {
  const { accountStore, auditStore, censusStore, headsStore, itemStore, keyStore, recordStore } = stores;
  const { surveyStore } = stores;
  const { writeId } = options.ring;
  const isRootMoving = (): boolean => roots.current().stage !== 'steady';
  const walk = new Walk(recordStore, itemStore, auditStore, crypto);
  const rollbacks = new Rollbacks(recordStore, keyStore, auditStore, crypto, walk);
  return {
    walk,
    rollbacks,
    verifier: new Verifier(
      recordStore,
      keyStore,
      walk,
      new BucketVerifier(surveyStore, censusStore, itemStore, keyStore, crypto, walk, isRootMoving, now),
      new HeadsVerifier(headsStore, crypto, walk),
      rollbacks,
      new NameVerifier(recordStore, censusStore, keyStore, accountStore, walk),
    ),
    keyRotation: new KeyRotation(recordStore, surveyStore, itemStore, crypto, walk, writeId, now),
    rootRotation: new RootRotation(recordStore, censusStore, crypto, walk, roots, now),
  };
}

type Maintenance = ReturnType<typeof createMaintenance>;

/** The security logs: recording, verification, checkpoints and retention. */
function createAuditServices(
  { crypto, cursors, recordEvent, now, randomId, settings, ...base }: Foundation,
  { walk }: Maintenance,
) {
  const { auditStore, headsStore, itemStore, sinkStore } = base.stores;
  const { auditSink } = base.options;
  const accounts = () => walk.ownedKeys();
  const auditQueue = new AuditQueue(auditStore, crypto, recordEvent, now, randomId);
  const audit = new Audit(auditQueue, now);
  return {
    audit,
    auditListing: new AuditListing(auditStore, crypto, cursors),
    auditVerifier: new AuditVerifier(auditStore, crypto),
    auditCheckpoints: new AuditCheckpoints(auditStore, crypto, auditQueue, recordEvent, now),
    logHeads: new LogHeads(
      headsStore,
      itemStore,
      crypto,
      accounts,
      auditSink && ((aid, kid, numbers) => sinkStore.name(aid, kid, numbers)),
      recordEvent,
      now,
    ),
    auditStream:
      auditSink &&
      new AuditStream(
        auditStore,
        sinkStore,
        crypto,
        accounts,
        openAuditSink(auditSink),
        recordEvent,
        randomId(),
      ),
    /** Writes all events of logs, see `streamAll`. */
    streamAll: (wanted: WantedEvents, write: (events: readonly SinkEvent[]) => Promise<void>) =>
      streamAll({ ...base.stores, crypto, accounts, recordEvent }, wanted, write),
    auditRetention: new AuditRetention(auditStore, crypto, audit, recordEvent, settings, now, randomId),
  };
}

/** Accounts, keys, limits and idempotency: what a request passes before it reaches data. */
function createAccess(
  { crypto, cursors, roots, now, randomId, settings, observer, stores }: Foundation,
  { audit }: Audits,
  { queue }: Queued,
) {
  const { accountStore, credentialStore, keyStore, endpointStore, idempotencyStore, limitStore, jobStore } =
    stores;
  const metering = new Metering(stores.usageStore, observer, now);
  const idempotency = new Idempotency(idempotencyStore, crypto, () => roots.hasOther(), randomId);
  const attempts = new Attempts(limitStore, settings, now);
  const jobs: KeyDependent = {
    async removeOfKey(aid, kid) {
      for await (const ids of jobStore.removeOfKey(aid, kid)) {
        // An entry that stays in the queue is an id without a job: it ends when it is due.
        await Promise.all(ids.map((id) => queue.remove(`${aid}.${id}`).catch(() => undefined)));
      }
    },
  };
  const dependents = [endpointStore, jobs];
  const keyOpener = new KeyOpener(keyStore, crypto, dependents, attempts, observer, settings, now);
  const keyRecords = new KeyRecords(keyStore, keyOpener, metering);
  const accountRecords = new AccountRecords(accountStore, stores.auditStore, crypto, audit, now, randomId);
  const passwords = new Passwords(crypto, accountRecords, () => roots.wantedPepper(), now);
  const credentialSignIn = new CredentialSignIn(credentialStore, crypto, accountRecords, audit, now);
  return {
    metering,
    idempotency,
    credentials: new Credentials(credentialStore, crypto, credentialSignIn, randomId, now),
    rates: new Rates(limitStore, settings, now),
    admission: new Admission(performance.now.bind(performance)),
    accountRecords,
    accounts: new Accounts(
      accountStore,
      limitStore,
      crypto,
      accountRecords,
      passwords,
      metering,
      settings,
      now,
      randomId,
    ),
    signIns: new SignIns(crypto, accountRecords, passwords, credentialSignIn, attempts, audit, observer, now),
    keyOpener,
    keys: new Keys(
      keyStore,
      crypto,
      dependents,
      keyOpener,
      keyRecords,
      metering,
      idempotency,
      cursors,
      randomId,
    ),
    recoveries: new Recoveries(keyStore, crypto, keyOpener, keyRecords, attempts, metering),
  };
}

/** Items: storing, reading and listing them, and the rules that are applied to them. */
function createItemServices(
  { crypto, cursors, now, settings, stores: { itemStore, binStore, ruleStore } }: Foundation,
  { metering, idempotency, admission, keyOpener: keys }: Access,
) {
  const rules = new Rules(ruleStore, crypto, metering, settings);
  const cards = new CardMetadataSource(binStore, now);
  const storing = new ItemWriter(itemStore, crypto, cards, settings, now);
  const replacing = new ItemReplacer(itemStore, storing);
  const reading = new ItemReader(itemStore, crypto, keys, cards, now);
  const removing = new ItemRemover(itemStore, crypto, admission, keys, metering);
  const rejections = new Rejections(itemStore, crypto, keys, now);
  const pages = new ItemPages(itemStore, admission);
  const planner = new ListPlanner(itemStore, crypto, keys, cursors);
  const trees = new VaultTrees(
    itemStore,
    crypto,
    admission,
    metering,
    keys,
    rules,
    cards,
    rejections,
    planner,
    pages,
    now,
  );
  return {
    ...{ rules, storing, replacing, reading, removing, rejections, trees },
    vault: new Vault(
      itemStore,
      crypto,
      metering,
      idempotency,
      keys,
      rules,
      storing,
      replacing,
      reading,
      removing,
      rejections,
      cursors,
      now,
    ),
    storeBatches: new StoreBatches(
      crypto,
      admission,
      metering,
      idempotency,
      keys,
      storing,
      new BatchWriter(itemStore, crypto, admission, storing, now),
      settings,
      now,
    ),
    batches: new Batches(
      itemStore,
      crypto,
      admission,
      metering,
      idempotency,
      keys,
      rules,
      rejections,
      removing,
      pages,
      now,
    ),
    exports: new Exports(crypto, keys, trees),
    erasure: new Erasure(itemStore, crypto, keys, removing, cursors),
  };
}

/** Capture and retrieve endpoints, forms, and the expiry of items. */
function createEndpointServices(
  { crypto, now, randomId, settings, stores }: Foundation,
  services: Audits & Access & Items & Pick<Calls, 'webhooks'>,
) {
  const { audit, metering, idempotency, rates, accounts, keyOpener: keys } = services;
  const { rules, storing, replacing, reading, rejections, trees, webhooks } = services;
  const { endpointStore, formStore, itemStore, keyStore, sealingStore } = stores;
  const sealingKeys = new SealingKeys(sealingStore, crypto, now);
  const endpoints = new Endpoints(endpointStore, crypto, keys, audit, metering, randomId, now);
  const endpointAuth = new EndpointAuth(endpointStore, crypto, accounts, keys, rates, audit, now);
  return {
    endpoints,
    captures: new Captures(
      itemStore,
      crypto,
      keys,
      rules,
      storing,
      replacing,
      reading,
      rejections,
      endpoints,
      endpointAuth,
      sealingKeys,
      webhooks,
      metering,
      idempotency,
      now,
    ),
    sealingKeys,
    retrievals: new Retrievals(rules, reading, trees, rejections, endpoints, endpointAuth, metering),
    expiry: new ItemExpiry(itemStore, keyStore, crypto, audit, keys, settings, now, randomId),
    forms: new HostedForms(formStore, crypto, settings, randomId, now),
  };
}

/** Calls to third parties: client certificates, connections, and asynchronous requests. */
function createCalls(
  { crypto, now, randomId, random, settings, recordEvent, options, stores }: Foundation,
  {
    metering,
    accounts,
    keyOpener: keys,
    rules,
    storing,
    reading,
    rejections,
    queue,
  }: Access & Items & Queued,
) {
  const { certificateStore, connectionStore, csrStore, itemStore, jobStore, keyStore } = stores;
  const { proxyAllow, proxyCa, networkTokenRequesters: requesters, retryMs } = options;
  const retryPause = createRetryPause(random, retryMs);
  const thirdParties = createThirdParties({
    policy: createAddressPolicy({ allow: proxyAllow }),
    caPem: proxyCa,
  });
  const connections = new Connections(connectionStore, crypto, thirdParties, settings, now);
  const certificates = new Certificates(csrStore, certificateStore, crypto, metering, randomId);
  const sender = new CallSender(
    itemStore,
    crypto,
    thirdParties,
    keys,
    rules,
    storing,
    certificates,
    requesters,
    recordEvent,
    retryPause,
    settings,
    now,
  );
  const steps = new JobSteps(
    jobStore,
    keyStore,
    crypto,
    thirdParties,
    accounts,
    sender,
    recordEvent,
    retryPause,
    randomId,
    now,
  );
  const preparer = new CallPreparer(
    itemStore,
    crypto,
    thirdParties,
    keys,
    rules,
    connections,
    reading,
    rejections,
    metering,
    settings,
    now,
  );
  const jobs = new ProxyJobs(jobStore, steps, queue, new JobSlots(random, now), recordEvent, now);
  const webhooks = new CaptureWebhooks(crypto, preparer, jobs, randomId);
  return { certificates, connections, thirdParties, sender, preparer, jobs, webhooks };
}

/** Requests to third parties, and the listing of the asynchronous ones. */
function createProxyServices(
  { crypto, cursors, now, randomId, settings, recordEvent, options, stores }: Foundation,
  services: Access & Items & Calls & Queued,
) {
  const { metering, idempotency, keyOpener: keys, reading, rejections, queue } = services;
  const { certificates, connections, thirdParties, sender, preparer, jobs } = services;
  const bounds = new CallBounds();
  return {
    certificates,
    connections,
    jobs,
    relay: new Relay(
      stores.itemStore,
      crypto,
      thirdParties,
      keys,
      connections,
      certificates,
      reading,
      rejections,
      sender,
      bounds,
      metering,
      now,
    ),
    proxy: new ProxyService(
      crypto,
      thirdParties,
      keys,
      reading,
      rejections,
      preparer,
      sender,
      bounds,
      jobs,
      metering,
      idempotency,
      recordEvent,
      randomId,
      now,
    ),
    jobListing: new JobListing(
      stores.jobStore,
      crypto,
      keys,
      jobs,
      queue,
      options.networkTokenRequesters,
      metering,
      recordEvent,
      cursors,
      settings,
      randomId,
      now,
    ),
  };
}

/** What an account can read and change about itself, and the operator's documents. */
function createAccountServices(
  { crypto, now, randomId, stores: { complianceStore, itemStore }, options }: Foundation,
  { accountRecords, metering, keyOpener: keys }: Access,
) {
  return {
    usage: new UsageReports(itemStore, metering, keys, options.prices, now),
    preferences: new AccountPreferences(accountRecords, metering),
    compliance: new Compliance(complianceStore, crypto, randomId),
    utility: new Utility(crypto, metering),
  };
}
