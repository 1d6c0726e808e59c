import type { AccountInfo } from '../account/records.ts';
import { asVaultError, isFault } from '../core/error-cause.ts';
import type { Services } from './services.ts';
import type { Stores } from './stores.ts';

/** What a sweep works on. */
interface Swept {
  readonly stores: Stores;
  readonly services: Services;
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
async function removeData({ stores, services }: Swept, aid: string): Promise<void> {
  await services.accountRecords.recordRemoval(aid);
  await stores.jobStore.removeAll(aid);
  await stores.endpointStore.removeAll(aid);
  await stores.formStore.removeAll(aid);
  await services.keys.removeAll(aid);
  await stores.headsStore.remove(aid);
  await stores.recordStore.removeWhole(aid);
  await services.metering.forget({ aid });
  await stores.limitStore.removeAccount(aid);
  await stores.accountStore.forgetGone(aid);
}

/** Deletes an account with all its keys and data; undefined if no account has this name. */
export async function removeAccount(system: Swept, name: string): Promise<AccountInfo | undefined> {
  // Sign-in is disabled before data is deleted. A later sweep completes an interrupted deletion.
  const account = await system.services.accounts.remove(name);
  if (account) {
    await removeData(system, account.aid);
  }
  return account;
}

/**
 * Completes what was interrupted on any server: deletions, passphrase changes, expiry, asynchronous requests. It can
 * run on several servers at the same time. Rejects after all tasks have run, if one failed.
 */
export async function sweep(system: Swept): Promise<void> {
  const {
    accounts,
    credentials,
    keys,
    endpoints,
    forms,
    jobs,
    jobListing,
    expiry,
    auditRetention,
    auditCheckpoints,
    logHeads,
  } = system.services;
  const aids = (await accounts.list()).map(({ aid }) => aid);
  const gone = await system.stores.accountStore.listGone();
  await runAll([
    ...[
      (aid: string) => keys.sweep(aid),
      (aid: string) => endpoints.sweep(aid),
      (aid: string) => forms.sweep(aid),
      (aid: string) => jobs.resume(aid),
      (aid: string) => jobListing.trim(aid),
      (aid: string) => expiry.sweep(aid),
    ].flatMap((task) => aids.map((aid) => () => task(aid))),
    ...gone.map((aid) => () => removeData(system, aid)),
    () => credentials.sweep(),
    () => auditRetention.sweep(aids),
    () => auditCheckpoints.catchUp(),
    () => logHeads.catchUp(),
  ]);
}
