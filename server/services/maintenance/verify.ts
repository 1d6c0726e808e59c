import { pause } from '../common/coalesce.ts';
import { eachOf } from './each.ts';
import { createReport, type Fault, type Report, settled, type Verification } from './report.ts';
import { createBucketCheck, type VerifiedKey } from './verify-items.ts';
import { createNameCheck } from './verify-names.ts';
import { lookTogether, type VerifiedAccount } from './verify-together.ts';
import { createRecordWalk, type MaintenanceDependencies, type WalkedRecord } from './walk.ts';

export type { Verification } from './report.ts';

const SECOND_LOOK_MS = 200;
const ROOT_PLACE = { purpose: 'record', account: '', kind: 'root', path: ['root'] } as const;

const badOf = (kind: string, account: string, place: string, what: string): Fault => ({
  ...{ kind, account, place, what },
  state: 'bad',
});

/** Opens pages of records, and reports those that do not open in their place. */
function createOpening({ crypto, recordStore }: MaintenanceDependencies, report: Report) {
  const lookAgain = async ({ kind, aid, id, place }: WalkedRecord, bad: Fault): Promise<Fault[]> => {
    const record = kind === 'root' ? await recordStore.readRoot() : await recordStore.read(kind, aid, id);
    const [look] = record ? await crypto.lookAtRecords([{ place, record }]) : [];
    return look && !look.facts ? [bad] : [];
  };
  return async (account: string, page: readonly WalkedRecord[]) => {
    const looks = page.length === 0 ? [] : await crypto.lookAtRecords(page);
    await Promise.all(
      page.map(async (record, i) => {
        const { kind, id } = record;
        report.count(kind, 1);
        report.tally.add(kind, looks[i]?.keyId, 1);
        if (!looks[i]?.facts) {
          const owner = kind === 'account' ? id : account;
          const bad = badOf(kind, owner, id, 'it does not open in its place');
          report.add(await settled([bad], () => lookAgain(record, bad), pause));
        }
      }),
    );
    return looks.map(({ facts }) => facts);
  };
}

/**
 * Looks at every record and every index of the vault, or of one account, while it is in use. What seems bad is looked at
 * again before it counts. No passphrase is needed: what only a passphrase opens is compared with the hash that the
 * service has sealed.
 */
export function createVerification(parts: MaintenanceDependencies) {
  const { crypto, keyStore, itemStore, censusStore, recordStore } = parts;
  const walk = createRecordWalk(parts);
  const buckets = Array.from({ length: itemStore.buckets }, (_, number) => number);

  const keyOf = (
    { aid, name }: VerifiedAccount,
    user: string,
    { kid, gen }: { readonly kid: string; readonly gen: number },
  ): VerifiedKey => ({
    ...{ aid, user, kid, gen, account: name },
    isChanging: async () => (await keyStore.changesLeft(aid)).some((change) => change.kid === kid),
    async genNow() {
      const record = await keyStore.read(aid, user);
      const place = { purpose: 'record', account: aid, kind: 'key', path: [user] } as const;
      const [look] = record ? await crypto.lookAtRecords([{ place, record }]) : [];
      return look?.facts?.kid === kid ? look.facts.gen : undefined;
    },
  });

  const missingKeys = async (aid: string): Promise<readonly string[]> => {
    const missing: string[] = [];
    for (const user of await keyStore.users(aid, undefined, -1)) {
      if ((await keyStore.read(aid, user)) === undefined) {
        missing.push(user);
      }
    }
    if (missing.length === 0) {
      return missing;
    }
    await pause(SECOND_LOOK_MS);
    const still = new Set(await keyStore.users(aid, undefined, -1));
    const records = await Promise.all(missing.map((user) => keyStore.read(aid, user)));
    return missing.filter((user, i) => still.has(user) && records[i] === undefined);
  };

  const checkKeys = async (report: Report, account: VerifiedAccount): Promise<void> => {
    const { aid, name } = account;
    const open = createOpening(parts, report);
    const checkBucket = createBucketCheck(parts, report);
    for await (const page of walk.keys(aid)) {
      const facts = await open(name, page);
      for (const [i, { id: user }] of page.entries()) {
        const { kid, gen = 1 } = facts[i] ?? {};
        if (kid !== undefined) {
          const key = keyOf(account, user, { kid, gen });
          await eachOf(buckets, (number) => checkBucket(key, number));
        }
      }
    }
    const missing = await missingKeys(aid);
    report.add(
      missing.map((user) => badOf('key', name, user, 'the directory names it, and it is not there')),
    );
  };

  const checkAccount = async (report: Report, account: VerifiedAccount): Promise<void> => {
    const { aid, name } = account;
    const open = createOpening(parts, report);
    for await (const page of walk.others(aid)) {
      await open(name, page);
    }
    const together = (): Promise<Fault[]> => lookTogether(parts, account);
    report.add(await settled(await together(), together, pause));
    await checkKeys(report, account);
    for (const kid of await keyStore.purgesLeft(aid)) {
      report.add([{ ...badOf('key', name, kid, 'a deletion is not finished'), state: 'unfinished' }]);
    }
  };

  /** The accounts' records and all that is theirs; false when none has the wanted name. */
  const checkAccounts = async (report: Report, only: string | undefined): Promise<boolean> => {
    const open = createOpening(parts, report);
    let isFound = only === undefined;
    for await (const page of walk.accounts()) {
      const wanted = page.filter(({ id }) => only === undefined || id === only);
      isFound ||= wanted.length > 0;
      const facts = await open('', wanted);
      for (const [i, { id: name }] of wanted.entries()) {
        const aid = facts[i]?.aid;
        await (aid === undefined ? undefined : checkAccount(report, { aid, name }));
      }
    }
    return isFound;
  };

  /** What belongs to no account, and what no directory names; false where Redis forbids SCAN. */
  const checkRest = async (report: Report): Promise<boolean> => {
    const open = createOpening(parts, report);
    const root = await recordStore.readRoot();
    await open('', [{ kind: 'root', aid: '', id: '', place: ROOT_PLACE, record: root }]);
    for await (const page of walk.installation()) {
      await open('', page);
    }
    if (!(await censusStore.canScan())) {
      return false;
    }
    for await (const page of walk.replies()) {
      await open('', page);
    }
    await createNameCheck(parts, report)();
    return true;
  };

  return async (
    only: string | undefined,
    seen: (records: number) => void,
  ): Promise<Verification | undefined> => {
    const report = createReport(seen);
    if (!(await checkAccounts(report, only))) {
      return undefined;
    }
    return report.result(only === undefined && (await checkRest(report)));
  };
}
