import { workerData } from 'node:worker_threads';
import { selfTest } from './crypto/record/self-test.ts';
import {
  auditKey,
  checkCheckpoint,
  describeChain,
  readAudit,
  sealAudit,
  signCheckpoint,
  trimAudit,
  verifyAudit,
} from './jobs/audit.ts';
import { decryptItems, listItems } from './jobs/bulk.ts';
import { clientCredential, createCsr, readCertificate } from './jobs/certs.ts';
import { createThreadContext, type Handler, toFailure } from './jobs/context.ts';
import {
  captureItem,
  checkEndpoint,
  createEndpoint,
  decoyEndpoint,
  describeEndpoint,
} from './jobs/endpoints.ts';
import { updateItem } from './jobs/item-update.ts';
import { describeItem, openOne, readLog, sealLog, storeItem } from './jobs/items.ts';
import {
  changeKeyPassphrase,
  checkWarm,
  createKey,
  describeKey,
  hashAccountPassword,
  makePassphrase,
  unlockKey,
  verifyAccountPassword,
} from './jobs/keys.ts';
import { type JobKind, KIND, type ThreadData } from './jobs/kinds.ts';
import { prepareFetch, storeFetched } from './jobs/proxy-fetch.ts';
import { fillProxy } from './jobs/proxy-fill.ts';
import { readProxyOrder } from './jobs/proxy-order.ts';
import { openReply, sealReply } from './jobs/proxy-reply.ts';
import { openJob, openReport, reportProxy, sealReport } from './jobs/proxy-report.ts';
import { dropSad } from './jobs/proxy-sad.ts';
import {
  checkRoot,
  createRoot,
  cursorKey,
  encodeIndexPrefix,
  fingerprint,
  openRecord,
  sealRecord,
} from './jobs/records.ts';
import { checkRule } from './jobs/rules.ts';
import { lookAtItems, referenceMembers } from './jobs/walk-items.ts';
import { lookAtLog, renewItems, renewLog } from './jobs/walk-logs.ts';
import { lookAtRecords, renewRecords } from './jobs/walk-records.ts';
import { serveThread } from './pool/thread.ts';

const HANDLERS: Readonly<Record<keyof typeof KIND, Handler>> = {
  hashPassword: hashAccountPassword,
  verifyPassword: verifyAccountPassword,
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
  sealRecord,
  openRecord,
  fingerprint,
  encodeReference: encodeIndexPrefix,
  cursorKey,
  makePassphrase,
  createRoot,
  checkRoot,
  captureItem,
  createEndpoint,
  describeEndpoint,
  checkEndpoint,
  decoyEndpoint,
  checkRule,
  createCsr,
  readCertificate,
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
  clientCredential,
  dropSad,
  sealAudit,
  describeChain,
  readAudit,
  verifyAudit,
  trimAudit,
  signCheckpoint,
  checkCheckpoint,
  auditKey,
  lookAtRecords,
  renewRecords,
  lookAtItems,
  lookAtLog,
  referenceMembers,
  renewItems,
  renewLog,
};

await selfTest();
const context = createThreadContext(workerData as ThreadData);
const names = Object.keys(HANDLERS) as (keyof typeof KIND)[];
serveThread(
  new Map<JobKind, (fields: Uint8Array[]) => Uint8Array[] | Promise<Uint8Array[]>>(
    names.map((name) => [KIND[name], (fields) => HANDLERS[name](context, fields)]),
  ),
  toFailure,
);
