import { createAccountStore } from '../store/account.ts';
import { createComplianceStore } from '../store/admin.ts';
import { createAuditStore } from '../store/audit.ts';
import { createBinStore } from '../store/bin.ts';
import { createCertStore } from '../store/cert.ts';
import { createConnectionStore } from '../store/connection.ts';
import { createCredentialStore } from '../store/credential.ts';
import { createEndpointStore } from '../store/endpoint.ts';
import { createFormStore } from '../store/form.ts';
import { createHeadsStore } from '../store/heads.ts';
import { createIdempotencyStore } from '../store/idempotency.ts';
import { createItemStore } from '../store/item/item.ts';
import { createJobStore } from '../store/job/job.ts';
import { createKeyStore } from '../store/key.ts';
import { createCensusStore } from '../store/maintenance/census.ts';
import { createRecordStore } from '../store/maintenance/record.ts';
import { createRewriteStore } from '../store/maintenance/rewrite.ts';
import { createSinkStore } from '../store/maintenance/sink.ts';
import { createSurveyStore } from '../store/maintenance/survey.ts';
import { createRateStore } from '../store/rate.ts';
import type { RedisLink } from '../store/redis/client.ts';
import { createRuleStore } from '../store/rule.ts';
import { createSealingStore } from '../store/sealing.ts';

/** All stores of a vault, by name. */
export type Stores = ReturnType<typeof openStores>;

/**
 * Creates all stores on one connection. `buckets` is the number of partitions over which the items of a key are
 * spread; it is fixed for an installation. `isStreamed`: the logs of items are delivered to a sink.
 */
export function openStores(redis: RedisLink, buckets: number, isStreamed: boolean) {
  return {
    accountStore: createAccountStore(redis),
    auditStore: createAuditStore(redis),
    binStore: createBinStore(redis),
    censusStore: createCensusStore(redis),
    certStore: createCertStore(redis),
    connectionStore: createConnectionStore(redis),
    credentialStore: createCredentialStore(redis),
    complianceStore: createComplianceStore(redis),
    endpointStore: createEndpointStore(redis),
    formStore: createFormStore(redis),
    headsStore: createHeadsStore(redis, isStreamed),
    idempotencyStore: createIdempotencyStore(redis),
    itemStore: createItemStore(redis, buckets, isStreamed),
    jobStore: createJobStore(redis),
    keyStore: createKeyStore(redis, buckets, isStreamed),
    rateStore: createRateStore(redis),
    recordStore: createRecordStore(redis),
    rewriteStore: createRewriteStore(redis),
    ruleStore: createRuleStore(redis),
    sealingStore: createSealingStore(redis),
    sinkStore: createSinkStore(redis),
    surveyStore: createSurveyStore(redis),
  };
}
