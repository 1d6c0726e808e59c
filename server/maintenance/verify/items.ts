import type { LongLog } from '../../../workers/jobs/maintenance/jobs.ts';
import type { Clock } from '../../core/clock.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { KeyStore } from '../../key/store.ts';
import type { Bucket } from '../../redis/records/name.ts';
import type { MemberIndex } from '../../redis/records/scan.ts';
import type { ItemStore } from '../../vault/store/items.ts';
import { addChecked, addFaults, addKeys, type Fault, type Report } from '../report.ts';
import type { CensusStore, IndexEntry } from '../store/census.ts';
import type { SurveyStore } from '../store/survey.ts';
import type { VaultKey, Walk } from '../walk.ts';

/** Entries of a long log that are verified at once. */
const LOG_STEP = 500;
const TAG_BYTES = 16;
/** The size of a digest in the metadata index. */
const DIGEST_BYTES = 8;
/** Longer than any deletion closes a bucket. */
const CLOSED_MS_MAX = 120_000;

/** The names of the indexes in reports. */
const INDEX_KINDS = { references: 'reference index', metadata: 'metadata index' } as const;

/** The bucket that is verified. Without a report nothing is counted, because it was counted before. */
interface Target {
  readonly key: VaultKey;
  readonly bucket: Bucket;
  readonly report?: Report;
}

interface OwnMember {
  readonly token: string;
  readonly member: Uint8Array;
}

/** Verifies the items of a bucket with all that belongs to them, its indexes both ways, and its fence. */
export class BucketVerifier {
  constructor(
    private readonly surveyStore: SurveyStore,
    private readonly censusStore: CensusStore,
    private readonly itemStore: ItemStore,
    private readonly keyStore: KeyStore,
    private readonly crypto: Crypto,
    private readonly walk: Walk,
    private readonly isRootMoving: () => boolean,
    private readonly now: Clock,
  ) {}

  async verify(report: Report, key: VaultKey, number: number): Promise<void> {
    const target: Target = { key, bucket: { kid: key.kid, number } };
    await this.verifyItems({ ...target, report }, report);
    for (const index of ['references', 'metadata'] as const) {
      for await (const entries of this.censusStore.entries(target.bucket, index)) {
        addChecked(report, INDEX_KINDS[index], entries.length);
        await addFaults(report, () => this.indexFaults(target, index, entries));
      }
    }
    for await (const tokens of this.censusStore.expiries(target.bucket)) {
      addChecked(report, 'expiries', tokens.length);
      await addFaults(report, () => this.expiryFaults(target, tokens));
    }
    addChecked(report, 'fence', 1);
    await addFaults(report, () => this.fenceFaults(target));
  }

  private async verifyItems(target: Target, report: Report): Promise<void> {
    const { key, bucket } = target;
    for await (const page of this.surveyStore.tokens(bucket)) {
      for (let at = 0; at < page.length; ) {
        const { items, faults } = await this.itemFaults(target, page.slice(at));
        const tokens = new Set(faults.map(({ place }) => place.slice(key.user.length + 1)));
        const check = async (): Promise<Fault[]> => {
          const again = await Promise.all(
            [...tokens].map((token) => this.itemFaults({ key, bucket }, [token])),
          );
          return again.flatMap((found) => found.faults);
        };
        await addFaults(report, check, faults);
        at += items;
      }
    }
  }

