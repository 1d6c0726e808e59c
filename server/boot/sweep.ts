import type { Accounts } from '../account/accounts.ts';
import type { Credentials } from '../account/credential/credentials.ts';
import type { Passphrases } from '../account/passkey/passphrases.ts';
import type { Persons } from '../account/person/persons.ts';
import type { AccountInfo, AccountRecords } from '../account/records.ts';
import type { AccountStore } from '../account/store.ts';
import type { AuditCheckpoints } from '../audit/checkpoints.ts';
import type { AuditRetention } from '../audit/retention.ts';
import { asVaultError, isFault } from '../core/error-cause.ts';
import type { Endpoints } from '../endpoint/endpoints.ts';
import type { EndpointStore } from '../endpoint/store.ts';
import type { Subscriptions } from '../event/subscriptions.ts';
import type { HostedForms } from '../form/forms.ts';
import type { FormStore } from '../form/store.ts';
import type { ProxyJobs } from '../job/jobs.ts';
import type { JobListing } from '../job/listing.ts';
import type { JobStore } from '../job/store/jobs.ts';
import type { Keys } from '../key/keys.ts';
import type { LimitStore } from '../limits/store.ts';
import type { LogHeads } from '../log-heads/heads.ts';
import type { HeadsStore } from '../log-heads/store.ts';
import type { RecordStore } from '../maintenance/store/records.ts';
import type { Metering } from '../request/metering.ts';
import type { UsageReports } from '../usage/usage.ts';
import type { ItemExpiry } from '../vault/expiry.ts';

/** Stores and services of a sweep and of the removal of an account. */
interface Needs {
  readonly accountStore: AccountStore;
  readonly endpointStore: EndpointStore;
  readonly formStore: FormStore;
  readonly headsStore: HeadsStore;
  readonly jobStore: JobStore;
  readonly limitStore: LimitStore;
  readonly recordStore: RecordStore;
  readonly accountRecords: AccountRecords;
  readonly accounts: Accounts;
  readonly auditCheckpoints: AuditCheckpoints;
  readonly auditRetention: AuditRetention;
  readonly credentials: Credentials;
  readonly endpoints: Endpoints;
  readonly expiry: ItemExpiry;
  readonly forms: HostedForms;
  readonly jobListing: JobListing;
  readonly jobs: ProxyJobs;
  readonly keys: Keys;
  readonly logHeads: LogHeads;
  readonly metering: Metering;
  readonly passphrases: Passphrases;
  readonly persons: Persons;
  readonly subscriptions: Subscriptions;
  readonly usage: UsageReports;
}

/**
 * Runs the tasks in order, and continues after a failed one. Rejects at the end, preferably with an internal error.
 */
async function runAll(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const task of tasks) {
    await task().catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) {
    throw errors.find((error) => isFault(asVaultError(error))) ?? errors[0];
  }
}

/**
 * Deletes the data of a removed account. Each step can be repeated. Records that nothing depends on are deleted after
 * the keys, because a request in flight may still create one.
 */
async function removeData(needs: Needs, aid: string): Promise<void> {
  await needs.accountRecords.recordRemoval(aid);
  await needs.jobStore.removeAll(aid);
  await needs.endpointStore.removeAll(aid);
  await needs.formStore.removeAll(aid);
  await needs.keys.removeAll(aid);
  await needs.headsStore.remove(aid);
  await needs.subscriptions.removeAll(aid);
  await needs.recordStore.removeWhole(aid);
  await needs.metering.forget({ aid });
  await needs.limitStore.removeAccount(aid);
  await needs.accountStore.forgetGone(aid);
}

/** Deletes an account with all its keys and data; undefined if no account has this name, with `aid` this account. */
export async function removeAccount(
  needs: Needs,
  name: string,
  aid?: string,
): Promise<AccountInfo | undefined> {
  // Sign-in is disabled before data is deleted. A later sweep completes an interrupted deletion.
  const account = await needs.accounts.remove(name, aid);
  if (account) {
    await removeData(needs, account.aid);
  }
  return account;
}

/**
 * Completes what was interrupted on any server: deletions, passphrase changes, expiry, asynchronous requests. It can
 * run on several servers at the same time. Rejects after all tasks have run, if one failed.
 */
export async function sweep(needs: Needs): Promise<void> {
  const accounts = await needs.accounts.list();
  const aids = accounts.map(({ aid }) => aid);
  // The jobs of a suspended account wait outside of the queue.
  const suspended = new Set(accounts.filter((account) => account.suspended).map(({ aid }) => aid));
  const gone = await needs.accountStore.listGone();
  await runAll([
    ...[
      (aid: string) => needs.keys.sweep(aid),
      (aid: string) => needs.endpoints.sweep(aid),
      (aid: string) => needs.forms.sweep(aid),
      async (aid: string) => (suspended.has(aid) ? undefined : needs.jobs.resume(aid)),
      (aid: string) => needs.jobListing.trim(aid),
      (aid: string) => needs.expiry.sweep(aid),
      (aid: string) => needs.usage.fold(aid),
      (aid: string) => needs.subscriptions.sweep(aid),
      (aid: string) => needs.passphrases.sweep(aid),
    ].flatMap((task) => aids.map((aid) => () => task(aid))),
    ...gone.map((aid) => () => removeData(needs, aid)),
    () => needs.persons.sweep(aids),
    () => needs.credentials.sweep(),
    () => needs.auditRetention.sweep(aids),
    () => needs.auditCheckpoints.catchUp(),
    () => needs.logHeads.catchUp(),
  ]);
}
