import { randomInt } from 'node:crypto';
import { Accounts } from '../account/accounts.ts';
import { Credentials } from '../account/credential/credentials.ts';
import { CredentialSignIn } from '../account/credential/sign-in.ts';
import { CredentialStore } from '../account/credential/store.ts';
import { OIDC_CALLBACK, OidcSignIns } from '../account/oidc/oidc-sign-ins.ts';
import { Passkeys } from '../account/passkey/passkeys.ts';
import { Passphrases } from '../account/passkey/passphrases.ts';
import { WrapRecords } from '../account/passkey/wrap-records.ts';
import { Passwords } from '../account/passwords.ts';
import { Persons } from '../account/person/persons.ts';
import { PersonRecords } from '../account/person/records.ts';
import { PersonStore } from '../account/person/store.ts';
import { Platform } from '../account/platform.ts';
import { AccountPreferences } from '../account/preferences.ts';
import { type AccountInfo, AccountRecords } from '../account/records.ts';
import { ChallengeStore } from '../account/session/challenge-store.ts';
import { Challenges } from '../account/session/challenges.ts';
import { Sessions } from '../account/session/sessions.ts';
import { SessionStore } from '../account/session/store.ts';
import { SignIns } from '../account/sign-in.ts';
import { AccountStore } from '../account/store.ts';
import { Audit } from '../audit/audit.ts';
import { AuditCheckpoints } from '../audit/checkpoints.ts';
import { AuditListing } from '../audit/listing.ts';
import { AuditQueue } from '../audit/queue.ts';
import { AuditRetention } from '../audit/retention.ts';
import { AuditStore } from '../audit/store.ts';
import { AuditVerifier } from '../audit/verifier.ts';
import { BinStore } from '../bin-table/store.ts';
import { Forwarder } from '../call/forward.ts';
import { createRetryPause, createWebhookPause } from '../call/outcome.ts';
import { CallSender } from '../call/send.ts';
import { Certificates } from '../certificate/certificates.ts';
import { CertificateStore, CsrStore } from '../certificate/store.ts';
import { Compliance } from '../compliance/compliance.ts';
import { ComplianceStore } from '../compliance/store.ts';
import { Connections } from '../connection/connections.ts';
import { createRandomId } from '../core/clock.ts';
import { Cursors } from '../core/cursors.ts';
import { StartError } from '../core/errors.ts';
import { EndpointAuth } from '../endpoint/auth.ts';
import { Captures, CaptureWebhooks } from '../endpoint/captures.ts';
import { EndpointEvents } from '../endpoint/endpoint-events.ts';
import { Endpoints } from '../endpoint/endpoints.ts';
import { Retrievals } from '../endpoint/retrievals.ts';
import { SealingKeys } from '../endpoint/sealing-keys.ts';
import { EndpointStore, SealingStore } from '../endpoint/store.ts';
import { Events } from '../event/events.ts';
import { Receivers } from '../event/receivers.ts';
import { EventStore } from '../event/store.ts';
import { Subscriptions, WatchedKeys } from '../event/subscriptions.ts';
import { ExpiringThings } from '../expiring/expiring.ts';
import { ExpiringStore } from '../expiring/store.ts';
import { Exports } from '../export/exports.ts';
import { HostedForms } from '../form/forms.ts';
import { FormStore } from '../form/store.ts';
import { InboundCards } from '../inbound/cards.ts';
import { Inbounds } from '../inbound/inbounds.ts';
import { InboundReplies } from '../inbound/replies.ts';
import { InboundUses } from '../inbound/uses.ts';
import { Roots } from '../installation/roots.ts';
import { ServerStore } from '../installation/server-store.ts';
import { InstallationStore } from '../installation/store.ts';
import { KeyJobs, ProxyJobs } from '../job/jobs.ts';
import { JobListing } from '../job/listing.ts';
import { JobQueue } from '../job/queue.ts';
import { RetryWaits } from '../job/retry-waits.ts';
import { JobSteps } from '../job/steps.ts';
import { JobStore } from '../job/store/jobs.ts';
import { Keys } from '../key/keys.ts';
import { KeyOpener } from '../key/opener.ts';
import { KeyRecords } from '../key/records.ts';
import { Recoveries } from '../key/recoveries.ts';
import { KeyStore } from '../key/store.ts';
import { Attempts } from '../limits/attempts.ts';
import { Limiter } from '../limits/limiter.ts';
import { Rates } from '../limits/rates.ts';
import { LimitStore } from '../limits/store.ts';
import { LogHeads } from '../log-heads/heads.ts';
import { HeadsStore } from '../log-heads/store.ts';
import { RootRotation } from '../maintenance/rotate/root.ts';
import { KeyRotation } from '../maintenance/rotate/rotate.ts';
import { CensusStore } from '../maintenance/store/census.ts';
import { RecordStore } from '../maintenance/store/records.ts';
import { SurveyStore } from '../maintenance/store/survey.ts';
import { HeadsVerifier } from '../maintenance/verify/heads.ts';
import { BucketVerifier } from '../maintenance/verify/items.ts';
import { NameVerifier } from '../maintenance/verify/names.ts';
import { Rollbacks } from '../maintenance/verify/rollback.ts';
import { Verifier } from '../maintenance/verify/verify.ts';
import { Walk } from '../maintenance/walk.ts';
import { createAddressPolicy } from '../outbound/addresses.ts';
import { ThirdParties } from '../outbound/third-parties.ts';
import { CallPreparer } from '../proxy/prepare.ts';
import { ProxyService } from '../proxy/proxy.ts';
import type { RedisLink } from '../redis/client.ts';
import { readRedisStats } from '../redis/info.ts';
import { findRedis } from '../redis/open.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { NamedStore } from '../redis/records/named.ts';
import { Relay } from '../relay/relay.ts';
import { UsageFolding } from '../request/folding.ts';
import { Idempotency } from '../request/idempotency.ts';
import { IdempotencyStore } from '../request/idempotency-store.ts';
import { Metering } from '../request/metering.ts';
import { UsageStore } from '../request/usage-store.ts';
import { Rules } from '../rule/rules.ts';
import type { SinkEvent } from '../sink/event.ts';
import { SinkStore } from '../sink/store.ts';
import { AuditStream } from '../sink/stream.ts';
import { streamAll, type WantedEvents } from '../sink/stream-all.ts';
import { openAuditSink } from '../sink/target.ts';
import type { GaugeSources } from '../telemetry/gauges.ts';
import { NOOP_OBSERVER } from '../telemetry/observer.ts';
import { UsageReports } from '../usage/usage.ts';
import { Utility } from '../utility/utility.ts';
import { AccessListing } from '../vault/access.ts';
import { Batches } from '../vault/batch/batches.ts';
import { StoreBatches } from '../vault/batch/store-batch.ts';
import { BatchWriter } from '../vault/batch/write-batch.ts';
import { CardMetadataSource } from '../vault/card-metadata.ts';
import { ItemExpiry } from '../vault/expiry.ts';
import { VaultTrees } from '../vault/list/list.ts';
import { ItemPages } from '../vault/list/page.ts';
import { ListPlanner } from '../vault/list/plan.ts';
import { ItemReader } from '../vault/reader.ts';
import { Rejections } from '../vault/rejections.ts';
import { ItemRemover } from '../vault/remover.ts';
import { Reseals } from '../vault/reseals.ts';
import { SadRewrites } from '../vault/sad-rewrite.ts';
import { ItemStore } from '../vault/store/items.ts';
import { ReadingStore } from '../vault/store/readings.ts';
import { ResealStore } from '../vault/store/reseals.ts';
import { RewriteStore } from '../vault/store/sad-rewrite.ts';
import { Vault } from '../vault/vault.ts';
import { ItemWriter } from '../vault/writer.ts';
import { createBackground } from './background.ts';
import type { ObservedOptions, SystemOptions } from './options.ts';
import { removeAccount, sweep } from './sweep.ts';
import { capacityOf, HALF_RESTORED, openWorkers } from './workers.ts';

