import { createHash } from 'node:crypto';
import type { RecordChange } from '../../../workers/jobs/audit/jobs.ts';
import type { Audit } from '../../audit/audit.ts';
import type { AuditAction } from '../../audit/schema.ts';
import type { Clock, RandomId } from '../../core/clock.ts';
import { recover } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { Role } from '../../core/roles.ts';
import { Secret } from '../../core/secret.ts';
import type { PeopleSettings } from '../../core/settings.ts';
import type { Crypto } from '../../crypto/client.ts';
import { GENERATED_CHARACTERS, isWithinLimits, personIdOf, stateOfPerson } from '../../domain/account.ts';
import { requireName } from '../../domain/mask/metadata.ts';
import { formatExpiry, formatStoredAt } from '../../domain/text/time.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { mapInPieces } from '../../limits/pieces.ts';
import { type Account, actorNameOf, type RequestContext } from '../../request/context.ts';
import { outsideScope } from '../../request/permission.ts';
import type { Credentials } from '../credential/credentials.ts';
import { limitsOfCaller } from '../credential/records.ts';
import type { WrapRecords } from '../passkey/wrap-records.ts';
import type { AccountRecords } from '../records.ts';
import {
  changeOfPerson,
  entryOf,
  type KnownPerson,
  limitsOfPerson,
  newEpoch,
  type PasskeyRecord,
  type PersonRecord,
  type PersonRecords,
} from './records.ts';
import type { Person, PersonInput } from './schema.ts';
import type { PersonName, PersonStore } from './store.ts';

/** A person with a new invitation, shown once, and the change for the security log. */
export interface InvitedPerson {
  readonly known: KnownPerson;
  /** The URL of the console that accepts it. */
  readonly invitation: Secret<string>;
  readonly expiresAtMs: number;
  readonly change: RecordChange;
}

/** A sign-in with OpenID Connect that a role was found for. */
export interface OidcSignIn {
  readonly account: string;
  readonly role: Role;
  readonly iss: string;
  readonly sub: string;
  readonly name: string;
}

type Rights = Pick<PersonRecord, 'role' | 'keys' | 'unmasked'>;

const INVITATION_MS = 24 * 60 * 60 * 1_000;
const PASSKEYS_MAX = 20;
/** The longest time between a digest and its record: an older digest without one is no change in progress. */
const CHANGE_MS = 60 * 60 * 1_000;
const ID_CHARACTERS = 22;

