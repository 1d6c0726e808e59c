import { recover } from '../../core/concurrency.ts';
import type { HeadsStore, ReadHeads } from '../../log-heads/store.ts';
import { parseHeadsCheckpoint } from '../../log-heads/verify.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { addChecked, addFaults, type Fault, type Report } from '../report.ts';
import { keyPages, type LiveAccount, type MaintenanceDependencies, type VaultKey } from '../walk.ts';

const KIND = 'log heads';
/** How often a bucket is read again whose logs were recorded meanwhile. */
const TRIES_MAX = 5;

type Parts = Pick<MaintenanceDependencies, 'crypto' | 'headsStore' | 'recordStore'>;

/** The logs of a bucket as they are recorded with them: their sum, their number, and those that are shorter. */
interface FoundLogs {
  readonly sum: string;
  readonly logs: number;
  readonly cut: readonly string[];
}

function xorHex(a: string, b: string): string {
  const other = Uint8Array.fromHex(b);
  return Uint8Array.fromHex(a)
    .map((byte, i) => byte ^ (other[i] ?? 0))
    .toHex();
}

async function* pagesOf(headsStore: HeadsStore, bucket: Bucket): AsyncGenerator<ReadHeads, void, void> {
  yield* headsStore.all(bucket);
  yield await headsStore.removed(bucket);
}

async function foundLogs({ crypto, headsStore }: Parts, key: VaultKey, number: number): Promise<FoundLogs> {
  const { kid, account } = key;
  const bucket = { kid, number };
  // An item that is written meanwhile comes twice, one that is removed lies among the removed as well.
  const seen = new Set<string>();
  const cut: string[] = [];
  let sum = '00'.repeat(32);
  for await (const { tokens: all, heads } of pagesOf(headsStore, bucket)) {
    const fresh = all.flatMap((token, i) => (seen.has(token) ? [] : [{ token, head: heads[i] }]));
    const tokens = fresh.map(({ token }) => token);
    const found = await crypto.sumHeads({
      params: { aid: account.aid, kid, bucket: number, tokens },
      heads: fresh.map(({ head }) => head ?? Buffer.alloc(0)),
    });
    sum = xorHex(sum, found.sum);
    cut.push(...found.cut);
    for (const token of found.recorded) {
      seen.add(token);
    }
  }
  return { sum, logs: seen.size, cut };
}

async function bucketFaults(parts: Parts, key: VaultKey, number: number): Promise<Fault[]> {
  const { crypto, headsStore } = parts;
  const { account, kid, user } = key;
  const { aid, name } = account;
  const bucket = { kid, number };
  const faultAt = (place: string, what: string, state: Fault['state'] = 'bad'): Fault => ({
    ...{ kind: KIND, account: name, place: `${user}/${place}`, what, state },
  });
  const whole = `bucket ${number}`;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const { buckets } = await headsStore.readKey(aid, kid);
    const record = await headsStore.record(bucket);
    if (buckets.length === 0 && record.length === 0) {
      return [];
    }
    const read = crypto.readBucketHeads({ params: { aid, kid, bucket: number }, record, buckets });
    const recorded = await recover(read, 'integrity_failed', undefined);
    if (recorded === undefined) {
      return [faultAt(whole, 'what was recorded of its logs does not open')];
    }
    if (!recorded.isCurrent) {
      return [faultAt(whole, 'what was recorded of its logs is older than the account says')];
    }
    const found = await foundLogs(parts, key, number);
    if (!(await headsStore.record(bucket)).equals(record)) {
      continue;
    }
    if (found.cut.length > 0) {
      return found.cut.map((token) => faultAt(token, 'its log is shorter than it was, or another one'));
    }
    return found.sum === recorded.sum && found.logs === recorded.logs
      ? []
      : [faultAt(whole, 'its logs are not those that were recorded: one is shorter, gone, or from before')];
  }
  return [faultAt(whole, 'its logs were recorded while they were compared', 'unfinished')];
}

/** Verifies that the logs of a bucket are at least as long as they were recorded, and the record as new as its account says. */
export async function verifyBucketHeads(
  parts: Parts,
  report: Report,
  key: VaultKey,
  number: number,
): Promise<void> {
  addChecked(report, KIND, 1);
  await addFaults(report, () => bucketFaults(parts, key, number));
}

async function accountFaults(parts: Parts, account: LiveAccount): Promise<Fault[]> {
  const { crypto, headsStore } = parts;
  const { aid, name } = account;
  // Before the mark: it can only be newer.
  const text = await headsStore.readCheckpoint(aid);
  const { mark, keys } = await headsStore.readAccount(aid);
  const covered = keys.filter(({ buckets }) => buckets.length > 0);
  const fault = (what: string, place = ''): Fault => ({
    kind: KIND,
    account: name,
    place,
    what,
    state: 'bad',
  });
  const read = crypto.readHeadsMark({
    params: { aid, kids: covered.map(({ kid }) => kid) },
    mark,
    buckets: covered.map(({ buckets }) => buckets),
  });
  const facts = await recover(read, 'integrity_failed', undefined);
  if (facts === undefined) {
    return [fault('what was recorded of its logs does not open')];
  }
  const faults = facts.isWhole ? [] : [fault('its keys are not those whose logs were recorded')];
  const checkpoint = text === undefined ? undefined : parseHeadsCheckpoint(text);
  if (text !== undefined) {
    const isOwn =
      checkpoint?.account === aid &&
      (await recover(
        crypto.checkHeadsCheckpoint({ checkpoint }).then(() => true),
        'integrity_failed',
        false,
      ));
    if (!isOwn) {
      faults.push(fault('the checkpoint of its logs was not signed by this vault'));
    } else if (checkpoint.epoch > facts.epoch) {
      faults.push(fault('what was recorded of its logs is older than the newest checkpoint'));
    } else if (checkpoint.epoch === facts.epoch && checkpoint.link !== facts.link) {
      faults.push(fault('what was recorded of its logs is not what the newest checkpoint says'));
    }
  }
  const live = new Set<string>();
  for await (const page of keyPages(parts, account)) {
    for (const { kid } of page.keys) {
      live.add(kid);
    }
  }
  const lost = covered.filter(({ kid, proof }) => proof.length === 0 && !live.has(kid));
  return [...faults, ...lost.map(({ kid }) => fault('the key is gone, and nobody has deleted it', kid))];
}

/** Verifies what an account has recorded of its logs: its keys, its mark, and the newest checkpoint. */
export async function verifyAccountHeads(parts: Parts, report: Report, account: LiveAccount): Promise<void> {
  addChecked(report, KIND, 1);
  await addFaults(report, () => accountFaults(parts, account));
}
