import type { Audit } from '../../audit/audit.ts';
import { Memory } from '../../core/cache.ts';
import type { Clock } from '../../core/clock.ts';
import { createTickJoin } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import { SCOPES_OF_ROLE } from '../../core/roles.ts';
import { Secret } from '../../core/secret.ts';
import type { PeopleSettings } from '../../core/settings.ts';
import { type Crypto, openJson, sealJson } from '../../crypto/client.ts';
import { GENERATED_CHARACTERS } from '../../domain/account.ts';
import { networkOf } from '../../domain/text/network.ts';
import type { Account, AccountContext, RequestContext } from '../../request/context.ts';
import { personOf } from '../../request/permission.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import type { Observer } from '../../telemetry/observer.ts';
import { outcomeOf, type SignedInAccount } from '../credential/sign-in.ts';
import {
  changeOfPerson,
  entryOf,
  type KnownPerson,
  newEpoch,
  type PersonRecords,
} from '../person/records.ts';
import type { PersonName, PersonStore } from '../person/store.ts';
import type { AccountRecords } from '../records.ts';
import { endCookie, SESSION_COOKIE, setCookie } from './cookie.ts';
import type { SessionStore, StoredSession } from './store.ts';

/** A session ends when it has not been used for so long, and in any case so long after the sign-in. */
const IDLE_MS = 15 * 60 * 1_000;
const LIFE_MS = 8 * 60 * 60 * 1_000;
/** What gives somebody lasting access needs a sign-in within this time. */
const RECENT_MS = 5 * 60 * 1_000;
/** The shortest time between two records of the use of a session. */
const NOTED_MS = 30_000;
/** The same for the person. */
const SEEN_MS = 60_000;
const CACHED_MAX = 10_000;
const CACHED_MS = 60_000;

/** How somebody has proven who they are. */
export type SignInKind = { readonly kind: 'passkey'; readonly passkeyId: string } | { readonly kind: 'oidc' };

/** The sealed record of a session. Times are ms since 1970. */
interface SessionRecord {
  readonly aid: string;
  readonly person: string;
  /** That of the person when it signed in. */
  readonly epoch: number;
  readonly how: SignInKind;
  readonly signedInMs: number;
}

/** A cookie of a session, as a request brings it. */
export interface SessionCaller {
  readonly kind: 'session';
  /** The digest of its token. */
  readonly digest: string;
  /** True for a request that nobody has caused: it keeps no session alive. */
  readonly isPoll: boolean;
}

/** A session that was opened, and what it leads to as that was read then. */
interface KnownSession extends SignedInAccount {
  readonly sealed: Buffer;
  readonly record: SessionRecord;
  readonly person: KnownPerson;
  readonly owner: SignedInAccount;
  /** The account with the rights of the person. */
  readonly account: Account;
}

/** Sessions of people: opened after a sign-in, proven by a cookie, and ended on every server at once. */
export class Sessions {
  /** Sessions that were used recently, by digest; used only while all that is stored of them is the same. */
  private readonly cache: Memory<KnownSession>;
  /** Times of uses that were recorded recently, by digest of the session, and by id of the person. */
  private readonly noted: Memory<true>;
  private readonly seen: Memory<true>;
  private readonly reading = createTickJoin<StoredSession | undefined>();

  constructor(
    private readonly store: SessionStore,
    private readonly personStore: PersonStore,
    private readonly persons: PersonRecords,
    private readonly records: AccountRecords,
    private readonly crypto: Crypto,
    private readonly audit: Audit,
    private readonly settings: PeopleSettings,
    private readonly observer: Observer,
    private readonly recordEvent: RecordEvent,
    private readonly now: Clock,
  ) {
    this.cache = new Memory(CACHED_MAX, CACHED_MS, now);
    this.noted = new Memory(CACHED_MAX, NOTED_MS, now);
    this.seen = new Memory(CACHED_MAX, SEEN_MS, now);
  }

  /**
   * Opens a session after a sign-in, which is logged first, and returns the `Set-Cookie` of its token. Rejects with
   * `account_suspended`, or with `unauthenticated` if the person has lost its account.
   */
  async open(
    ctx: RequestContext,
    person: KnownPerson,
    how: SignInKind,
  ): Promise<{ readonly cookie: string; readonly person: KnownPerson }> {
    const { consoleUrl: url } = this.settings;
    const { name, record } = person;
    const owner = await this.records.find(record.account);
    if (url === undefined || owner?.account.aid !== name.aid) {
      throw new VaultError('unauthenticated');
    }
    const outcome = outcomeOf(owner.account);
    await this.audit.record(entryOf(ctx, 'person.signin', person, outcome));
    if (outcome !== 'success') {
      throw new VaultError(outcome);
    }
    const token = await this.crypto.makePassphrase({ length: GENERATED_CHARACTERS });
    const digest = this.crypto.digestCredential(token);
    const usedMs = this.now();
    const session: SessionRecord = {
      ...{ aid: name.aid, person: name.id, epoch: record.epoch, how },
      signedInMs: usedMs,
    };
    const sealed = Buffer.from(await sealJson(this.crypto, '', 'session', digest, session));
    await this.store.create(digest, { record: sealed, usedMs, network: networkOf(ctx.ip) }, IDLE_MS);
    this.noteSeen(name);
    this.observer.count('sign_in', how.kind);
    return { cookie: this.crypto.passTo(token, (text) => setCookie(url, SESSION_COOKIE, text)), person };
  }