  /** Verifies the first of these items, as many as one survey takes. */
  private async itemFaults(
    target: Target,
    all: readonly string[],
  ): Promise<{ readonly items: number; readonly faults: readonly Fault[] }> {
    const { key, bucket, report } = target;
    const { kid, account } = key;
    const gen = report ? key.gen : await this.newestGen(target);
    if (gen === undefined) {
      return { items: all.length, faults: [] };
    }
    const { blob, items } = await this.surveyStore.survey(bucket, all);
    const tokens = all.slice(0, items);
    const params = { aid: account.aid, kid, gen, now: this.now(), tokens };
    const verified = await this.crypto.verifyItems({ params, survey: blob });
    const { findings, members, metadata, expiries } = verified;
    const missing = await this.unindexed(target, 'references', referencesOf(tokens, members));
    const unfound = await this.unindexed(target, 'metadata', metadataEntries(metadata));
    const due = await this.censusStore.expiriesOf(bucket, tokens);
    const wrong = tokens.filter((_, i) => due[i] !== expiries[i]);
    const mistimed = await this.existing(bucket, wrong);
    const logs = await Promise.all(
      findings.long.map((log) => this.logFaults(target, tokens[log.item] ?? '', log)),
    );
    if (report) {
      addKeys(report.keys, findings.keys);
      for (const [kind, count] of Object.entries(findings.checked)) {
        addChecked(report, kind, count);
      }
    }
    const foreign = tokens.filter((token) => this.itemStore.bucketOf(kid, token).number !== bucket.number);
    const faults = [
      ...findings.faults.map(({ item, kind, what }) => faultOf(target, kind, tokens[item] ?? '', what)),
      ...foreign.map((token) => faultOf(target, 'time index', token, 'the item belongs into another bucket')),
      ...missing.map((token) => this.indexFault(target, 'references', token, 'the item is not in it')),
      ...unfound.map((token) => this.indexFault(target, 'metadata', token, 'the item is not in it')),
      ...mistimed.map((token) =>
        faultOf(target, 'expiries', token, 'it does not name the item as its metadata says'),
      ),
      ...logs.flat(),
    ];
    return { items, faults };
  }

  /** Verifies the entries of a long log that did not come with their item. */
  private async logFaults(
    target: Target,
    token: string,
    { first, length }: LongLog,
  ): Promise<readonly Fault[]> {
    const { key, report } = target;
    const { kid, account } = key;
    const tagOf = (entry: Buffer): Buffer => entry.subarray(-TAG_BYTES);
    const tags = (await this.itemStore.readLogUp(kid, token, 1, first - 1)).map(tagOf);
    for (let at = first; at <= length; at += LOG_STEP) {
      const last = Math.min(at + LOG_STEP - 1, length);
      const entries = await this.itemStore.readLogUp(kid, token, at, last);
      const params = { aid: account.aid, kid, token, first: at };
      const before = Buffer.concat(tags);
      const { wrongAt, keys } = await this.crypto.verifyLog({ params, before, entries });
      if (wrongAt !== null) {
        return [faultOf(target, 'log', token, `entry ${wrongAt} is not what was written`)];
      }
      if (report) {
        addKeys(report.keys, keys);
        addChecked(report, 'log', entries.length);
      }
      tags.push(...entries.map(tagOf));
    }
    return [];
  }

  /** Finds entries of an index without an item that has such a reference or metadata. */
  private async indexFaults(
    target: Target,
    index: MemberIndex,
    entries: readonly IndexEntry[],
  ): Promise<readonly Fault[]> {
    const { key, bucket } = target;
    const tokens = entries.map(({ token }) => token);
    const metas = await this.censusStore.metas(bucket, tokens);
    const params = { aid: key.account.aid, kid: key.kid, tokens };
    const members = await (index === 'references'
      ? this.crypto.referenceMembers({ params, metas })
      : this.crypto.metadataMembers({ params, metas }));
    // A member contains its token, so it equals no member of another item.
    const own = new Set(members.map((member) => Buffer.from(member).toString('latin1')));
    const unknown = entries.filter(({ member }) => !own.has(member.toString('latin1')));
    const isThere = await this.censusStore.hasMembers(
      bucket,
      index,
      unknown.map(({ member }) => member),
    );
    const what = `an entry has no item of its ${index === 'references' ? 'reference' : 'metadata'}`;
    return unknown
      .filter((_, i) => isThere[i])
      .map(({ token }) => this.indexFault(target, index, token, what));
  }