/** Random fractions are multiples of 2^-32: far finer than any pause or choice that they randomise. */
const FRACTIONS = 2 ** 32;

/** The open vault: its connection to Redis, worker threads, stores, services and recurring work. */
export type System = Awaited<ReturnType<typeof assemble>>;

/**
 * Assembles the system on its Redis: the composition root of the server, the command line and the tests. Rejects with
 * a `StartError` when the master key does not open the data, a restore is unfinished, or `checkRedis` rejects; Redis
 * is closed again in each case.
 */
export async function assemble(options: SystemOptions) {
  const { observer = NOOP_OBSERVER, recordEvent = () => undefined } = options;
  const { redis, target } = await findRedis(options.redis, {
    replicas: options.redisWait,
    onCall: observer.redisCall,
    onLink: (state) => recordEvent(`redis_${state}`),
    onRefusal: (reason) =>
      reason === undefined
        ? recordEvent('redis_accepts_writes')
        : recordEvent('redis_refuses_writes', { reason }),
  });
  try {
    await options.checkRedis?.(redis);
    return await assembleOn(redis, { ...options, redis: target, observer, recordEvent });
  } catch (error) {
    await redis.close();
    throw error;
  }
}

/**
 * Assembles the system on an open connection, in the order in which its parts need each other: threads and root keys,
 * stores, services by noun, recurring work.
 */
