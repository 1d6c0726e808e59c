import { recover } from '../../core/concurrency.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { HeadsStore, ReadHeads } from '../../log-heads/store.ts';
import { parseHeadsCheckpoint } from '../../log-heads/verify.ts';
import type { Bucket } from '../../redis/records/name.ts';
import { addChecked, addFaults, type Fault, type Report } from '../report.ts';
import type { LiveAccount, VaultKey, Walk } from '../walk.ts';

const KIND = 'log heads';
/** Attempts to read a bucket whose logs are recorded meanwhile. */
const TRIES_MAX = 5;

/** The logs of a bucket as they are recorded with them: their sum, their number, and the logs that are shorter. */
interface FoundLogs {
  readonly sum: string;
  readonly logs: number;
  readonly cut: readonly string[];
}

/** Verifies item logs against the heads that were recorded of them. */
export class HeadsVerifier {
  constructor(
    private readonly headsStore: HeadsStore,
    private readonly crypto: Crypto,
    private readonly walk: Walk,
  ) {}

  /** Verifies that the logs of a bucket are at least as long as recorded, and the record as new as its account says. */
  async verifyBucket(report: Report, key: VaultKey, number: number): Promise<void> {
    addChecked(report, KIND, 1);
    await addFaults(report, () => this.bucketFaults(key, number));
  }

  /** Verifies the records of an account about its logs: its keys, its mark, and the newest checkpoint. */
  async verifyAccount(report: Report, account: LiveAccount): Promise<void> {
    addChecked(report, KIND, 1);
    await addFaults(report, () => this.accountFaults(account));
  }

  private async bucketFaults({ account, kid, user }: VaultKey, number: number): Promise<Fault[]> {
    const { aid, name } = account;
    const bucket = { kid, number };
    const faultAt = (place: string, what: string, state: Fault['state'] = 'bad'): Fault => ({
      ...{ kind: KIND, account: name, place: `${user}/${place}`, what, state },
    });
    const whole = `bucket ${number}`;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { buckets } = await this.headsStore.readKey(aid, kid);
      const record = await this.headsStore.record(bucket);
      if (buckets.length === 0 && record.length === 0) {
        return [];
      }
      const read = this.crypto.readBucketHeads({ params: { aid, kid, bucket: number }, record, buckets });
      const recorded = await recover(read, 'integrity_failed', undefined);
      if (recorded === undefined) {
        return [faultAt(whole, 'what was recorded of its logs does not open')];
      }
      if (!recorded.isCurrent) {
        return [faultAt(whole, 'what was recorded of its logs is older than the account says')];
      }
      const found = await this.foundLogs(aid, bucket);
      if (!(await this.headsStore.record(bucket)).equals(record)) {
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

  private async foundLogs(aid: string, bucket: Bucket): Promise<FoundLogs> {
    const { kid, number } = bucket;
    // An item that is written meanwhile comes twice; one that is removed is also among the removed ones.
    const seen = new Set<string>();
    const cut: string[] = [];
    let sum = '00'.repeat(32);
    for await (const { tokens: all, heads } of this.logPages(bucket)) {
      const fresh = all.flatMap((token, i) => (seen.has(token) ? [] : [{ token, head: heads[i] }]));
      const tokens = fresh.map(({ token }) => token);
      const found = await this.crypto.sumHeads({
        params: { aid, kid, bucket: number, tokens },
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

  private async *logPages(bucket: Bucket): AsyncGenerator<ReadHeads, void, void> {
    yield* this.headsStore.all(bucket);
    yield await this.headsStore.removed(bucket);
  }

  private async accountFaults(account: LiveAccount): Promise<Fault[]> {
    const { aid, name } = account;
    // Before the mark: it can only be newer.
    const text = await this.headsStore.readCheckpoint(aid);
    const { mark, keys } = await this.headsStore.readAccount(aid);
    const covered = keys.filter(({ buckets }) => buckets.length > 0);
    const fault = (what: string, place = ''): Fault => ({
      kind: KIND,
      account: name,
      place,
      what,
      state: 'bad',
    });
    const read = this.crypto.readHeadsMark({
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
          this.crypto.checkHeadsCheckpoint({ checkpoint }).then(() => true),
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
    for await (const { kid } of this.walk.keys(account)) {
      live.add(kid);
    }
    const lost = covered.filter(({ kid, proof }) => proof.length === 0 && !live.has(kid));
    return [...faults, ...lost.map(({ kid }) => fault('the key is gone, and nobody has deleted it', kid))];
  }
}

function xorHex(a: string, b: string): string {
  const other = Uint8Array.fromHex(b);
  return Uint8Array.fromHex(a)
    .map((byte, i) => byte ^ (other[i] ?? 0))
    .toHex();
}