  /** Finds tokens that are to expire, or have expired, and are no items. */
  private async expiryFaults(target: Target, tokens: readonly string[]): Promise<readonly Fault[]> {
    const { bucket } = target;
    const isItem = await this.censusStore.hasItems(bucket, tokens);
    const isListed = await this.censusStore.hasTimes(bucket, tokens);
    const due = await this.censusStore.expiriesOf(bucket, tokens);
    return tokens
      .filter((_, i) => !(isItem[i] && isListed[i]) && due[i] !== 0)
      .map((token) => faultOf(target, 'expiries', token, 'it names an item that is not there'));
  }

  /**
   * Verifies the fence. A change of passphrase moves the key to its next generation, then its fences, and is listed as
   * unfinished meanwhile. Reads in this order therefore show no fault of a key that is being changed.
   */
  private async fenceFaults(target: Target): Promise<readonly Fault[]> {
    const { key, bucket } = target;
    const gen = await this.newestGen(target);
    const changes = await this.keyStore.changesLeft(key.account.aid);
    const fence = await this.censusStore.fence(bucket);
    const now = this.now();
    const fault = (what: string, state?: Fault['state']): Fault[] => [
      faultOf(target, 'fence', `bucket ${bucket.number}`, what, state),
    ];
    if (gen === undefined) {
      return [];
    }
    if (!Number.isSafeInteger(fence.gen) || fence.gen > ((await this.newestGen(target)) ?? fence.gen)) {
      return fault('it names a generation that the key does not have');
    }
    if (!Number.isFinite(fence.closedUntil) || fence.closedUntil > now + CLOSED_MS_MAX) {
      return fault('it is closed for longer than a deletion takes');
    }
    if (fence.gen < gen) {
      const isChanging = changes.some(({ kid }) => kid === key.kid);
      return fault('it stands at an older generation', isChanging ? 'unfinished' : 'bad');
    }
    return fence.closedUntil > now ? fault('a deletion has closed it', 'unfinished') : [];
  }

  /** Returns the newest generation of the key as it is stored now; undefined once the key is gone. */
  private async newestGen({ key }: Target): Promise<number | undefined> {
    const facts = (await this.walk.openAgain(key.found))?.facts;
    return facts?.kid === key.kid ? facts.gen : undefined;
  }

  /** Returns the tokens of items that exist and that an index should have and has not. */
  private async unindexed(
    { bucket }: Target,
    index: MemberIndex,
    own: readonly OwnMember[],
  ): Promise<readonly string[]> {
    const members = own.map(({ member }) => member);
    const isThere = await this.censusStore.hasMembers(bucket, index, members);
    const absent = own.filter((_, i) => !isThere[i]);
    return this.existing(
      bucket,
      absent.map(({ token }) => token),
    );
  }

  private async existing(bucket: Bucket, tokens: readonly string[]): Promise<readonly string[]> {
    const isItem = await this.censusStore.hasItems(bucket, tokens);
    return tokens.filter((_, i) => isItem[i]);
  }

  /** Returns a fault of an index; while the root is rotated, an entry may be under the other root. */
  private indexFault(target: Target, index: MemberIndex, token: string, what: string): Fault {
    return faultOf(target, INDEX_KINDS[index], token, what, this.isRootMoving() ? 'unfinished' : 'bad');
  }
}

function faultOf(
  { key }: Target,
  kind: string,
  id: string,
  what: string,
  state: Fault['state'] = 'bad',
): Fault {
  return { kind, account: key.account.name, place: id === '' ? key.user : `${key.user}/${id}`, what, state };
}

function referencesOf(tokens: readonly string[], members: readonly Uint8Array[]): OwnMember[] {
  return members.flatMap((member, i) => (member.length > 0 ? [{ member, token: tokens[i] ?? '' }] : []));
}

/** Members of the metadata index with their tokens and digests. */
export function metadataEntries(members: readonly Uint8Array[]) {
  return members.map((member) => ({
    member,
    digest: member.subarray(0, DIGEST_BYTES),
    token: Buffer.from(member).toString('utf8', DIGEST_BYTES, member.length - 2),
  }));
}
