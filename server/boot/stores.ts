import { CredentialStore } from '../account/credential/store.ts';
import { AccountStore } from '../account/store.ts';
import { AuditStore } from '../audit/store.ts';
import { BinStore } from '../bin-table/store.ts';
import { CertificateStore, CsrStore } from '../certificate/store.ts';
import { ComplianceStore } from '../compliance/store.ts';
import { EndpointStore, SealingStore } from '../endpoint/store.ts';
import { FormStore } from '../form/store.ts';
import { JobStore } from '../job/store/jobs.ts';
import { KeyStore } from '../key/store.ts';
import { LimitStore } from '../limits/store.ts';
import { HeadsStore } from '../log-heads/store.ts';
import { CensusStore } from '../maintenance/store/census.ts';
import { RecordStore } from '../maintenance/store/records.ts';
import { SurveyStore } from '../maintenance/store/survey.ts';
import type { RedisLink } from '../redis/client.ts';
import { redisKeys } from '../redis/records/keys.ts';
import { NamedStore } from '../redis/records/named.ts';
import { IdempotencyStore } from '../request/idempotency-store.ts';
import { UsageStore } from '../request/usage-store.ts';
import { SinkStore } from '../sink/store.ts';
import { ItemStore } from '../vault/store/items.ts';
import { RewriteStore } from '../vault/store/sad-rewrite.ts';

/** All stores of a vault, by name. */
export type Stores = ReturnType<typeof openStores>;

/**
 * Creates all stores on one connection. `buckets` is the number of partitions over which the items of a key are
 * spread; it is fixed for an installation. `isStreamed`: the logs of items are delivered to a sink.
 */
export function openStores(redis: RedisLink, buckets: number, isStreamed: boolean) {
  return {
    accountStore: new AccountStore(redis),
    auditStore: new AuditStore(redis),
    binStore: new BinStore(redis),
    censusStore: new CensusStore(redis),
    certificateStore: new CertificateStore(redis),
    connectionStore: new NamedStore(redis, redisKeys.connections),
    csrStore: new CsrStore(redis),
    credentialStore: new CredentialStore(redis),
    complianceStore: new ComplianceStore(redis),
    endpointStore: new EndpointStore(redis),
    formStore: new FormStore(redis),
    headsStore: new HeadsStore(redis, isStreamed),
    idempotencyStore: new IdempotencyStore(redis),
    itemStore: new ItemStore(redis, buckets, isStreamed),
    jobStore: new JobStore(redis),
    keyStore: new KeyStore(redis, buckets, isStreamed),
    limitStore: new LimitStore(redis),
    recordStore: new RecordStore(redis),
    rewriteStore: new RewriteStore(redis),
    ruleStore: new NamedStore(redis, redisKeys.rules),
    sealingStore: new SealingStore(redis),
    sinkStore: new SinkStore(redis),
    surveyStore: new SurveyStore(redis),
    usageStore: new UsageStore(redis),
  };
}
