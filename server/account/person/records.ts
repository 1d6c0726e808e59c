import { randomInt } from 'node:crypto';
import type { RecordChange } from '../../../workers/jobs/audit/jobs.ts';
import type { SecurityEvent } from '../../audit/audit.ts';
import { Memory } from '../../core/cache.ts';
import type { Clock } from '../../core/clock.ts';
import { createTickJoin } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import { type Role, SCOPES_OF_ROLE } from '../../core/roles.ts';
import { type Crypto, openJson, sealJson } from '../../crypto/client.ts';
import { type CredentialLimits, isPersonId, stateOfPerson } from '../../domain/account.ts';
import type { NamedRecord } from '../../redis/records/named.ts';
import type { RequestContext } from '../../request/context.ts';
import type { PersonName, PersonStore } from './store.ts';

const CACHED_MAX = 10_000;
const CACHED_MS = 60_000;
/** Attempts to change a person while other requests do. */
const CHANGE_TRIES_MAX = 10;
/** Epochs are random, so that a person who is made again has another one. */
const EPOCHS = 2 ** 47;

export interface PasskeyRecord {
  /** The id of the WebAuthn credential, base64url. */
  readonly id: string;
  /** What its owner calls it. */
  readonly name: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  /** The newest signature counter; 0 of passkeys that do not count. */
  readonly counter: number;
  readonly transports?: readonly string[];
  readonly created_at: string;
}

export interface PersonRecord {
  /** The name of the account. */
  readonly account: string;
  readonly name: string;
  readonly role: Role;
  /** Vault keys that the person may use, by `user`; all if omitted. */
  readonly keys?: readonly string[];
  readonly unmasked: boolean;
  /** Sessions that were opened under another epoch have ended: one write ends all of them, on every server. */
  readonly epoch: number;
  readonly passkeys: readonly PasskeyRecord[];
  /** The invitation that was not used yet, by the digest of its token. */
  readonly invitation?: { readonly digest: string; readonly expiresAtMs: number };
  /** The subject at the provider, for a person who signs in with OpenID Connect. */
  readonly oidc?: { readonly iss: string; readonly sub: string };
  readonly created_at: string;
  /** Of a deleted person of a provider: what the next sign-in begins with. */
  readonly isGone?: true;
}

/** A person as it was read. */
export interface KnownPerson {
  readonly name: PersonName;
  readonly sealed: Buffer;
  readonly record: PersonRecord;
}

/** Opens and changes the records of people. */
export class PersonRecords {
  /** People that were opened recently, by id; used only while the stored record is the same. */
  private readonly cache: Memory<KnownPerson>;
  private readonly reading = createTickJoin<Buffer | undefined>();

  constructor(
    private readonly store: PersonStore,
    private readonly crypto: Crypto,
    now: Clock,
  ) {
    this.cache = new Memory(CACHED_MAX, CACHED_MS, now);
  }

  /** Reads a person as it is stored now, in one round trip; undefined if there is none. */
  async find(name: PersonName): Promise<KnownPerson | undefined> {
    const { aid, id } = name;
    const stored = isPersonId(id)
      ? await this.reading(`${aid} ${id}`, () => this.store.read(aid, id))
      : undefined;
    const known = stored && (await this.open(aid, { id, record: stored }));
    return known?.record.isGone === true ? undefined : known;
  }

  /** Opens a record that was read, also one of a deleted person. Rejects with `integrity_failed` for any other bytes. */
  async open(aid: string, { id, record: stored }: NamedRecord): Promise<KnownPerson> {
    const known = this.cache.get(id);
    if (known?.name.aid === aid && known.sealed.equals(stored)) {
      return known;
    }
    const record = await openJson<PersonRecord>(this.crypto, aid, 'person', id, stored);
    // The record is copied: it is a view of a larger reply, which the cache would keep in memory.
    const fresh = { name: { aid, id }, sealed: Buffer.from(stored), record };
    this.cache.set(id, fresh);
    return fresh;
  }

  seal({ aid, id }: PersonName, record: PersonRecord): Promise<Uint8Array> {
    return sealJson(this.crypto, aid, 'person', id, record);
  }

  /**
   * Changes a person, and returns it as it is stored then. `edit` runs again if another request has changed it in between; if it
   * throws, or returns what it was given, nothing changes. Rejects with `person_not_found`. With `isGoneToo` a deleted person of a provider is changed too.
   */
  async change(
    name: PersonName,
    edit: (record: PersonRecord) => PersonRecord | Promise<PersonRecord>,
    isGoneToo = false,
  ): Promise<KnownPerson> {
    const { aid, id } = name;
    for (let tries = 0; tries < CHANGE_TRIES_MAX; tries++) {
      const stored = isPersonId(id) ? await this.store.read(aid, id) : undefined;
      const known = stored && (await this.open(aid, { id, record: stored }));
      if (known === undefined || (known.record.isGone === true && !isGoneToo)) {
        throw new VaultError('person_not_found');
      }
      const record = await edit(known.record);
      if (record === known.record) {
        return known;
      }
      const sealed = Buffer.from(await this.seal(name, record));
      if (await this.store.replace(aid, id, known.sealed, sealed)) {
        this.cache.delete(id);
        return { name, sealed, record };
      }
    }
    throw new VaultError('overloaded');
  }
}

export function newEpoch(): number {
  return randomInt(EPOCHS);
}

/** The limits of what a person may do; the account's own are not among them. */
export function limitsOfPerson({
  role,
  keys,
  unmasked,
}: Pick<PersonRecord, 'role' | 'keys' | 'unmasked'>): CredentialLimits {
  return { scopes: SCOPES_OF_ROLE[role], keys, unmasked, expiresAtMs: Number.POSITIVE_INFINITY };
}

/** The state of a person for the security log. */
export function changeOfPerson({ id }: PersonName, record: PersonRecord, isGone = false): RecordChange {
  return { kind: 'person', id, digest: stateOfPerson(record), isGone };
}

/** What a person has done itself, for the security log. */
export function entryOf(
  { ip, userAgent, requestId }: RequestContext,
  action: SecurityEvent['action'],
  { name: { aid, id }, record }: Pick<KnownPerson, 'name' | 'record'>,
  outcome = 'success',
): SecurityEvent {
  const actor = `person/${id}`;
  return {
    ...{ aid, action, outcome, actor, actorName: record.name, object: actor },
    ...{ ip, userAgent, requestId },
  };
}
