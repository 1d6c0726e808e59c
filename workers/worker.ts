/** The entry of every thread: the handlers of all jobs, over the keys that the thread was started with. */
import { workerData } from 'node:worker_threads';
import { selfTest } from './crypto/record/self-test.ts';
import * as audit from './jobs/audit/audit.ts';
import * as cert from './jobs/cert/cert.ts';
import { createThreadContext, type ThreadContext, type ThreadData } from './jobs/context.ts';
import * as endpoint from './jobs/endpoint/endpoint.ts';
import * as item from './jobs/item/item.ts';
import * as log from './jobs/item/log.ts';
import * as page from './jobs/item/page.ts';
import { updateItem } from './jobs/item/update.ts';
import * as key from './jobs/key/key.ts';
import * as records from './jobs/maintenance/records.ts';
import * as reencryption from './jobs/maintenance/reencrypt-items.ts';
import * as verification from './jobs/maintenance/verify-items.ts';
import * as password from './jobs/password/password.ts';
import { prepareFetch, storeFetched } from './jobs/proxy/fetch.ts';
import { fillProxy } from './jobs/proxy/fill.ts';
import { readProxyOrder } from './jobs/proxy/order.ts';
import * as reply from './jobs/proxy/reply.ts';
import * as report from './jobs/proxy/report.ts';
import * as record from './jobs/record/record.ts';
import * as root from './jobs/root/root.ts';
import { checkRule } from './jobs/rule/check.ts';
import { type Handlers, serveJobs } from './jobs/serve.ts';
import { JOBS } from './table.ts';

/** A job without a handler is a type error here; `serveJobs` throws for a handler without a job. */
const HANDLERS: Handlers<typeof JOBS, ThreadContext> = {
  ...root,
  ...password,
  ...record,
  ...key,
  checkRule,
  ...item,
  updateItem,
  ...log,
  ...page,
  ...endpoint,
  ...cert,
  readProxyOrder,
  fillProxy,
  prepareFetch,
  storeFetched,
  ...reply,
  ...report,
  ...audit,
  ...records,
  ...verification,
  ...reencryption,
};

await selfTest();
serveJobs(JOBS, HANDLERS, createThreadContext(workerData as ThreadData));
