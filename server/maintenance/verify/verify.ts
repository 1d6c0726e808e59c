import { addChecked, addFaults, countKey, type Fault, type Report, type Verification } from '../report.ts';
import type { FoundRecord } from '../store/records.ts';
import {
  type MaintenanceDependencies,
  openAgain,
  openRecords,
  type Visitor,
  visitAccounts,
  visitLast,
  visitRest,
} from '../walk.ts';
import { verifyAccountHeads, verifyBucketHeads } from './heads.ts';
import { verifyBucket } from './items.ts';
import { listFaults } from './lists.ts';
import { verifyNames } from './names.ts';
import { recoveryFaults } from './recovery.ts';
import { accountRollback, recordRollbacks } from './rollback.ts';

/** Opens a page of records, and reports those that do not open in their place. */
async function verifyPage(
  parts: MaintenanceDependencies,
  report: Report,
  account: string,
  page: readonly FoundRecord[],
): Promise<void> {
  const opened = await openRecords(parts, page);
  await Promise.all(
    page.map(async (found, i) => {
      const { label: kind, id: place } = found;
      addChecked(report, kind, 1);
      countKey(report.keys, kind, opened[i]?.keyId);
      if (opened[i]?.facts !== undefined) {
        await (kind === 'account' ? addFaults(report, () => accountRollback(parts, found)) : undefined);
        return;
      }
      const owner = kind === 'account' ? place : account;
      const what = 'it does not open in its place';
      const bad: Fault = { kind, account: owner, place, what, state: 'bad' };
      const check = async (): Promise<Fault[]> => {
        const again = await openAgain(parts, found);
        return again !== undefined && again.facts === undefined ? [bad] : [];
      };
      await addFaults(report, check, [bad]);
    }),
  );
}

/**
 * Verifies every record and every index of the vault, or of one account, while it is in use; undefined when there is no
 * account of this name. No passphrase is needed: what only a passphrase opens is compared with the hash that the service
 * has sealed.
 */
export async function verifyVault(
  parts: MaintenanceDependencies,
  only: string | undefined,
  seen: (records: number) => void,
): Promise<Verification | undefined> {
  const found = { checked: {}, bad: {}, unfinished: {}, faults: [], keys: {} };
  const report: Report = { ...found, seen };
  const visitor: Visitor = {
    records: (account, page) => verifyPage(parts, report, account, page),
    account: async (account) => {
      await addFaults(report, () => listFaults(parts, account));
      await addFaults(report, () => recoveryFaults(parts, account));
      await verifyAccountHeads(parts, report, account);
      await addFaults(report, () => recordRollbacks(parts, account));
    },
    bucket: async (key, number) => {
      await verifyBucket(parts, report, key, number);
      await verifyBucketHeads(parts, report, key, number);
    },
  };
  const { aids, isFound } = await visitAccounts(parts, visitor, only);
  if (only !== undefined) {
    return isFound ? { ...found, scanned: false } : undefined;
  }
  await visitLast(parts, visitor);
  const scanned = await visitRest(parts, visitor, aids);
  if (scanned) {
    await verifyNames(parts, report);
  }
  return { ...found, scanned };
}
