/** Every job of the threads. The server builds its client from this table, each thread its handlers. */
import { AUDIT_JOBS } from './jobs/audit/jobs.ts';
import { CERT_JOBS } from './jobs/cert/jobs.ts';
import { numberJobs } from './jobs/define.ts';
import { PASSWORD_JOBS } from './jobs/password/jobs.ts';
import { RECORD_JOBS } from './jobs/record/jobs.ts';
import { ROOT_JOBS } from './jobs/root/jobs.ts';

/** The jobs by name, each with the number that it has in a frame. */
export const JOBS = numberJobs(ROOT_JOBS, PASSWORD_JOBS, RECORD_JOBS, CERT_JOBS, AUDIT_JOBS);
