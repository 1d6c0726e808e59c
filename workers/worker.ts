import { workerData } from 'node:worker_threads';
import { selfTest } from './crypto/record/self-test.ts';
import * as audit from './jobs/audit/audit.ts';
import { decryptItems, listItems } from './jobs/bulk.ts';
import * as cert from './jobs/cert/cert.ts';
import { createThreadContext, type Handler, type ThreadContext, toFailure } from './jobs/context.ts';
import {
  captureItem,
  checkEndpoint,
  createEndpoint,
  decoyEndpoint,
  describeEndpoint,
} from './jobs/endpoints.ts';
import { updateItem } from './jobs/item-update.ts';
import { describeItem, openOne, readLog, sealLog, storeItem } from './jobs/items.ts';
import { changeKeyPassphrase, checkWarm, createKey, describeKey, unlockKey } from './jobs/keys.ts';
import { KIND, type ThreadData } from './jobs/kinds.ts';
import { hashPassword, makePassphrase, verifyPassword } from './jobs/password/password.ts';
import { prepareFetch, storeFetched } from './jobs/proxy-fetch.ts';
import { fillProxy } from './jobs/proxy-fill.ts';
import { readProxyOrder } from './jobs/proxy-order.ts';
import { openReply, sealReply } from './jobs/proxy-reply.ts';
import { openJob, openReport, reportProxy, sealReport } from './jobs/proxy-report.ts';
import { dropSad } from './jobs/proxy-sad.ts';
import { openRecord, sealRecord } from './jobs/record/record.ts';
import { checkRoot, createRoot, cursorKey, encodeReference, fingerprint } from './jobs/root/root.ts';
import { checkRule } from './jobs/rules.ts';
import { fieldHandlers, type Handlers } from './jobs/serve.ts';
import { lookAtItems, referenceMembers } from './jobs/walk-items.ts';
import { lookAtLog, renewItems, renewLog } from './jobs/walk-logs.ts';
import { lookAtRecords, renewRecords } from './jobs/walk-records.ts';
import { type FieldHandler, serveThread } from './pool/thread.ts';
import { JOBS } from './table.ts';

const HANDLERS: Readonly<Record<keyof typeof KIND, Handler>> = {
  createKey,
  unlockKey,
  changePassphrase: changeKeyPassphrase,
  describeKey,
  checkWarm,
  storeItem,
  openItem: openOne,
  updateItem,
  describeItem,
  sealLog,
  readLog,
  listItems,
  decryptItems,
  captureItem,
  createEndpoint,
  describeEndpoint,
  checkEndpoint,
  decoyEndpoint,
  checkRule,
  readProxyOrder,
  fillProxy,
  prepareFetch,
  openJob,
  storeFetched,
  reportProxy,
  sealReport,
  openReport,
  sealReply,
  openReply,
  dropSad,
  lookAtRecords,
  renewRecords,
  lookAtItems,
  lookAtLog,
  referenceMembers,
  renewItems,
  renewLog,
};

const TYPED: Handlers<typeof JOBS, ThreadContext> = {
  createRoot,
  checkRoot,
  cursorKey,
  fingerprint,
  encodeReference,
  hashPassword,
  verifyPassword,
  makePassphrase,
  sealRecord,
  openRecord,
  ...audit,
  ...cert,
};

await selfTest();
const context = createThreadContext(workerData as ThreadData);
const names = Object.keys(HANDLERS) as (keyof typeof KIND)[];
serveThread(
  new Map<number, FieldHandler>([
    ...names.map((name) => [KIND[name], (fields: Uint8Array[]) => HANDLERS[name](context, fields)] as const),
    ...fieldHandlers(JOBS, TYPED, context),
  ]),
  toFailure,
);