/** The people of accounts: who may sign in at the console, and with which rights. */
export class Persons {
  constructor(
    private readonly store: PersonStore,
    private readonly records: PersonRecords,
    private readonly accounts: AccountRecords,
    private readonly credentials: Credentials,
    private readonly wraps: WrapRecords,
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly audit: Audit,
    private readonly settings: PeopleSettings,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Adds a person and invites it. Rejects with `not_allowed`, `people_unavailable` or `persons_full`. */
  async create(account: Account, input: PersonInput): Promise<InvitedPerson> {
    const { aid } = account;
    this.requireAvailable();
    requireName(input.name);
    const rights = rightsOf(input);
    await this.requireMayGive(account, rights);
    const { invitation, digest, expiresAtMs } = await this.makeInvitation();
    const record: PersonRecord = {
      ...{ account: account.name, name: input.name, ...rights, epoch: newEpoch(), passkeys: [] },
      invitation: { digest, expiresAtMs },
      created_at: new Date(this.now()).toISOString(),
    };
    const name = { aid, id: personIdOf(this.randomId()) };
    const sealed = Buffer.from(await this.records.seal(name, record));
    await this.store.pointers.point(digest, name, this.now());
    if ((await this.store.create(aid, name.id, sealed)) !== 'ok') {
      await this.store.pointers.unpoint([digest]);
      throw new VaultError('persons_full');
    }
    const known = { name, sealed, record };
    return { known, invitation, expiresAtMs, change: changeOfPerson(name, record) };
  }

  /** Returns the people of an account, the oldest first. */
  async list(aid: string): Promise<readonly Person[]> {
    const [found, lastUses] = await Promise.all([this.store.readAll(aid), this.store.lastUses(aid)]);
    const opened = await mapInPieces(this.limiter, aid, found, (one) => this.records.open(aid, one));
    return opened
      .filter(({ record }) => record.isGone !== true)
      .sort((a, b) => (a.record.created_at + a.name.id < b.record.created_at + b.name.id ? -1 : 1))
      .map((known) => shownOf(known, lastUses.get(known.name.id)));
  }

  /** Returns a person. Rejects with `person_not_found`. */
  async read(aid: string, id: string): Promise<Person> {
    const [known, lastUseMs] = await Promise.all([this.find({ aid, id }), this.store.lastUse(aid, id)]);
    return shownOf(known, lastUseMs);
  }

  /**
   * Replaces name and rights of a person. Other rights end its sessions, and the credentials that it has made and that exceed it
   * now. Rejects with `person_not_found`, `not_allowed` or `person_of_provider`.
   */
  async change(ctx: RequestContext, account: Account, id: string, input: PersonInput): Promise<Person> {
    requireName(input.name);
    const rights = rightsOf(input);
    await this.requireMayGive(account, rights);
    const { name } = await this.edit(ctx, account, id, (before) => {
      if (before.oidc !== undefined && before.role !== rights.role) {
        throw new VaultError('person_of_provider', { field: 'body.role' });
      }
      const { keys: _, ...others } = before;
      const epoch = isSame(before, rights) ? before.epoch : newEpoch();
      return { ...others, name: input.name, ...rights, epoch };
    });
    return this.read(account.aid, name.id);
  }

  /**
   * Removes a person, on every server at once: its sessions, its credentials and its invitation end. `actor` is named for these.
   * Rejects with `person_not_found` or `not_allowed`.
   */
  async remove(
    ctx: RequestContext,
    account: Account,
    id: string,
    actor = actorNameOf(account),
  ): Promise<void> {
    const { aid } = account;
    let before: PersonRecord | undefined;
    // Two steps: what ends it is exact, and a process that dies before the second one leaves nothing that could be used.
    const gone = await this.edit(
      ctx,
      account,
      id,
      (found) => {
        before = found;
        const { invitation: _, ...others } = found;
        return { ...others, passkeys: [], unmasked: false, epoch: newEpoch(), isGone: true };
      },
      actor,
    );
    if (isLeftover(gone.record)) {
      await this.store.remove(aid, id);
    }
    ctx.change = before && changeOfPerson(gone.name, before, true);
  }

  /** Invites a person anew; the invitation before ends. Rejects like `change`, and with `people_unavailable`. */
  async invite(
    ctx: RequestContext,
    account: Account,
    id: string,
    actor = actorNameOf(account),
  ): Promise<InvitedPerson> {
    this.requireAvailable();
    const { invitation, digest, expiresAtMs } = await this.makeInvitation();
    const name = { aid: account.aid, id };
    await this.find(name);
    await this.store.pointers.point(digest, name, this.now());
    const known = await this.edit(
      ctx,
      account,
      id,
      (before) => {
        if (before.oidc !== undefined) {
          throw new VaultError('person_of_provider');
        }
        return { ...before, invitation: { digest, expiresAtMs } };
      },
      actor,
    ).catch(async (error: unknown) => {
      await this.store.pointers.unpoint([digest]);
      throw error;
    });
    return { known, invitation, expiresAtMs, change: changeOfPerson(known.name, known.record) };
  }

  /** Removes a passkey, and ends the sessions of its person. Rejects with `passkey_not_found` or like `change`. */
  async removePasskey(ctx: RequestContext, account: Account, id: string, passkeyId: string): Promise<void> {
    await this.edit(ctx, account, id, (before) => {
      const passkeys = before.passkeys.filter((passkey) => passkey.id !== passkeyId);
      if (passkeys.length === before.passkeys.length) {
        throw new VaultError('passkey_not_found');
      }
      return { ...before, passkeys, epoch: newEpoch() };
    });
  }

  /** Returns the person that an invitation leads to. Rejects with `invitation_gone` or `account_suspended`. */
  async invited(token: Secret<string>): Promise<KnownPerson> {
    const digest = this.crypto.digestCredential(token);
    const name = await this.store.pointers.find(digest);
    const known = name && (await this.records.find(name));
    if (known === undefined || !this.isInvited(known.record, digest)) {
      throw new VaultError('invitation_gone');
    }
    await this.requireAccount(known);
    return known;
  }

  /**
   * Adds a passkey to a person. With an invitation it uses that up in the same write, and logs it. Rejects with `invitation_gone`,
   * `passkey_exists`, `passkeys_full` or `person_of_provider`.
   */
  async addPasskey(
    ctx: RequestContext,
    { name }: KnownPerson,
    passkey: PasskeyRecord,
    invitation?: Secret<string>,
  ): Promise<KnownPerson> {
    const used = invitation && this.crypto.digestCredential(invitation);
    const digest = this.digestOf(passkey.id);
    // A digest that leads nowhere may be that of a registration in progress; the sweep removes the others.
    if (!(await this.store.pointers.claim(digest, name, this.now()))) {
      throw new VaultError('passkey_exists');
    }
    const known = await this.records
      .change(name, (before) => this.withPasskey(before, passkey, used))
      .catch(async (error: unknown) => {
        // After a fault of the store the passkey may be there.
        if (error instanceof VaultError && error.status < 500) {
          await this.store.pointers.unpoint([digest]);
        }
        const isGone = error instanceof VaultError && error.code === 'person_not_found';
        throw isGone && used !== undefined ? new VaultError('invitation_gone') : error;
      });
    await this.store.pointers.unpoint(used === undefined ? [] : [used]);
    ctx.change = changeOfPerson(known.name, known.record);
    if (used !== undefined) {
      await this.log(ctx, 'person.passkey.add', known);
    }
    return known;
  }

  /** Returns the person and the passkey of the id of a WebAuthn credential; undefined if there is none. */
  async byPasskey(
    credentialId: string,
  ): Promise<{ readonly person: KnownPerson; readonly passkey: PasskeyRecord } | undefined> {
    const name = await this.store.pointers.find(this.digestOf(credentialId));
    const person = name && (await this.records.find(name));
    const passkey = person?.record.passkeys.find(({ id }) => id === credentialId);
    return person && passkey && { person, passkey };
  }

  /** Stores the new signature counter of a passkey. `older` if it has not grown: then it stays. */
  async notePasskeyUse(
    { name }: KnownPerson,
    passkeyId: string,
    counter: number,
  ): Promise<'ok' | 'older' | 'gone'> {
    let state: 'ok' | 'older' | 'gone' = 'gone';
    const changed = this.records.change(name, (before) => {
      const passkey = before.passkeys.find(({ id }) => id === passkeyId);
      state = passkey === undefined ? 'gone' : passkey.counter < counter ? 'ok' : 'older';
      return state === 'ok'
        ? { ...before, passkeys: before.passkeys.map((one) => (one === passkey ? { ...one, counter } : one)) }
        : before;
    });
    await recover(changed, 'person_not_found', undefined);
    return state;
  }

  /**
   * Finds or makes the person of a subject of a provider, with the role and the name that it has now, and logs what has changed. Another
   * role ends its sessions. Rejects with `unauthenticated` if there is no such account, `persons_full`, or `account_suspended`, which is
   * logged as a sign-in.
   */
  async fromOidc(ctx: RequestContext, { account, role, iss, sub, name }: OidcSignIn): Promise<KnownPerson> {
    const owner = await this.accounts.find(account);
    if (owner === undefined) {
      throw new VaultError('unauthenticated');
    }
    const { aid, isSuspended } = owner.account;
    const hash = createHash('sha256')
      .update(JSON.stringify([aid, iss, sub]))
      .digest('base64url');
    const person = { aid, id: personIdOf(hash.slice(0, ID_CHARACTERS)) };
    const created_at = new Date(this.now()).toISOString();
    const first: PersonRecord = {
      ...{ account, name, role, unmasked: false, epoch: newEpoch(), passkeys: [] },
      ...{ oidc: { iss, sub }, created_at },
    };
    if (isSuspended === true) {
      await this.audit.record(
        entryOf(ctx, 'person.signin', { name: person, record: first }, 'account_suspended'),
      );
      throw new VaultError('account_suspended');
    }
    const sealed = Buffer.from(await this.records.seal(person, first));
    const outcome = await this.store.create(aid, person.id, sealed);
    if (outcome === 'full') {
      throw new VaultError('persons_full');
    }
    if (outcome === 'ok') {
      const known = { name: person, sealed, record: first };
      await this.log(ctx, 'person.create', known);
      return known;
    }
    let action: AuditAction | undefined;
    const known = await this.records.change(
      person,
      (found) => {
        const { isGone, ...before } = found;
        if (isGone !== true && before.role === role && before.name === name) {
          action = undefined;
          return found;
        }
        action = isGone === true ? 'person.create' : 'person.change';
        const epoch = isGone === true || before.role !== role ? newEpoch() : before.epoch;
        return { ...before, name, role, epoch };
      },
      true,
    );
    if (action !== undefined) {
      await this.endExceeding(ctx, known, `person/${person.id}`);
      await this.log(ctx, action, known);
    }
    return known;
  }

  /** Removes the people of an account whose state is one of these. */
  async removeStates(aid: string, states: ReadonlySet<string>): Promise<void> {
    for (const one of states.size === 0 ? [] : await this.store.readAll(aid)) {
      const known = await recover(this.records.open(aid, one), 'integrity_failed', undefined);
      if (known !== undefined && states.has(stateOfPerson(known.record))) {
        await this.store.remove(aid, one.id);
      }
    }
  }

  /** Removes digests that lead to no person, and what an interrupted deletion has left. */
  async sweep(aids: readonly string[]): Promise<void> {
    for await (const pointers of this.store.pointers.all()) {
      const old = pointers.filter(({ storedMs }) => storedMs + CHANGE_MS < this.now());
      const dangling = await Promise.all(
        old.map(async (one) => ((await this.isDangling(one)) ? one.digest : [])),
      );
      await this.store.pointers.unpoint(dangling.flat());
    }
    for (const aid of aids) {
      for (const one of await this.store.readAll(aid)) {
        const known = await recover(this.records.open(aid, one), 'integrity_failed', undefined);
        if (known !== undefined && isLeftover(known.record)) {
          await this.store.remove(aid, one.id);
        }
      }
    }
  }

  private async find(name: PersonName): Promise<KnownPerson> {
    const known = await this.records.find(name);
    if (known === undefined) {
      throw new VaultError('person_not_found');
    }
    return known;
  }

  /**
   * Changes a person for a caller who may touch it, then removes digests that it no longer has and credentials that exceed it. A
   * change that gives rights is checked before.
   */
  private async edit(
    ctx: RequestContext,
    account: Account,
    id: string,
    edit: (before: PersonRecord) => PersonRecord,
    actor = actorNameOf(account),
  ): Promise<KnownPerson> {
    const unmasked = await this.isUnmasked(account);
    let ended: readonly string[] = [];
    let passkeysBefore = 0;
    const known = await this.records.change({ aid: account.aid, id }, (before) => {
      requireWithin(account, before, unmasked);
      const after = edit(before);
      const kept = new Set(this.digestsOf(after));
      ended = this.digestsOf(before).filter((digest) => !kept.has(digest));
      passkeysBefore = before.passkeys.length;
      return after;
    });
    await this.store.pointers.unpoint(ended);
    if (known.record.passkeys.length < passkeysBefore) {
      await this.wraps.keepUnder(known.name, known.record.passkeys);
    }
    await this.endExceeding(ctx, known, actor, account.credential?.name);
    ctx.change = changeOfPerson(known.name, known.record);
    return known;
  }

  /** Removes the credentials that a person has made and that exceed it, and logs that. None of them could be used any more. */
  private async endExceeding(
    { ip, userAgent, requestId }: RequestContext,
    { name: { aid, id }, record }: KnownPerson,
    actor: string,
    actorName?: string,
  ): Promise<void> {
    const limits = record.isGone === true ? undefined : limitsOfPerson(record);
    for (const ended of await this.credentials.removeExceeding(aid, id, limits)) {
      await this.audit.record({
        ...{ aid, action: 'credential.delete', outcome: 'success', actor, actorName },
        ...{ ip, userAgent, requestId, object: `credential/${ended.id}`, change: ended.change },
      });
    }
  }

  private withPasskey(before: PersonRecord, passkey: PasskeyRecord, used: string | undefined): PersonRecord {
    if (used !== undefined && !this.isInvited(before, used)) {
      throw new VaultError('invitation_gone');
    }
    if (before.oidc !== undefined) {
      throw new VaultError('person_of_provider');
    }
    if (before.passkeys.length >= PASSKEYS_MAX) {
      throw new VaultError('passkeys_full');
    }
    const { invitation, ...others } = before;
    const kept = used === undefined && invitation !== undefined ? { invitation } : {};
    return { ...others, ...kept, passkeys: [...before.passkeys, passkey] };
  }

  private isInvited({ invitation }: PersonRecord, digest: string): boolean {
    return invitation?.digest === digest && invitation.expiresAtMs > this.now();
  }

  private digestOf(credentialId: string): string {
    return this.crypto.digestCredential(new Secret(`passkey ${credentialId}`));
  }

  private digestsOf({ passkeys, invitation }: PersonRecord): readonly string[] {
    return [...passkeys.map(({ id }) => this.digestOf(id)), ...(invitation ? [invitation.digest] : [])];
  }

  private async isDangling({ digest, ...name }: PersonName & { readonly digest: string }): Promise<boolean> {
    const known = await recover(this.records.find(name), 'integrity_failed', 'damaged');
    return known !== 'damaged' && (known === undefined || !this.digestsOf(known.record).includes(digest));
  }

  private requireAvailable(): void {
    if (this.settings.flaw !== undefined) {
      throw new VaultError('people_unavailable');
    }
  }

  /** Reads the account of a caller without the limits of that caller. Rejects with `unauthenticated` if it is gone. */
  private async ownerOf({ name, aid }: Account): Promise<{ readonly isUnmasked: boolean }> {
    const owner = await this.accounts.find(name);
    if (owner?.account.aid !== aid) {
      throw new VaultError('unauthenticated');
    }
    return { isUnmasked: owner.account.unmasked };
  }

  /** Tells whether a caller sees numbers unmasked, or would in an account that does: rights are compared as they are stored. */
  private async isUnmasked({ aid, unmasked, credential }: Account): Promise<boolean> {
    const id = credential?.person?.id;
    return unmasked || (id !== undefined && (await this.records.find({ aid, id }))?.record.unmasked === true);
  }

  /** Rejects rights that the account does not have, or the caller. */
  private async requireMayGive(account: Account, rights: Rights): Promise<void> {
    const { isUnmasked } = await this.ownerOf(account);
    if (rights.unmasked && !isUnmasked) {
      const expected = 'needs unmasked output, which this account does not have';
      throw new VaultError('not_allowed', { field: 'body.unmasked', expected });
    }
    requireWithin(account, rights);
  }

  /** Rejects a person whose account is gone or suspended. */
  private async requireAccount({ name, record }: KnownPerson): Promise<void> {
    const owner = await this.accounts.find(record.account);
    if (owner?.account.aid !== name.aid) {
      throw new VaultError('invitation_gone');
    }
    if (owner.account.isSuspended === true) {
      throw new VaultError('account_suspended');
    }
  }

  private async makeInvitation() {
    const token = await this.crypto.makePassphrase({ length: GENERATED_CHARACTERS });
    const digest = this.crypto.digestCredential(token);
    const url = this.settings.consoleUrl ?? '';
    const invitation = token.map((text) => `${url}/console#/join?token=${text}`);
    return { invitation, digest, expiresAtMs: this.now() + INVITATION_MS };
  }

  /** Logs how a person has changed itself. */
  private log(ctx: RequestContext, action: AuditAction, known: KnownPerson): Promise<void> {
    const change = changeOfPerson(known.name, known.record);
    return this.audit.record({ ...entryOf(ctx, action, known), change });
  }
}

function rightsOf({ role, keys, unmasked = false }: PersonInput): Rights {
  return { role, ...(keys === undefined ? {} : { keys: [...new Set(keys)] }), unmasked };
}

function isSame(one: Rights, other: Rights): boolean {
  const keysOf = ({ keys }: Rights): string => JSON.stringify(keys?.toSorted() ?? null);
  return one.role === other.role && one.unmasked === other.unmasked && keysOf(one) === keysOf(other);
}

/** True for a deleted person of which nothing is kept for its return. */
function isLeftover({ isGone, oidc, keys }: PersonRecord): boolean {
  return isGone === true && (oidc === undefined || keys === undefined);
}

/** Rejects a person who exceeds the caller, or an owner if the caller is none. Addresses, hosts and time of a credential do not count. */
function requireWithin(account: Account, rights: Rights, unmasked = account.unmasked): void {
  const own = limitsOfCaller(account);
  if (own === undefined) {
    return;
  }
  if (rights.role === 'owner' && account.credential?.person?.role !== 'owner') {
    throw outsideScope(account, 'owners, whom only an owner and the password of the account may touch');
  }
  const { scopes, keys } = own;
  const bounds = { scopes, keys, unmasked, expiresAtMs: Number.POSITIVE_INFINITY };
  if (!isWithinLimits(limitsOfPerson(rights), bounds)) {
    throw outsideScope(account, 'everything that this person may do');
  }
}

/** The rights of a person as the API shows them. */
function shownRightsOf({ name: { id }, record: { name, role, keys, unmasked } }: KnownPerson) {
  return { id, name, role, ...(keys && { keys: [...keys] }), unmasked };
}

/** A person as the API shows it. */
export function shownOf(known: KnownPerson, lastUseMs: number | undefined): Person {
  const { oidc, passkeys } = known.record;
  return {
    ...shownRightsOf(known),
    ...(oidc && { oidc: true as const }),
    last_seen_at: lastUseMs === undefined ? null : formatStoredAt(lastUseMs),
    passkeys: passkeys.map(({ id, name, created_at }) => ({ id, name, created_at })),
  };
}

/** An invited person as the API shows it, without the invitation. */
export function invitedOf({ known, expiresAtMs }: InvitedPerson) {
  return { ...shownRightsOf(known), expires_at: formatExpiry(expiresAtMs) };
}