  /** Returns what a request with this token is signed in by; nothing is verified yet. */
  callerOf(token: string, isPoll: boolean): SessionCaller {
    return { kind: 'session', digest: this.crypto.digestCredential(new Secret(token)), isPoll };
  }

  /** Returns the id of the account of a session, if this process knows it. */
  aidOf({ digest }: SessionCaller): string | undefined {
    return this.cache.get(digest)?.record.aid;
  }

  /**
   * Returns the account with the rights of the person. Session, person and account are read as they are stored now, in one round
   * trip if they are known. Rejects with `unauthenticated`.
   */
  async signIn(ctx: RequestContext, { digest, isPoll }: SessionCaller): Promise<Account> {
    const known = this.cache.get(digest);
    const [stored, seenPerson, seenOwner] = await Promise.all([
      this.reading(digest, () => this.store.read(digest)),
      known && this.persons.find(known.person.name),
      known && this.records.find(known.person.record.account),
    ]);
    const now = this.now();
    if (stored === undefined || now - stored.usedMs >= IDLE_MS) {
      throw new VaultError('unauthenticated');
    }
    const isSame = known?.sealed.equals(stored.record) === true;
    const record = isSame ? known.record : await this.openRecord(digest, stored.record);
    const person = isSame ? seenPerson : await this.persons.find({ aid: record.aid, id: record.person });
    const owner = isSame ? seenOwner : person && (await this.records.find(person.record.account));
    if (
      person?.record.epoch !== record.epoch ||
      owner?.account.aid !== record.aid ||
      now >= record.signedInMs + LIFE_MS
    ) {
      throw new VaultError('unauthenticated');
    }
    this.noteUse(ctx, digest, isPoll, stored.network, person);
    if (isSame && known.person === person && known.owner === owner) {
      return known.account;
    }
    const account = limited(owner.account, digest, record, person);
    // The record is copied: it is a view of a larger reply, which the cache would keep in memory.
    this.cache.set(digest, { sealed: Buffer.from(stored.record), record, person, owner, account });
    return account;
  }

  /** Rejects with `sign_in_again` a session whose sign-in was more than five minutes ago. Others are not asked. */
  requireRecent({ credential }: Account): void {
    const signedInMs = credential?.person?.signedInMs;
    if (signedInMs !== undefined && this.now() - signedInMs > RECENT_MS) {
      throw new VaultError('sign_in_again');
    }
  }

  /** Ends the session of a request, and returns the `Set-Cookie` that ends its cookie. */
  async end({ account }: AccountContext): Promise<string> {
    const { session } = personOf(account);
    await this.store.remove(session);
    this.cache.delete(session);
    return endCookie(this.settings.consoleUrl ?? '', SESSION_COOKIE);
  }

  /** Ends all sessions of the person of a request, on every server at once. */
  async endAll(ctx: AccountContext): Promise<string> {
    const { aid } = ctx.account;
    const { id } = personOf(ctx.account);
    const known = await this.persons.change({ aid, id }, (before) => ({ ...before, epoch: newEpoch() }));
    const change = changeOfPerson(known.name, known.record);
    await this.audit.record({ ...entryOf(ctx, 'person.change', known), change });
    return this.end(ctx);
  }

  private openRecord(digest: string, sealed: Uint8Array): Promise<SessionRecord> {
    return openJson<SessionRecord>(this.crypto, '', 'session', digest, sealed);
  }

  /** Records a use, and reports a change of the network once. No one waits for it, and no request fails with it. */
  private noteUse(
    { ip }: RequestContext,
    digest: string,
    isPoll: boolean,
    networkBefore: string,
    { name, record }: KnownPerson,
  ): void {
    const network = networkOf(ip);
    const isDue = !isPoll && this.noted.get(digest) === undefined;
    if (isDue || network !== networkBefore) {
      if (isDue) {
        this.noted.set(digest, true);
      }
      this.store.touch(digest, isDue ? this.now() : undefined, network, IDLE_MS).then(
        (state) => {
          if (state === 'moved') {
            this.recordEvent('session_moved', { account: record.account, person: name.id });
          }
        },
        () => this.noted.delete(digest),
      );
    }
    if (!isPoll) {
      this.noteSeen(name);
    }
  }

  private noteSeen({ aid, id }: PersonName): void {
    if (this.seen.get(id) === undefined) {
      this.seen.set(id, true);
      this.personStore.touch(aid, id, this.now()).catch(() => this.seen.delete(id));
    }
  }
}

/** The account with those of its rights that a person has. */
function limited(
  account: Account,
  session: string,
  { how, signedInMs }: SessionRecord,
  { name: { id }, record: { name, role, keys, unmasked } }: KnownPerson,
): Account {
  const passkeyId = how.kind === 'passkey' ? how.passkeyId : undefined;
  const credential = {
    ...{ id: `person/${id}`, name, scopes: new Set(SCOPES_OF_ROLE[role]), keys: keys && new Set(keys) },
    ...{ ips: undefined, hosts: undefined, expiresAtMs: Number.POSITIVE_INFINITY, owner: id },
    person: { id, role, session, passkeyId, signedInMs, expiresAtMs: signedInMs + LIFE_MS },
  };
  return { ...account, unmasked: account.unmasked && unmasked, credential };
}
