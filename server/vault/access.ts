import type { AccessFilter, ShownReading } from '../../workers/jobs/vault/jobs.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import { eachOf } from '../core/concurrency.ts';
import type { Cursors } from '../core/cursors.ts';
import type { Crypto } from '../crypto/client.ts';
import { compareTexts } from '../domain/text/order.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { Bucket } from '../redis/records/name.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { Reading, ReadingStore } from './store/readings.ts';

/** Buckets that are read at once. */
const BUCKETS_AT_ONCE = 256;
/** Readings that are opened at once. */
const STEP = 256;
/** Readings that one request opens: a page of a narrow filter may be short, or empty, and have a next one. */
const OPENED_MAX = 16_384;

/** Times in ms since 1970: `after` inclusive, `before` exclusive. */
interface Query extends AccessFilter {
  readonly user?: string | undefined;
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly next_token?: string | undefined;
}

/** The place of a reading in the order of all: the newest first. */
type Place = readonly [timeMs: number, kid: string, token: string, number: number];

/** A reading of a key with this name. */
interface Named {
  readonly user: string;
  readonly reading: Reading;
}

/** Progress in one bucket. */
interface Walk {
  readonly user: string;
  readonly pages: AsyncGenerator<readonly Reading[], void, void>;
  /** Readings that were read and not taken yet, the newest first. */
  waiting: readonly Reading[];
  /** The number of readings in the last page. */
  size: number;
  /** The time down to which all readings were read. */
  downTo: number;
}

function placeOf({ timeMs, bucket: { kid }, token, number }: Reading): Place {
  return [timeMs, kid, token, number];
}

function comparePlaces(a: Place, b: Place): number {
  const [timeA, kidA, tokenA, numberA] = a;
  const [timeB, kidB, tokenB, numberB] = b;
  return timeB - timeA || compareTexts(kidA, kidB) || compareTexts(tokenA, tokenB) || numberB - numberA;
}

/**
 * Lists the successful readings of the items of an account, newest first. The script that logs a reading names its entry in an
 * index of the bucket; what is shown is the entry itself.
 */
export class AccessListing {
  constructor(
    private readonly store: ReadingStore,
    private readonly buckets: number,
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly cursors: Cursors,
  ) {}

  /** Returns a page, perhaps a short one. Rejects with `key_not_found`, `cursor_invalid` and `integrity_failed`. */
  async list({ account }: AccountContext, { limit, ...query }: Query & { readonly limit: number }) {
    const { user, actor, source_ip, endpoint, after, before, next_token } = query;
    const scope = [account.aid, 'GET /v1/vault/access', user, actor, source_ip, endpoint, after, before];
    // The cursor was signed below.
    const from = next_token === undefined ? undefined : (this.cursors.verify(scope, next_token) as Place);
    const entries: ShownReading[] = [];
    let last: Reading | undefined;
    let opened = 0;
    const isNarrow = (actor ?? source_ip ?? endpoint) !== undefined;
    const step = isNarrow ? STEP : Math.min(STEP, limit + 1);
    for await (const some of this.find(account, query, from, step)) {
      const shown = await this.open(account, query, some);
      for (const [i, { reading }] of some.entries()) {
        if (last !== undefined && (entries.length === limit || opened === OPENED_MAX)) {
          return { entries, nextToken: this.cursors.sign(scope, placeOf(last)) };
        }
        const entry = shown[i] ?? null;
        if (entry !== null) {
          entries.push(entry);
        }
        last = reading;
        opened += 1;
      }
    }
    return { entries, nextToken: undefined };
  }

  /** Returns all readings as the JSON text of a list. Rejects as `list` does. */
  listAll({ account }: AccountContext, query: Query): Promise<ReadableStream<Uint8Array>> {
    return listStreamOf(this.walkAll(account, query));
  }

  private async *walkAll(
    account: Account,
    query: Query,
  ): AsyncGenerator<readonly ShownReading[], void, void> {
    for await (const some of this.find(account, query, undefined, STEP)) {
      yield (await this.open(account, query, some)).filter((entry) => entry !== null);
    }
  }

  /** Opens readings; null for one that is not wanted, or whose item was deleted. */
  private async open(
    { aid, name }: Account,
    { actor, source_ip, endpoint }: Query,
    named: readonly Named[],
  ): Promise<readonly (ShownReading | null)[]> {
    const parts = await this.store.parts(named.map(({ reading }) => reading));
    const existing = named.flatMap(({ user, reading }, at) => {
      const found = parts[at];
      return found === undefined ? [] : [{ at, found, user, kid: reading.bucket.kid, token: reading.token }];
    });
    const places = existing.map(({ user, kid, token }) => ({ user, kid, token }));
    const params = { aid, account: name, places, filter: { actor, source_ip, endpoint } };
    const entries = existing.map(({ found }) => found.entry);
    const metas = existing.map(({ found }) => found.meta);
    const opened = await this.crypto.readAccess({ params, entries, metas });
    const shown: (ShownReading | null)[] = named.map(() => null);
    for (const [i, { at }] of existing.entries()) {
      shown[at] = opened[i] ?? null;
    }
    return shown;
  }

  /** Yields the readings after a place, at most `max` at once. */
  private async *find(
    account: Account,
    { user, after = 0, before = Number.MAX_SAFE_INTEGER }: Query,
    from: Place | undefined,
    max: number,
  ): AsyncGenerator<readonly Named[], void, void> {
    const walks: Walk[] = [];
    for await (const key of this.keys.each(account, user)) {
      for (let number = 0; number < this.buckets; number++) {
        const bucket: Bucket = { kid: key.kid, number };
        const pages = this.store.newestFirst(bucket, Math.min(before - 1, from?.[0] ?? before), after);
        walks.push({ user: key.user, pages, waiting: [], size: 0, downTo: Number.POSITIVE_INFINITY });
      }
    }
    let known: Named[] = [];
    for (let isRead = true; isRead; ) {
      isRead = await readOn(walks);
      const isAfter = ({ reading }: Named) => from === undefined || comparePlaces(placeOf(reading), from) > 0;
      known = known.concat(takeKnown(walks).filter(isAfter));
      for (; known.length >= max || (!isRead && known.length > 0); known = known.slice(max)) {
        yield known.slice(0, max);
      }
    }
  }
}

/** Reads on in buckets of which more than half of the last page was taken; false if all have ended. */
async function readOn(walks: readonly Walk[]): Promise<boolean> {
  const behind = walks.filter(({ waiting, size, downTo }) => 2 * waiting.length <= size && downTo > -1);
  const readOne = async (walk: Walk): Promise<void> => {
    const { done, value } = await walk.pages.next();
    const page = done ? [] : value;
    walk.waiting = walk.waiting.concat(page);
    walk.size = page.length;
    walk.downTo = done ? -1 : (page.at(-1)?.timeMs ?? walk.downTo);
  };
  await eachOf(behind, readOne, BUCKETS_AT_ONCE);
  return behind.length > 0;
}

/** Takes the readings that no unread one can precede, in order. */
function takeKnown(walks: readonly Walk[]): Named[] {
  const downTo = walks.reduce((max, walk) => Math.max(max, walk.downTo), -1);
  const taken = walks.flatMap((walk) => {
    const readings = walk.waiting.filter(({ timeMs }) => timeMs >= downTo);
    walk.waiting = walk.waiting.slice(readings.length);
    return readings.map((reading) => ({ user: walk.user, reading }));
  });
  return taken.sort((a, b) => comparePlaces(placeOf(a.reading), placeOf(b.reading)));
}
