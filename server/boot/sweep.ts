import { asVaultError, isFault } from '../core/failure.ts';
import type { AccountInfo } from '../services/account/record.ts';
import type { Services } from './services.ts';
import type { Stores } from './stores.ts';

interface Swept {
  readonly stores: Stores;
  readonly services: Services;
}

/** Runs one task after the other, also after one that failed; rejects at the end, with the first fault or error. */
async function runAll(tasks: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const task of tasks) {
    await task().catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) {
    throw errors.find((error) => isFault(asVaultError(error))) ?? errors[0];
  }
}

/** Deletes the data of a removed account. What needs no order goes last: a request may still be creating a rule. */
async function removeData({ stores, services }: Swept, aid: string): Promise<void> {
  await stores.jobStore.removeAll(aid);
  await stores.endpointStore.removeAll(aid);
  await stores.formStore.removeAll(aid);
  await services.keys.removeAll(aid);
  await stores.recordStore.removeWhole(aid);
  await services.metering.forget({ aid });
  await stores.accountStore.forgetGone(aid);
}

/** Deletes an account with all its keys and data; undefined when there is none of this name. */
export async function removeAccount(system: Swept, name: string): Promise<AccountInfo | undefined> {
  // The account can no longer sign in before its data goes. What an interruption leaves, a later sweep removes.
  const account = await system.services.accounts.remove(name);
  if (account) {
    await removeData(system, account.aid);
  }
  return account;
}

/** Finishes what was interrupted on any server: deletions, changes of passphrases, expiry, asynchronous requests. */
export async function sweep(system: Swept): Promise<void> {
  const { accounts, keys, endpoints, forms, jobs, auditRetention, auditCheckpoints } = system.services;
  const aids = (await accounts.list()).map(({ aid }) => aid);
  const gone = await system.stores.accountStore.listGone();
  await runAll([
    ...[keys.sweep, endpoints.sweep, forms.sweep, jobs.resume].flatMap((task) =>
      aids.map((aid) => () => task(aid)),
    ),
    ...gone.map((aid) => () => removeData(system, aid)),
    () => auditRetention.sweep(aids),
    auditCheckpoints.catchUp,
  ]);
}