async function assembleOn(redis: RedisLink, options: ObservedOptions) {
  const { settings, ring, auditSink, observer, recordEvent, now = Date.now } = options;
  const randomId = createRandomId();
  const random = (): number => randomInt(FRACTIONS) / FRACTIONS;

  // Threads, and the root keys that they hold: read before any store is used.
  const installationStore = new InstallationStore(redis);
  if (options.restoring !== true && (await installationStore.isHalfRestored())) {
    throw new StartError(HALF_RESTORED);
  }
  const capacity = capacityOf(options);
  const limiter = new Limiter(capacity, performance.now.bind(performance));
  const { pool, crypto, buckets, cell, root } = await openWorkers(
    installationStore,
    options,
    capacity,
    limiter,
  );
  const roots = await Roots.open(installationStore, crypto, cell, now, root);
  const cursors = new Cursors(() => roots.cursorKeys());

  // Stores.
  const isStreamed = auditSink !== undefined;
  const accountStore = new AccountStore(redis);
  const auditStore = new AuditStore(redis);
  const binStore = new BinStore(redis);
  const censusStore = new CensusStore(redis);
  const certificateStore = new CertificateStore(redis);
  const connectionStore = new NamedStore(redis, redisKeys.connections);
  const csrStore = new CsrStore(redis);
  const credentialStore = new CredentialStore(redis);
  const challengeStore = new ChallengeStore(redis);
  const complianceStore = new ComplianceStore(redis);
  const endpointStore = new EndpointStore(redis);
  const eventStore = new EventStore(redis, buckets);
  const expiringStore = new ExpiringStore(redis);
  const formStore = new FormStore(redis);
  const headsStore = new HeadsStore(redis, isStreamed);
  const idempotencyStore = new IdempotencyStore(redis);
  const itemStore = new ItemStore(redis, buckets, isStreamed);
  const jobStore = new JobStore(redis);
  const keyStore = new KeyStore(redis, buckets, isStreamed);
  const limitStore = new LimitStore(redis);
  const personStore = new PersonStore(redis);
  const readingStore = new ReadingStore(redis);
  const recordStore = new RecordStore(redis);
  const rewriteStore = new RewriteStore(redis);
  const ruleStore = new NamedStore(redis, redisKeys.rules);
  const sealingStore = new SealingStore(redis);
  const serverStore = new ServerStore(redis);
  const sessionStore = new SessionStore(redis);
  const sinkStore = new SinkStore(redis);
  const surveyStore = new SurveyStore(redis);
  const usageStore = new UsageStore(redis);
  // One record of each person, and people are limited already.
  const wrapStore = new NamedStore(redis, redisKeys.passphraseWraps, Number.MAX_SAFE_INTEGER);

  // Limits and metering of requests.
  const metering = new Metering(usageStore, observer, now);
  const folding = new UsageFolding(usageStore, buckets, randomId);
  const idempotency = new Idempotency(idempotencyStore, crypto, () => roots.hasOther(), randomId);
  const attempts = new Attempts(limitStore, settings, now);
  const rates = new Rates(limitStore, settings, now);

  // Security log. The walk over all records tells which accounts and keys exist.
  const walk = new Walk(recordStore, itemStore, auditStore, crypto);
  const accountsOfLogs = () => walk.ownedKeys();
  const auditQueue = new AuditQueue(auditStore, crypto, recordEvent, now, randomId);
  const audit = new Audit(auditQueue, now);
  const auditListing = new AuditListing(auditStore, crypto, cursors);
  const auditVerifier = new AuditVerifier(auditStore, crypto);
  const auditCheckpoints = new AuditCheckpoints(auditStore, crypto, auditQueue, recordEvent, now);
  const auditRetention = new AuditRetention(auditStore, crypto, audit, recordEvent, settings, now, randomId);

  // Accounts and credentials.
  const accountRecords = new AccountRecords(accountStore, auditStore, crypto, audit, now, randomId);
  const passwords = new Passwords(crypto, accountRecords, () => roots.wantedPepper(), now);
  const personRecords = new PersonRecords(personStore, crypto, now);
  const sessions = new Sessions(
    sessionStore,
    personStore,
    personRecords,
    accountRecords,
    crypto,
    audit,
    settings.people,
    observer,
    recordEvent,
    now,
  );
  const credentialSignIn = new CredentialSignIn(
    credentialStore,
    crypto,
    accountRecords,
    personRecords,
    audit,
    now,
  );
  const credentials = new Credentials(
    credentialStore,
    crypto,
    limiter,
    credentialSignIn,
    personRecords,
    sessions,
    randomId,
    now,
  );
  const wrapRecords = new WrapRecords(wrapStore, crypto);
  const persons = new Persons(
    personStore,
    personRecords,
    accountRecords,
    credentials,
    wrapRecords,
    crypto,
    limiter,
    audit,
    settings.people,
    randomId,
    now,
  );
  const challenges = new Challenges(challengeStore, cursors, randomId, now);
  const passkeys = new Passkeys(challenges, persons, personRecords, sessions, audit, settings.people, now);
  const { consoleUrl } = settings.people;
  // The library of OpenID Connect is loaded only where it is used: it takes 28 ms and 5 MB.
  const providers = options.oidc && (await import('../outbound/identity-provider.ts'));
  const oidcSignIns =
    options.oidc === undefined || providers === undefined || consoleUrl === undefined
      ? undefined
      : new OidcSignIns(
          challenges,
          new providers.IdentityProvider(options.oidc, options.proxyCa, `${consoleUrl}${OIDC_CALLBACK}`, now),
          options.oidc.roles,
          persons,
          sessions,
          limiter,
          consoleUrl,
          recordEvent,
        );
  const accounts = new Accounts(
    accountStore,
    limitStore,
    crypto,
    accountRecords,
    passwords,
    metering,
    settings,
    now,
    randomId,
  );
  const signIns = new SignIns(
    crypto,
    accountRecords,
    passwords,
    credentialSignIn,
    sessions,
    attempts,
    audit,
    observer,
    now,
  );
  const preferences = new AccountPreferences(accountRecords, metering);

  // Keys.
  const queue = new JobQueue(options.redis, recordEvent);
  const receivers = new Receivers(eventStore, crypto, credentials, personRecords, recordEvent, random, now);
  const watchedKeys = new WatchedKeys(eventStore, receivers);
  const resealStore = new ResealStore(redis);
  const dependents = [
    ...[endpointStore, new KeyJobs(jobStore, queue), folding, resealStore, watchedKeys],
    wrapRecords,
  ];
  const keyOpener = new KeyOpener(keyStore, crypto, dependents, attempts, observer, settings, now);
  const keyRecords = new KeyRecords(keyStore, keyOpener, metering);
  const keys = new Keys(
    keyStore,
    crypto,
    dependents,
    keyOpener,
    keyRecords,
    metering,
    idempotency,
    cursors,
    randomId,
  );
  const passphrases = new Passphrases(wrapRecords, personRecords, keyOpener, settings, now);
  const recoveries = new Recoveries(keyStore, crypto, keyOpener, keyRecords, attempts, metering);

  // Certificates, connections and rules.
  const thirdParties = new ThirdParties({
    policy: createAddressPolicy({ allow: options.proxyAllow }),
    caPem: options.proxyCa,
  });
  const certificates = new Certificates(csrStore, certificateStore, crypto, limiter, metering, randomId);
  const connections = new Connections(connectionStore, crypto, thirdParties, settings, now);
  const rules = new Rules(ruleStore, crypto, metering, settings);
  const subscriptions = new Subscriptions(
    eventStore,
    auditStore,
    crypto,
    thirdParties,
    keyOpener,
    receivers,
    randomId,
    now,
  );

  // Items.
  const cards = new CardMetadataSource(binStore, now);
  const writer = new ItemWriter(itemStore, crypto, cards, metering, settings, now);
  const reader = new ItemReader(itemStore, crypto, keyOpener, cards, metering, now);
  const remover = new ItemRemover(itemStore, crypto, limiter, keyOpener, metering, cursors, now);
  const rejections = new Rejections(itemStore, crypto, keyOpener, now);
  const expiry = new ItemExpiry(itemStore, readingStore, crypto, audit, keyOpener, settings, now, randomId);
  const pages = new ItemPages(itemStore, crypto, limiter, metering, now);
  const planner = new ListPlanner(itemStore, crypto, keyOpener, cursors);
  const trees = new VaultTrees(
    itemStore,
    crypto,
    limiter,
    metering,
    keyOpener,
    rules,
    cards,
    rejections,
    planner,
    pages,
    now,
  );
  const vault = new Vault(
    itemStore,
    crypto,
    metering,
    idempotency,
    keyOpener,
    rules,
    writer,
    reader,
    remover,
    rejections,
    cursors,
    now,
  );
  const accessListing = new AccessListing(readingStore, buckets, crypto, keyOpener, cursors);
  const batchWriter = new BatchWriter(itemStore, limiter, metering, writer);
  const storeBatches = new StoreBatches(
    crypto,
    limiter,
    idempotency,
    keyOpener,
    writer,
    batchWriter,
    settings,
  );
  const batches = new Batches(
    itemStore,
    limiter,
    idempotency,
    keyOpener,
    rules,
    rejections,
    remover,
    pages,
    now,
  );
  const exports = new Exports(crypto, keyOpener, trees);
  const reseals = new Reseals(
    resealStore,
    itemStore,
    crypto,
    accountRecords,
    keyOpener,
    pages,
    metering,
    recordEvent,
    randomId,
    now,
  );
  const rewrites = new SadRewrites(rewriteStore, settings, recordEvent, now, randomId);

  // Signed heads of the logs of items, and delivery of all logs.
  const logHeads = new LogHeads(
    headsStore,
    itemStore,
    crypto,
    accountsOfLogs,
    auditSink && ((aid, kid, numbers) => sinkStore.name(aid, kid, numbers)),
    recordEvent,
    now,
  );
  const auditStream =
    auditSink &&
    new AuditStream(
      auditStore,
      sinkStore,
      crypto,
      accountsOfLogs,
      openAuditSink(auditSink),
      recordEvent,
      randomId(),
    );

  // Calls to third parties: asynchronous, proxied, relayed.
  const retryPause = createRetryPause(random, options.retryMs);
  const webhookPause = options.retryMs === undefined ? createWebhookPause(random) : retryPause;
  const { networkTokenRequesters } = options;
  const sender = new CallSender(
    itemStore,
    crypto,
    thirdParties,
    keyOpener,
    rules,
    writer,
    certificates,
    networkTokenRequesters,
    recordEvent,
    retryPause,
    settings,
    now,
  );
  const preparer = new CallPreparer(
    itemStore,
    crypto,
    thirdParties,
    keyOpener,
    rules,
    connections,
    reader,
    rejections,
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
    receivers,
    recordEvent,
    webhookPause,
    randomId,
    now,
  );
  const jobs = new ProxyJobs(jobStore, steps, queue, limiter, new RetryWaits(random, now), recordEvent, now);
  const jobListing = new JobListing(
    jobStore,
    crypto,
    keyOpener,
    jobs,
    queue,
    receivers,
    networkTokenRequesters,
    metering,
    recordEvent,
    cursors,
    settings,
    randomId,
    now,
  );
  const proxy = new ProxyService(
    crypto,
    thirdParties,
    keyOpener,
    reader,
    rejections,
    preparer,
    sender,
    limiter,
    jobs,
    metering,
    idempotency,
    recordEvent,
    randomId,
    now,
  );
  const forwarder = new Forwarder(crypto, thirdParties, connections, certificates, sender);

  // Forms, endpoints, and what is forwarded through connections.
  const forms = new HostedForms(formStore, crypto, settings, randomId, now);
  const sealingKeys = new SealingKeys(sealingStore, crypto, now);
  const endpointEvents = new EndpointEvents(endpointStore, receivers);
  const endpoints = new Endpoints(
    endpointStore,
    crypto,
    limiter,
    keyOpener,
    audit,
    endpointEvents,
    metering,
    randomId,
    now,
  );
  const endpointAuth = new EndpointAuth(
    endpointStore,
    crypto,
    accountRecords,
    keyOpener,
    rates,
    rejections,
    audit,
    endpointEvents,
    now,
  );
  const webhooks = new CaptureWebhooks(crypto, preparer, jobs, randomId);
  const captures = new Captures(
    crypto,
    keyOpener,
    rules,
    writer,
    reader,
    endpoints,
    endpointAuth,
    sealingKeys,
    webhooks,
    cards,
    idempotency,
    attempts,
    now,
  );
  const inbounds = new Inbounds(thirdParties, connections, endpoints, randomId, now);
  const inboundCards = new InboundCards(writer, batchWriter);
  const inboundUses = new InboundUses(
    crypto,
    thirdParties,
    endpointAuth,
    inboundCards,
    forwarder,
    limiter,
    metering,
  );
  const inboundReplies = new InboundReplies(crypto, keyOpener, endpoints, inboundCards);
  const relay = new Relay(
    itemStore,
    crypto,
    keyOpener,
    reader,
    rejections,
    sender,
    forwarder,
    inboundReplies,
    limiter,
    metering,
    now,
  );
  const retrievals = new Retrievals(crypto, rules, reader, trees, endpoints, endpointAuth, metering);

  // Reports, documents and utilities.
  const usage = new UsageReports(itemStore, usageStore, folding, keyOpener, options.prices, now);
  const expiring = new ExpiringThings(
    expiringStore,
    serverStore,
    accounts,
    credentials,
    certificates,
    connections,
    endpoints,
    cursors,
    recordEvent,
    now,
  );
  const events = new Events(
    eventStore,
    itemStore,
    auditStore,
    crypto,
    receivers,
    (aid) => expiring.renewals(aid),
    (aid, deliveries) => jobs.acceptEvents(aid, deliveries),
    recordEvent,
    now,
  );
  const compliance = new Compliance(complianceStore, crypto, randomId);
  const utility = new Utility(crypto, metering);

  // Maintenance: verification and rotations.
  const isRootMoving = (): boolean => roots.current().stage !== 'steady';
  const rollbacks = new Rollbacks(recordStore, keyStore, auditStore, crypto, walk);
  const bucketVerifier = new BucketVerifier(
    surveyStore,
    censusStore,
    itemStore,
    keyStore,
    crypto,
    walk,
    isRootMoving,
    now,
  );
  const headsVerifier = new HeadsVerifier(headsStore, crypto, walk);
  const nameVerifier = new NameVerifier(recordStore, censusStore, keyStore, accountStore, walk);
  const verifier = new Verifier(
    recordStore,
    keyStore,
    walk,
    bucketVerifier,
    headsVerifier,
    rollbacks,
    nameVerifier,
  );
  const keyRotation = new KeyRotation(recordStore, surveyStore, itemStore, crypto, walk, ring.writeId, now);
  const rootRotation = new RootRotation(recordStore, censusStore, crypto, walk, roots, now);

  // Accounts by API.
  const platform = new Platform(
    accountStore,
    accounts,
    audit,
    (name, aid): Promise<AccountInfo | undefined> => removeAccount(all, name, aid),
    (aid) => jobs.goOn(aid),
  );

  // Everything above that routes, commands, the sweep or tests use.
  const stores = {
    ...{ accountStore, auditStore, binStore, certificateStore, endpointStore, formStore, headsStore },
    ...{ idempotencyStore, itemStore, jobStore, keyStore, limitStore, recordStore, serverStore, wrapStore },
    ...{ surveyStore, usageStore },
  };
  const services = {
    ...{ accessListing, accountRecords, accounts, audit, auditCheckpoints, auditListing, limiter },
    ...{ auditRetention, auditStream, auditVerifier, batches, captures, certificates, compliance },
    ...{
      connections,
      credentials,
      endpoints,
      events,
      expiring,
      expiry,
      exports,
      folding,
      forms,
      idempotency,
      inbounds,
      inboundUses,
      passkeys,
      passphrases,
      oidcSignIns,
      persons,
      platform,
    },
    ...{ jobListing, jobs, keyOpener, keyRotation, keys, logHeads, metering, preferences, proxy },
    ...{ rates, recoveries, rejections, relay, remover, reseals, retrievals, rollbacks },
    ...{
      rootRotation,
      rules,
      sealingKeys,
      sessions,
      signIns,
      storeBatches,
      subscriptions,
      trees,
      usage,
      utility,
      vault,
      verifier,
      walk,
    },
    /** Writes all events of logs, see `streamAll`. */
    streamAll: (wanted: WantedEvents, write: (events: readonly SinkEvent[]) => Promise<void>) =>
      streamAll({ ...stores, sinkStore, crypto, accounts: accountsOfLogs, recordEvent }, wanted, write),
  };

  // Recurring work.
  const all = { ...stores, ...services };
  const sweepOnce = (): Promise<void> => sweep(all);
  /** Writes the queued security log entries, then signs a checkpoint of every log that has grown, of items too. */
  const checkpoint = async (isLast = false): Promise<void> => {
    await audit.flush();
    await auditCheckpoints.take();
    await (isLast ? logHeads.takeLast() : logHeads.take());
  };
  const rewriteExpired = (): Promise<number> => rewrites.round();
  const background = createBackground({
    ...{ startJobs: () => jobs.start(), sweep: sweepOnce, checkpoint, rewriteExpired, recordEvent },
    writeRejections: () => audit.writeSoon(),
    countExpiring: () => expiring.round(),
    findEvents: () => events.round(),
    stream: auditStream && (() => auditStream.round()),
  });
  const figures: GaugeSources = {
    threads: () => pool.stats(),
    isRedisConnected: () => redis.isConnected(),
    redis: () => readRedisStats(redis),
    lastBackup: () => installationStore.readLastBackup(),
    expiring: () => expiring.figures(),
    jobs,
    work: () => limiter.stats(),
    isSadRewritten: () => rewrites.isOk(),
    sink: () => auditStream?.figures() ?? {},
    events: () => events.figures(),
  };
  return {
    ...{ settings, redis, pool, crypto, roots, stores, services, now, randomId, recordEvent },
    ...{ installationStore, checkpoint, rewriteExpired, background, figures },
    masterKeys: { writeId: ring.writeId, ids: [...ring.keys.keys()] },
    /** Resolves when Redis would accept a write. */
    probe: () => installationStore.probe(),
    sweep: sweepOnce,
    removeAccount: (name: string) => removeAccount(all, name),
    /**
     * Finishes the requests in flight, flushes logs, then closes threads and Redis.
     */
    async close() {
      rewrites.stop();
      await reseals.stop();
      await auditStream?.stop();
      await events.stop();
      await jobs.close();
      keyOpener.close();
      await rejections.flush();
      await audit.flush(true);
      await pool.drain();
      await redis.close();
    },
  };
}
