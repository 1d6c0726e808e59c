import type { Accounts } from '../account/accounts.ts';
import type { Credentials } from '../account/credential/credentials.ts';
import { OPERATOR } from '../account/credential/records.ts';
import type { Credential } from '../account/credential/schema.ts';
import type { Certificates } from '../certificate/certificates.ts';
import type { Connections } from '../connection/connections.ts';
import { type Clock, DAY_MS } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import type { Cursors } from '../core/cursors.ts';
import { failureFields } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';
import { compareTexts } from '../domain/text/order.ts';
import { DURATION_EXPECTED, formatExpiry, parseDuration } from '../domain/text/time.ts';
import type { Endpoints } from '../endpoint/endpoints.ts';
import type { ServerStore } from '../installation/server-store.ts';
import type { Account, AccountContext } from '../request/context.ts';
import { mayUseKey } from '../request/permission.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import { EXPIRING_KINDS, type Expiring, type ExpiringQuery } from './schema.ts';
import type { ExpiringStore } from './store.ts';

const ENDPOINT_KINDS = ['capture', 'retrieve', 'inbound'] as const;
type EndpointKind = (typeof ENDPOINT_KINDS)[number];

function isEndpointKind(kind: string): kind is EndpointKind {
  return ENDPOINT_KINDS.some((one) => one === kind);
}

/** The periods of the metric, from now. */
const PERIODS = [
  ['1d', DAY_MS],
  ['7d', 7 * DAY_MS],
  ['30d', 30 * DAY_MS],
] as const;
/** The pause between two looks whether figures are to be counted, and after a failure. */
const LOOK_MS = 5_000;
const FAILED_MS = 60_000;

/** A figure of the metric. */
interface Figure {
  readonly kind: (typeof EXPIRING_KINDS)[number];
  readonly within: (typeof PERIODS)[number][0];
  readonly count: number;
}

/** The figures in the order in which they are stored. */
const FIGURES = EXPIRING_KINDS.flatMap((kind) => PERIODS.map(([within, ms]) => ({ kind, within, ms })));

/** The last entry of a page: what follows is after it. */
type Position = readonly [expiresAt: string, kind: string, id: string];

/**
 * Lists and counts what somebody has to renew before it expires. It reads the records of other services; only long-lived endpoints
 * have an index by their end.
 */
export class ExpiringThings {
  constructor(
    private readonly store: ExpiringStore,
    private readonly servers: ServerStore,
    private readonly accounts: Accounts,
    private readonly credentials: Credentials,
    private readonly certificates: Certificates,
    private readonly connections: Connections,
    private readonly endpoints: Endpoints,
    private readonly cursors: Cursors,
    private readonly recordEvent: RecordEvent,
    private readonly now: Clock,
  ) {}

  /** Returns a page of what expires in a period, the soonest first. Rejects with `invalid_request` or `cursor_invalid`. */
  async list({ account }: AccountContext, { within, limit, next_token }: ExpiringQuery) {
    const upTo = this.endOfPeriod(within);
    const scope = ['expiring', account.aid, within];
    // The cursor is signed by this service.
    const after = next_token === undefined ? undefined : (this.cursors.verify(scope, next_token) as Position);
    const wanted = limit < 0 ? Number.POSITIVE_INFINITY : limit;
    const lists = await Promise.all([
      this.readTls(),
      this.readCertificates(account.aid),
      this.readCredentials(account.aid, (credential) => sees(account, credential)),
      ...ENDPOINT_KINDS.map((kind) => this.readEnding(account, kind, after, upTo, wanted + 1)),
    ]);
    const all = lists
      .flat()
      .filter(({ expires_at }) => Date.parse(expires_at) <= upTo)
      .filter((one) => after === undefined || compare(positionOf(one), after) > 0)
      .toSorted((a, b) => compare(positionOf(a), positionOf(b)));
    const found = all.slice(0, wanted);
    const last = found.at(-1);
    const hasMore = all.length > found.length && last !== undefined;
    return { found, nextToken: hasMore ? this.cursors.sign(scope, positionOf(last)) : undefined };
  }

  /**
   * Counts what expires over all accounts, if no server has done so in the last minute. Resolves with the ms until the next
   * look; never rejects.
   */
  async round(): Promise<number> {
    try {
      if (await this.store.claim()) {
        await this.store.write(await this.count());
      }
      return LOOK_MS;
    } catch (error) {
      this.recordEvent('expiring_failed', failureFields(error));
      return FAILED_MS;
    }
  }

  /** Returns the figures of the metric, usually at most a minute old, never over two; undefined if they are unknown. */
  async figures(): Promise<readonly Figure[] | undefined> {
    const counts = await this.store.read();
    return counts.length === FIGURES.length && counts.every(Number.isSafeInteger)
      ? FIGURES.map(({ kind, within }, at) => ({ kind, within, count: counts[at] ?? 0 }))
      : undefined;
  }

  /** Returns the certificates and credentials of an account that expire. */
  async renewals(
    aid: string,
  ): Promise<readonly (Expiring & { readonly kind: 'certificate' | 'credential' })[]> {
    const all = (await Promise.all([this.readCertificates(aid), this.readCredentials(aid)])).flat();
    return all.flatMap(({ kind, ...rest }) =>
      kind === 'certificate' || kind === 'credential' ? [{ kind, ...rest }] : [],
    );
  }

