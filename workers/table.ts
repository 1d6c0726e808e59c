/** Every job of the threads. The server builds its client from this table, each thread its handlers. */
import { AUDIT_JOBS } from './jobs/audit/jobs.ts';
import { CERT_JOBS } from './jobs/certificate/jobs.ts';
import { CONNECTION_JOBS } from './jobs/connection/jobs.ts';
import { numberJobs } from './jobs/define.ts';
import { ENDPOINT_JOBS } from './jobs/endpoint/jobs.ts';
import { EVENT_JOBS } from './jobs/event/jobs.ts';
import { EXPORT_JOBS } from './jobs/export/jobs.ts';
import { INBOUND_JOBS } from './jobs/inbound/jobs.ts';
import { ROOT_JOBS } from './jobs/installation/jobs.ts';
import { KEY_JOBS } from './jobs/key/jobs.ts';
import { HEADS_JOBS } from './jobs/log-heads/jobs.ts';
import { MAINTENANCE_JOBS } from './jobs/maintenance/jobs.ts';
import { PROXY_JOBS } from './jobs/proxy/jobs.ts';
import { RELAY_JOBS } from './jobs/relay/jobs.ts';
import { RULE_JOBS } from './jobs/rule/jobs.ts';
import { SERVICE_JOBS } from './jobs/service/jobs.ts';
import { BATCH_JOBS, ITEM_JOBS } from './jobs/vault/jobs.ts';

/** The jobs by name, each with its number in a frame. */
export const JOBS = numberJobs({
  ...SERVICE_JOBS,
  ...KEY_JOBS,
  ...RULE_JOBS,
  ...ITEM_JOBS,
  ...BATCH_JOBS,
  ...ENDPOINT_JOBS,
  ...CERT_JOBS,
  ...PROXY_JOBS,
  ...AUDIT_JOBS,
  ...HEADS_JOBS,
  ...MAINTENANCE_JOBS,
  ...ROOT_JOBS,
  ...EXPORT_JOBS,
  ...RELAY_JOBS,
  ...CONNECTION_JOBS,
  ...EVENT_JOBS,
  ...INBOUND_JOBS,
});
