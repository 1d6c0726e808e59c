import type { Reencryption } from '../../../workers/jobs/maintenance/jobs.ts';
import type { Clock } from '../../core/clock.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { ItemStore } from '../../vault/store/items.ts';
import { addKeys, countKey, type KeyCounts, type Report } from '../report.ts';
import type { FoundRecord, RecordStore } from '../store/records.ts';
import type { SurveyStore } from '../store/survey.ts';
import type { VaultKey, Visitor, Walk } from '../walk.ts';

const PASSES_MAX = 12;
const LOST_MAX = 100;
/** Entries of a long log that are re-encrypted at once. */
const LOG_STEP = 500;

/** A record that no key of the ring opens in its place. */
interface LostRecord {
  readonly kind: string;
  readonly account: string;
  readonly place: string;
}

/** One pass of a rotation over all records. */
interface Pass {
  reencrypted: number;
  /** Records that changed in the meantime: the next pass finds them. */
  missed: number;
  lostTotal: number;
  readonly keys: Report['keys'];
  readonly lost: LostRecord[];
  readonly seen: (records: number) => void;
}

export interface Rotation {
  readonly writeKey: string;
  readonly passes: readonly number[];
  /** Records by kind and by their master key, after the last pass. */
  readonly keys: KeyCounts;
  /** The first records that do not open; `lostTotal` counts all. */
  readonly lost: readonly LostRecord[];
  readonly lostTotal: number;
  /** False if Redis forbids SCAN: replies for Idempotency-Keys, which expire in 24 h, were not searched for. */
  readonly repliesFound: boolean;
  /** The last pass has found nothing under another key. */
  readonly done: boolean;
}

/** Observes a pass: how many records it has seen, and its end. */
export interface PassObserver {
  readonly seen: (records: number) => void;
  readonly end: () => void;
}

/** Re-encrypts all records under the key of the ring that new records get. */
export class KeyRotation {
  constructor(
    private readonly recordStore: RecordStore,
    private readonly surveyStore: SurveyStore,
    private readonly itemStore: ItemStore,
    private readonly crypto: Crypto,
    private readonly walk: Walk,
    private readonly writeKey: string,
    private readonly now: Clock,
  ) {}

  /**
   * Re-encrypts every record while the vault is in use. Each record is replaced only if it is still the one that was read,
   * so a rotation can be interrupted, repeated, and run twice at once. The root comes last: with the new key alone a server
   * starts only when everything else is under it.
   */
  async rotate(observe: (pass: number) => PassObserver): Promise<Rotation> {
    const passes: number[] = [];
    for (;;) {
      const { seen, end } = observe(passes.length + 1);
      const pass = newPass(seen);
      const visitor = this.visitor(pass);
      const { aids } = await this.walk.visitAccounts(visitor);
      const repliesFound = await this.walk.visitRest(visitor, aids);
      end();
      passes.push(pass.reencrypted);
      const done = pass.reencrypted + pass.missed === 0 && (await this.reencryptLast(pass));
      if (done || passes.length >= PASSES_MAX) {
        const { keys, lost, lostTotal } = pass;
        return { writeKey: this.writeKey, passes, keys, lost, lostTotal, repliesFound, done };
      }
    }
  }

  private visitor(pass: Pass): Visitor {
    return {
      records: (account, page) => this.reencryptPage(pass, account, page),
      bucket: (key, number) => this.reencryptBucket(pass, key, number),
    };
  }

  /** Re-encrypts the root, which comes last. Returns false if it changed in the meantime, or does not open. */
  private async reencryptLast({ keys, seen }: Pass): Promise<boolean> {
    const pass = newPass(seen, keys);
    await this.walk.visitLast(this.visitor(pass));
    return pass.missed + pass.lostTotal === 0;
  }

  private async reencryptPage(pass: Pass, account: string, page: readonly FoundRecord[]): Promise<void> {
    const results = page.length === 0 ? [] : await this.crypto.reencryptRecords({ records: page });
    await Promise.all(
      page.map(async (found, i) => {
        const { label: kind, id: place } = found;
        const { keyId, record: renewed } = results[i] ?? {};
        const isReplaced = renewed !== undefined && (await this.recordStore.replace(found, renewed));
        countKey(pass.keys, kind, isReplaced ? this.writeKey : keyId);
        if (renewed !== undefined) {
          pass[isReplaced ? 'reencrypted' : 'missed'] += 1;
        } else if (keyId !== this.writeKey) {
          addLost(pass, { kind, account: kind === 'account' ? place : account, place });
        }
      }),
    );
    pass.seen(page.length);
  }

  /**
   * Re-encrypts the items of one bucket with their logs. Metadata and every entry of a log are separate records, each of
   * which is replaced separately: a log verifies at every moment, and new entries refer to names that do not change.
   */
  private async reencryptBucket(pass: Pass, key: VaultKey, number: number): Promise<void> {
    const { account, kid, gen } = key;
    const bucket = { kid, number };
    for await (const page of this.surveyStore.tokens(bucket)) {
      for (let at = 0; at < page.length; ) {
        const { blob, items } = await this.surveyStore.survey(bucket, page.slice(at));
        const tokens = page.slice(at, at + items);
        const params = { aid: account.aid, kid, gen, now: this.now(), tokens };
        const renewals = await this.crypto.reencryptItems({ params, survey: blob });
        await this.replaceItems(pass, key, bucket, tokens, renewals);
        for (const { item, length, first } of renewals.plan.long) {
          await this.reencryptLog(pass, key, bucket, tokens[item] ?? '', first, length);
        }
        pass.seen(items);
        at += items;
      }
    }
  }

  /** Re-encrypts the entries of a long log that did not come with their item. */
  private async reencryptLog(
    pass: Pass,
    key: VaultKey,
    bucket: Bucket,
    token: string,
    from: number,
    length: number,
  ): Promise<void> {
    const { account, kid } = key;
    for (let first = from; first <= length; first += LOG_STEP) {
      const last = Math.min(first + LOG_STEP - 1, length);
      const entries = await this.itemStore.readLogUp(kid, token, first, last);
      if (entries.length > 0) {
        const params = { aid: account.aid, kid, token, first };
        const log = await this.crypto.reencryptLog({ params, entries });
        await this.replaceItems(pass, key, bucket, [token], log);
      }
    }
  }

  private async replaceItems(
    pass: Pass,
    key: VaultKey,
    bucket: Bucket,
    tokens: readonly string[],
    { plan, parts }: Reencryption,
  ): Promise<void> {
    addKeys(pass.keys, plan.keys);
    for (const { item, name } of plan.lost) {
      const place = `${key.user}/${tokens[item] ?? ''}`;
      addLost(pass, { kind: name === 'm' ? 'item' : 'log', account: key.account.name, place });
    }
    const records = plan.fields.flatMap((field, i) => {
      const part = parts[i];
      return part ? [{ ...field, ...part }] : [];
    });
    if (records.length > 0) {
      const replaced = await this.surveyStore.replace(bucket, tokens, records);
      pass.reencrypted += replaced;
      pass.missed += records.length - replaced;
    }
  }
}

function newPass(seen: Pass['seen'], keys: Pass['keys'] = {}): Pass {
  return { reencrypted: 0, missed: 0, lostTotal: 0, keys, lost: [], seen };
}

/** Reports a record that does not open. */
function addLost(pass: Pass, record: LostRecord): void {
  pass.lostTotal += 1;
  if (pass.lost.length < LOST_MAX) {
    pass.lost.push(record);
  }
}
