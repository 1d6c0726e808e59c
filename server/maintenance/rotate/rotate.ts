import { type LostRecord, lose, newPass, type Pass } from '../pass.ts';
import { countKey, type KeyCounts } from '../report.ts';
import type { FoundRecord } from '../store/records.ts';
import { type MaintenanceDependencies, type Visitor, visitAccounts, visitLast, visitRest } from '../walk.ts';
import { reencryptBucket } from './items.ts';

/** The outcome of a rotation. */
export interface Rotation {
  readonly writeKey: string;
  /** Records re-encrypted in each pass. */
  readonly passes: readonly number[];
  /** Records by kind and by the key that they are under, as the last pass has left them. */
  readonly keys: KeyCounts;
  /** The first of them; `lostTotal` counts all. */
  readonly lost: readonly LostRecord[];
  readonly lostTotal: number;
  /** False where Redis forbids SCAN: replies kept for Idempotency-Keys could not be searched for, and expire in 24 h. */
  readonly repliesFound: boolean;
  /** Whether the last pass has found nothing under another key. */
  readonly done: boolean;
}

const PASSES_MAX = 12;

/** Observes a pass: how many records it has seen, and its end. */
export interface PassObserver {
  readonly seen: (records: number) => void;
  readonly end: () => void;
}

async function reencryptPage(
  { crypto, recordStore, masterKeys }: MaintenanceDependencies,
  pass: Pass,
  account: string,
  page: readonly FoundRecord[],
): Promise<void> {
  const results = page.length === 0 ? [] : await crypto.reencryptRecords({ records: page });
  await Promise.all(
    page.map(async (found, i) => {
      const { label: kind, id: place } = found;
      const { keyId, record: renewed } = results[i] ?? {};
      const isReplaced = renewed !== undefined && (await recordStore.replace(found, renewed));
      countKey(pass.keys, kind, isReplaced ? masterKeys.writeId : keyId);
      if (renewed !== undefined) {
        pass[isReplaced ? 'reencrypted' : 'missed'] += 1;
      } else if (keyId !== masterKeys.writeId) {
        lose(pass, { kind, account: kind === 'account' ? place : account, place });
      }
    }),
  );
  pass.seen(page.length);
}

/** Re-encrypts what has to come last, the root; false when it changed in between, or does not open. */
async function reencryptLast(parts: MaintenanceDependencies, { keys, seen }: Pass): Promise<boolean> {
  const pass: Pass = { ...newPass(seen), keys };
  await visitLast(parts, visitorOf(parts, pass));
  return pass.missed + pass.lostTotal === 0;
}

function visitorOf(parts: MaintenanceDependencies, pass: Pass): Visitor {
  return {
    records: (account, page) => reencryptPage(parts, pass, account, page),
    bucket: (key, number) => reencryptBucket(parts, pass, key, number),
  };
}

/**
 * Re-encrypts every record under the ring's write key while the vault is in use. Each record is replaced only where it
 * is still what was read, so that this can be stopped at any point and run again, also twice at once. The root comes
 * last: with the new key alone a server starts only once everything else is under it.
 */
export async function rotateMasterKey(
  parts: MaintenanceDependencies,
  observe: (pass: number) => PassObserver,
): Promise<Rotation> {
  const passes: number[] = [];
  for (;;) {
    const { seen, end } = observe(passes.length + 1);
    const pass = newPass(seen);
    const visitor = visitorOf(parts, pass);
    const { aids } = await visitAccounts(parts, visitor);
    const repliesFound = await visitRest(parts, visitor, aids);
    end();
    passes.push(pass.reencrypted);
    const done = pass.reencrypted + pass.missed === 0 && (await reencryptLast(parts, pass));
    if (done || passes.length >= PASSES_MAX) {
      const { keys, lost, lostTotal } = pass;
      return { writeKey: parts.masterKeys.writeId, passes, keys, lost, lostTotal, repliesFound, done };
    }
  }
}