  /** Counts one account after the other, so that requests are served in between. */
  private async count(): Promise<readonly number[]> {
    const now = this.now();
    const operators = await skipDamaged(this.readCredentials(OPERATOR.aid));
    const sums = await this.countOf([...(await this.readTls()), ...operators], undefined, now);
    for (const { aid } of await this.accounts.list()) {
      const few = await Promise.all([this.readCertificates(aid), this.readCredentials(aid)].map(skipDamaged));
      const counts = await this.countOf(few.flat(), aid, now);
      for (const [at, count] of counts.entries()) {
        sums[at] = (sums[at] ?? 0) + count;
      }
    }
    return sums;
  }

  /** Counts what was read, and the endpoints of an account, which are not read. */
  private countOf(few: readonly Expiring[], aid: string | undefined, now: number): Promise<number[]> {
    return Promise.all(
      FIGURES.map(({ kind, ms }) => {
        if (isEndpointKind(kind)) {
          return aid === undefined ? 0 : this.endpoints.countEnding(aid, kind, now, now + ms);
        }
        return few.filter((one) => one.kind === kind && Date.parse(one.expires_at) <= now + ms).length;
      }),
    );
  }

  /** The end of a period that begins now, in ms since 1970. */
  private endOfPeriod(within: string): number {
    const ms = parseDuration(within);
    if (ms === undefined) {
      throw new VaultError('invalid_request', { field: 'query.within', expected: DURATION_EXPECTED });
    }
    return ms === 'forever' ? Number.POSITIVE_INFINITY : this.now() + ms;
  }

  /** Returns the certificate of the running server that expires first. */
  private async readTls(): Promise<readonly Expiring[]> {
    const ends = (await this.servers.list()).map(({ certificateEnd }) => Date.parse(certificateEnd));
    const first = Math.min(...ends.filter((end) => !Number.isNaN(end)));
    return Number.isFinite(first) ? [{ kind: 'tls', id: 'server', expires_at: formatExpiry(first) }] : [];
  }

  /** Returns the client certificates of an account, by their own ids and by those of the connections that name them. */
  private async readCertificates(aid: string): Promise<readonly Expiring[]> {
    const own = (await this.certificates.all(aid)).map(
      ({ id, expiry }): Expiring => ({
        kind: 'certificate',
        id,
        expires_at: formatExpiry(Date.parse(expiry)),
      }),
    );
    const ends = new Map(own.map(({ id, expires_at }) => [id, expires_at]));
    const named: Expiring[] = [];
    // Without certificates there is nothing to look for.
    for await (const some of own.length === 0 ? [] : this.connections.all(aid)) {
      for (const { id, client_cert_id = '' } of some) {
        const expires_at = ends.get(client_cert_id);
        if (expires_at !== undefined) {
          named.push({ kind: 'connection_certificate', id, expires_at });
        }
      }
    }
    return [...own, ...named];
  }

  /** Returns the credentials of an account that expire and have not. */
  private async readCredentials(
    aid: string,
    isWanted: (credential: Credential) => boolean = () => true,
  ): Promise<readonly Expiring[]> {
    const now = this.now();
    return (await this.credentials.list(aid)).filter(isWanted).flatMap(({ id, expires_at }): Expiring[] => {
      const end = Date.parse(expires_at ?? '');
      return end > now ? [{ kind: 'credential', id, expires_at: formatExpiry(end) }] : [];
    });
  }

  /** Returns at least `wanted` endpoints after a position, as far as there are, with all others of the last one's second. */
  private async readEnding(
    account: Account,
    kind: EndpointKind,
    after: Position | undefined,
    upTo: number,
    wanted: number,
  ): Promise<readonly Expiring[]> {
    const from = after === undefined ? this.now() : Math.max(this.now(), Date.parse(after[0]));
    const found: Expiring[] = [];
    for await (const some of this.endpoints.ending(account.aid, kind, from, upTo)) {
      for (const { unique_id: id, user, expires_at } of some) {
        if (found.length >= wanted && found.at(-1)?.expires_at !== expires_at) {
          return found;
        }
        // An endpoint without an end is not among those by their end.
        const one: Expiring = { kind, id, expires_at: expires_at ?? '', user };
        if (mayUseKey(account, user) && (after === undefined || compare(positionOf(one), after) > 0)) {
          found.push(one);
        }
      }
    }
    return found;
  }
}

/** A credential that is limited to keys sees itself, and those that are limited to these keys. */
function sees({ credential }: Account, { id, keys }: Credential): boolean {
  const own = credential?.keys;
  return own === undefined || credential?.id === id || (keys?.every((key) => own.has(key)) ?? false);
}

/** A damaged record must not hide what expires in other accounts; `vault verify` names it. */
function skipDamaged(reading: Promise<readonly Expiring[]>): Promise<readonly Expiring[]> {
  return recover(reading, 'integrity_failed', []);
}

function positionOf({ expires_at, kind, id }: Expiring): Position {
  return [expires_at, kind, id];
}

/** Compares positions; times of this form are in the order of their texts. */
function compare(a: Position, b: Position): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return compareTexts(a[at] ?? '', b[at] ?? '');
}
