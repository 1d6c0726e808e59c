import { eachOf } from './each.ts';
import { renewBucket } from './items.ts';
import { createKeyTally, type KeyTally } from './tally.ts';
import { createRecordWalk, type MaintenanceDependencies, type WalkedKey, type WalkedRecord } from './walk.ts';

/** A record that no key of the ring opens in its place. */
export interface LostRecord {
  readonly kind: string;
  readonly account: string;
  readonly place: string;
}

/** What a rotation has come to. */
export interface Rotation {
  readonly writeKey: string;
  /** Records sealed again in each pass. */
  readonly passes: readonly number[];
  /** Records by kind and by the key that they are under, as the last pass has met them. */
  readonly keys: KeyTally['counts'];
  /** The first of them; `lostTotal` counts all. */
  readonly lost: readonly LostRecord[];
  readonly lostTotal: number;
  /** False where Redis forbids SCAN: replies kept for Idempotency-Keys could not be looked for, and run out in 24 h. */
  readonly repliesFound: boolean;
  /** Whether the last pass has met nothing that lies under another key. */
  readonly done: boolean;
}

const ROOT_PLACE = { purpose: 'record', account: '', kind: 'root', path: ['root'] } as const;
const PASSES_MAX = 12;
const LOST_MAX = 100;

/** What one pass gathers. */
interface Pass {
  renewed: number;
  missed: number;
  lostTotal: number;
  repliesFound: boolean;
  readonly tally: KeyTally;
  readonly lost: LostRecord[];
  readonly seen: (records: number) => void;
}

/** Told of each pass: how many records it has seen, and that it is over. */
export interface PassWatch {
  readonly seen: (records: number) => void;
  readonly end: () => void;
}

const newPass = (seen: Pass['seen']): Pass => ({
  renewed: 0,
  missed: 0,
  lostTotal: 0,
  repliesFound: true,
  tally: createKeyTally(),
  lost: [],
  seen,
});

const lose = (pass: Pass, record: LostRecord): void => {
  pass.lostTotal += 1;
  if (pass.lost.length < LOST_MAX) {
    pass.lost.push(record);
  }
};

/**
 * Seals every record again under the ring's write key while the vault is in use. Each record is replaced only where it
 * is still what was read, so that this can be stopped at any point and run again, also twice at once. The root comes
 * last: with the new key alone a server starts only once everything else is under it.
 */
export function createRotation(parts: MaintenanceDependencies) {
  const { crypto, auditStore, itemStore, recordStore, masterKeys } = parts;
  const walk = createRecordWalk(parts);
  const buckets = Array.from({ length: itemStore.buckets }, (_, number) => number);

  const renewPage = async (pass: Pass, records: readonly WalkedRecord[], account: string): Promise<void> => {
    const results = records.length === 0 ? [] : await crypto.renewRecords(records);
    await Promise.all(
      records.map(async ({ kind, aid, id, record }, i) => {
        const { keyId, renewed } = results[i] ?? {};
        pass.tally.add(kind, keyId, 1);
        if (keyId === masterKeys.writeId) {
          return;
        }
        if (renewed === undefined) {
          lose(pass, { kind, account: kind === 'account' ? id : account, place: id });
        } else if (await recordStore.replace(kind, aid, id, record, renewed)) {
          pass.renewed += 1;
        } else {
          pass.missed += 1;
        }
      }),
    );
    pass.seen(records.length);
  };

  const renewKey = async (pass: Pass, key: WalkedKey, account: string): Promise<void> =>
    eachOf(buckets, async (number) => {
      const done = await renewBucket(parts, key, { kid: key.kid, number }, pass);
      pass.renewed += done.renewed;
      pass.missed += done.missed;
      for (const { token, name } of done.lost) {
        lose(pass, { kind: name === 'm' ? 'item' : 'log', account, place: `${key.user}/${token}` });
      }
    });

  /** The items of the keys, and then the keys: what a key's record tells is needed to find its items. */
  const renewKeys = async (pass: Pass, aid: string, account: string): Promise<void> => {
    for await (const page of walk.keys(aid)) {
      const looks = page.length === 0 ? [] : await crypto.lookAtRecords(page);
      for (const [i, { id: user }] of page.entries()) {
        const { kid, gen = 1 } = looks[i]?.facts ?? {};
        if (kid !== undefined) {
          await renewKey(pass, { aid, user, kid, gen }, account);
        }
      }
      await renewPage(pass, page, account);
    }
  };

  const renewAccount = async (pass: Pass, aid: string, account: string): Promise<void> => {
    for await (const page of walk.others(aid)) {
      await renewPage(pass, page, account);
    }
    await renewKeys(pass, aid, account);
  };

  const renewReplies = async (pass: Pass): Promise<void> => {
    pass.repliesFound = await recordStore.canScan();
    if (pass.repliesFound) {
      for await (const page of walk.replies()) {
        await renewPage(pass, page, '');
      }
    }
  };

  const runPass = async (pass: Pass): Promise<void> => {
    const logs = new Set<string>();
    for await (const page of walk.accounts()) {
      const looks = page.length === 0 ? [] : await crypto.lookAtRecords(page);
      await eachOf(page.entries(), async ([i, { id: name }]) => {
        const aid = looks[i]?.facts?.aid;
        if (aid !== undefined) {
          logs.add(aid);
          await renewAccount(pass, aid, name);
        }
      });
      await renewPage(pass, page, '');
    }
    for await (const page of walk.installation()) {
      await renewPage(pass, page, '');
    }
    // What deleted accounts have left.
    for (const aid of new Set(await auditStore.chains()).difference(logs.add(''))) {
      for await (const page of walk.securityLog(aid)) {
        await renewPage(pass, page, '');
      }
    }
    await renewReplies(pass);
  };

  /** Seals the root again; false when it changed in between, or does not open. */
  const renewRoot = async (pass: Pass): Promise<boolean> => {
    const record = await recordStore.readRoot();
    const [result] = await crypto.renewRecords([{ place: ROOT_PLACE, record }]);
    const isNew =
      result?.keyId === masterKeys.writeId ||
      (result?.renewed !== undefined && (await recordStore.replace('root', '', '', record, result.renewed)));
    pass.tally.add('root', isNew ? masterKeys.writeId : result?.keyId, 1);
    return isNew;
  };

  return async (onPass: (pass: number) => PassWatch): Promise<Rotation> => {
    const passes: number[] = [];
    for (;;) {
      const watch = onPass(passes.length + 1);
      const pass = newPass(watch.seen);
      await runPass(pass);
      watch.end();
      const isQuiet = pass.renewed + pass.missed === 0;
      passes.push(pass.renewed);
      const done = isQuiet && (await renewRoot(pass));
      if (done || passes.length >= PASSES_MAX) {
        const { tally, lost, lostTotal, repliesFound } = pass;
        const { writeId: writeKey } = masterKeys;
        return { writeKey, passes, keys: tally.counts, lost, lostTotal, repliesFound, done };
      }
    }
  };
}
