/** The entry of every thread: the handlers of all jobs, over the keys that the thread was started with. */
import '../server/core/native-addons.ts';

import { workerData } from 'node:worker_threads';
import { selfTest } from './crypto/record/self-test.ts';
import { AUDIT_HANDLERS } from './jobs/audit/handlers.ts';
import { CERT_HANDLERS } from './jobs/certificate/handlers.ts';
import { CONNECTION_HANDLERS } from './jobs/connection/handlers.ts';
import { createThreadContext, type ThreadData, type ThreadHandlers } from './jobs/context.ts';
import { ENDPOINT_HANDLERS } from './jobs/endpoint/handlers.ts';
import { EVENT_HANDLERS } from './jobs/event/handlers.ts';
import { EXPORT_HANDLERS } from './jobs/export/handlers.ts';
import { INBOUND_HANDLERS } from './jobs/inbound/handlers.ts';
import { ROOT_HANDLERS } from './jobs/installation/handlers.ts';
import { KEY_HANDLERS } from './jobs/key/handlers.ts';
import { HEADS_HANDLERS } from './jobs/log-heads/handlers.ts';
import { ITEMS_HANDLERS } from './jobs/maintenance/items.ts';
import { RECORDS_HANDLERS } from './jobs/maintenance/records.ts';
import { endOpenings } from './jobs/openings.ts';
import { FETCH_HANDLERS } from './jobs/proxy/fetch.ts';
import { FILL_HANDLERS } from './jobs/proxy/fill.ts';
import { ORDER_HANDLERS } from './jobs/proxy/order.ts';
import { REPORT_HANDLERS } from './jobs/proxy/report.ts';
import { RELAY_HANDLERS } from './jobs/relay/handlers.ts';
import { RULE_HANDLERS } from './jobs/rule/handlers.ts';
import { serveJobs } from './jobs/serve.ts';
import { SERVICE_HANDLERS } from './jobs/service/handlers.ts';
import { BATCH_HANDLERS } from './jobs/vault/batch.ts';
import { ITEM_HANDLERS } from './jobs/vault/handlers.ts';
import { PAGE_HANDLERS } from './jobs/vault/page.ts';
import { JOBS } from './table.ts';

/** A job without a handler is a type error here; `serveJobs` throws for a handler without a job. */
const HANDLERS: ThreadHandlers<typeof JOBS> = {
  ...SERVICE_HANDLERS,
  ...KEY_HANDLERS,
  ...RULE_HANDLERS,
  ...ITEM_HANDLERS,
  ...BATCH_HANDLERS,
  ...PAGE_HANDLERS,
  ...ENDPOINT_HANDLERS,
  ...CERT_HANDLERS,
  ...ORDER_HANDLERS,
  ...FILL_HANDLERS,
  ...FETCH_HANDLERS,
  ...REPORT_HANDLERS,
  ...AUDIT_HANDLERS,
  ...HEADS_HANDLERS,
  ...RECORDS_HANDLERS,
  ...ITEMS_HANDLERS,
  ...ROOT_HANDLERS,
  ...EXPORT_HANDLERS,
  ...RELAY_HANDLERS,
  ...CONNECTION_HANDLERS,
  ...EVENT_HANDLERS,
  ...INBOUND_HANDLERS,
};

await selfTest();
const context = createThreadContext(workerData as ThreadData);
serveJobs(JOBS, HANDLERS, context, () => endOpenings(context.openings));
