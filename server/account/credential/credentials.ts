import type { RecordChange } from '../../../workers/jobs/audit/jobs.ts';
import type { Clock, RandomId } from '../../core/clock.ts';
import { recover } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { Secret } from '../../core/secret.ts';
import type { Crypto } from '../../crypto/client.ts';
import {
  type CredentialLimits,
  credentialIdOf,
  GENERATED_CHARACTERS,
  isCredentialId,
  isWithinLimits,
  SECRET_PREFIX,
  stateOfSecret,
} from '../../domain/account.ts';
import { requireName } from '../../domain/mask/metadata.ts';
import { isHostPattern, normalRange } from '../../domain/text/network.ts';
import {
  DURATION_EXPECTED,
  formatExpiry,
  formatStoredAt,
  endOf as periodEnd,
} from '../../domain/text/time.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { mapInPieces } from '../../limits/pieces.ts';
import type { Account } from '../../request/context.ts';
import { outsideScope } from '../../request/permission.ts';
import type { PersonRecords } from '../person/records.ts';
import type { Sessions } from '../session/sessions.ts';
import {
  type CredentialRecord,
  endOf,
  limitsOf,
  limitsOfCaller,
  openCredential,
  sealCredential,
} from './records.ts';
import type { CreateCredential, Credential } from './schema.ts';
import { type CredentialSignIn, isCovered } from './sign-in.ts';
import type { CredentialName, CredentialPointer, CredentialStore } from './store.ts';

/** A credential with its new secret, shown once, and the change for the security log. */
export interface CredentialWithSecret {
  readonly credential: Credential;
  readonly secret: Secret<string>;
  readonly change: RecordChange;
}

/** The time that expired credentials are listed. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
/** The longest time between a digest and its record: an older digest without one is no creation in progress. */
const CREATION_MS = 60 * 60 * 1_000;
/** Attempts to replace a credential while other requests change it. */
const ROLL_TRIES_MAX = 10;

export class Credentials {
  constructor(
    private readonly store: CredentialStore,
    private readonly crypto: Crypto,
    private readonly limiter: Limiter,
    private readonly signIn: CredentialSignIn,
    private readonly persons: PersonRecords,
    private readonly sessions: Sessions,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Creates a credential. Rejects with `invalid_request`, `not_allowed`, `sign_in_again` or `credentials_full`. */
  async create(account: Account, input: CreateCredential): Promise<CredentialWithSecret> {
    const { aid } = account;
    this.sessions.requireRecent(account);
    requireName(input.name);
    const { secret, digest } = await this.makeSecret();
    const record = recordOf(account, input, digest, this.now());
    const id = credentialIdOf(this.randomId());
    const sealed = await sealCredential(this.crypto, { aid, id }, record);
    await this.store.secrets.point(digest, { aid, id }, this.now());
    let outcome = await this.store.create(aid, id, sealed);
    const isExpired = ({ expiresAtMs = Number.POSITIVE_INFINITY }: CredentialRecord): boolean =>
      expiresAtMs + KEPT_MS < this.now();
    if (outcome === 'full' && (await this.removeWhere(aid, isExpired)) > 0) {
      outcome = await this.store.create(aid, id, sealed);
    }
    if (outcome !== 'ok') {
      await this.store.secrets.unpoint([digest]);
      throw new VaultError('credentials_full');
    }
    await this.confirmPerson({ aid, id }, record);
    return { credential: shownOf(id, record), secret, change: changeOf(id, record, false) };
  }

  /** Returns the credentials of an account, the oldest first. */
  async list(aid: string): Promise<readonly Credential[]> {
    const [found, lastUses] = await Promise.all([this.store.readAll(aid), this.store.lastUses(aid)]);
    const shown = await mapInPieces(this.limiter, aid, found, async ({ id, record }) =>
      shownOf(id, await openCredential(this.crypto, { aid, id }, record), lastUses.get(id)),
    );
    return shown.sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? -1 : 1));
  }

  /** Returns a credential. Rejects with `credential_not_found`. */
  async read(aid: string, id: string): Promise<Credential> {
    const [{ record }, lastUsedMs] = await Promise.all([
      this.readStored({ aid, id }),
      this.store.lastUse(aid, id),
    ]);
    return shownOf(id, record, lastUsedMs);
  }

  /** Removes a credential, on every server at once; undefined for an unknown one. Rejects with `not_allowed`. */
  async remove(account: Account, id: string) {
    const name = { aid: account.aid, id };
    const sealed = isCredentialId(id) ? await this.store.read(account.aid, id) : undefined;
    if (sealed === undefined) {
      return undefined;
    }
    const record = await openCredential(this.crypto, name, sealed).catch(() => undefined);
    requireWithin(account, id, record);
    return (await this.end(name, record)) ? { change: record && changeOf(id, record, true) } : undefined;
  }

  /** Replaces a secret, which stays valid for `overlapMs`. Rejects with `credential_not_found`, `not_allowed` or `sign_in_again`. */
  async roll(account: Account, id: string, overlapMs: number | undefined): Promise<CredentialWithSecret> {
    const { aid } = account;
    const name = { aid, id };
    // A new secret gives lasting access as a new credential does.
    this.sessions.requireRecent(account);
    const { secret, digest } = await this.makeSecret();
    for (let tries = 0; tries < ROLL_TRIES_MAX; tries++) {
      const { sealed, record } = await this.readStored(name);
      requireWithin(account, id, record);
      const [newest, ...older] = record.secrets;
      const kept = newest && overlapMs !== undefined ? [{ ...newest, untilMs: this.now() + overlapMs }] : [];
      const ended = kept.length > 0 ? older : record.secrets;
      const rolled = { ...record, secrets: [{ digest }, ...kept] };
      await this.store.secrets.point(digest, { aid, id }, this.now());
      if (await this.store.replace(aid, id, sealed, await sealCredential(this.crypto, name, rolled))) {
        this.signIn.forget(id);
        await this.store.secrets.unpoint(ended.map((entry) => entry.digest));
        return { credential: shownOf(id, rolled), secret, change: changeOf(id, rolled, false) };
      }
    }
    await this.store.secrets.unpoint([digest]);
    throw new VaultError('overloaded');
  }

  /** Removes the credentials of an account whose state is one of these. */
  async removeStates(aid: string, states: ReadonlySet<string>): Promise<void> {
    if (states.size > 0) {
      await this.removeWhere(aid, ({ secrets }) => states.has(stateOfSecret(secrets[0]?.digest ?? '')));
    }
  }

  /** Removes the credentials of a person that exceed these limits, all without limits, and returns them. */
  async removeExceeding(
    aid: string,
    person: string,
    limits: CredentialLimits | undefined,
  ): Promise<readonly { readonly id: string; readonly change: RecordChange }[]> {
    const ended: { readonly id: string; readonly change: RecordChange }[] = [];
    const isUnwanted = (record: CredentialRecord): boolean =>
      record.person === person && (limits === undefined || !isWithinLimits(limitsOf(record), limits));
    await this.removeWhere(aid, isUnwanted, (id, record) =>
      ended.push({ id, change: changeOf(id, record, true) }),
    );
    return ended;
  }

  /** Removes digests that lead to no credential, of deleted accounts and of interrupted creations, and what exceeds its person. */
  async sweep(): Promise<void> {
    for await (const pointers of this.store.secrets.all()) {
      const old = pointers.filter(({ storedMs }) => storedMs + CREATION_MS < this.now());
      const dangling = await Promise.all(old.map((pointer) => this.isDangling(pointer)));
      await this.store.secrets.unpoint(old.filter((_, i) => dangling[i]).map(({ digest }) => digest));
    }
  }

  /**
   * Removes a new credential again if its person was deleted or limited while it was stored: a person who gets its rights back must
   * not bring it back. Who limits the person later finds the credential. Rejects with `unauthenticated`.
   */
  private async confirmPerson(name: CredentialName, record: CredentialRecord): Promise<void> {
    if (record.person !== undefined) {
      const person = await this.persons.find({ aid: name.aid, id: record.person });
      if (!isCovered(record, person)) {
        await this.end(name, record);
        throw new VaultError('unauthenticated');
      }
    }
  }

  private async makeSecret() {
    const random = await this.crypto.makePassphrase({ length: GENERATED_CHARACTERS });
    const secret = random.map((text) => `${SECRET_PREFIX}${text}`);
    return { secret, digest: this.crypto.digestCredential(secret) };
  }

  private async removeWhere(
    aid: string,
    isUnwanted: (record: CredentialRecord) => boolean,
    onRemoved: (id: string, record: CredentialRecord) => void = () => undefined,
  ): Promise<number> {
    let removed = 0;
    for (const { id, record } of await this.store.readAll(aid)) {
      const name = { aid, id };
      const opened = await openCredential(this.crypto, name, record).catch(() => undefined);
      if (opened !== undefined && isUnwanted(opened)) {
        if (await this.end(name, opened)) {
          removed += 1;
          onRemoved(id, opened);
        }
      }
    }
    return removed;
  }

  /** Removes a credential with the digests of its record, if that could be opened; returns false if it did not exist. */
  private async end({ aid, id }: CredentialName, record: CredentialRecord | undefined): Promise<boolean> {
    if (!(await this.store.remove(aid, id))) {
      return false;
    }
    this.signIn.forget(id);
    // The digests of a damaged record lead to no credential any more, and the sweep removes them.
    await this.store.secrets.unpoint(record?.secrets.map(({ digest }) => digest) ?? []);
    return true;
  }

  /** Reads a credential as it is stored. Rejects with `credential_not_found`. */
  private async readStored(name: CredentialName) {
    const sealed = isCredentialId(name.id) ? await this.store.read(name.aid, name.id) : undefined;
    if (sealed === undefined) {
      throw new VaultError('credential_not_found');
    }
    return { sealed, record: await openCredential(this.crypto, name, sealed) };
  }

  /**
   * Returns whether a digest leads to no credential, or to one with other secrets. A damaged record may have it. One that exceeds its
   * person is removed: it could not be used, and whoever has limited the person has died before.
   */
  private async isDangling({ digest, aid, id }: CredentialPointer): Promise<boolean> {
    const sealed = await this.store.read(aid, id);
    const opened = sealed && openCredential(this.crypto, { aid, id }, sealed);
    const record = opened && (await recover(opened, 'integrity_failed', 'damaged'));
    if (record === 'damaged') {
      return false;
    }
    if (record?.person !== undefined) {
      const person = recover(this.persons.find({ aid, id: record.person }), 'integrity_failed', 'damaged');
      const owner = await person;
      if (owner !== 'damaged' && !isCovered(record, owner)) {
        await this.end({ aid, id }, record);
        return true;
      }
    }
    return record === undefined || endOf(record, digest, this.now()) === 'gone';
  }
}

function invalid(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

function expiryOf(expiresIn: string, now: number): number {
  const end = periodEnd(expiresIn, now);
  if (end === undefined) {
    throw invalid('body.expires_in', DURATION_EXPECTED);
  }
  return end ?? Number.POSITIVE_INFINITY;
}

/** The entries in normal form, each once. Throws `invalid_request` at the first entry that has none. */
function normalList(
  field: string,
  values: readonly string[] | undefined,
  normal: (value: string) => string | undefined,
  expected: string,
): readonly string[] | undefined {
  const list = values?.map((value, at) => {
    const found = normal(value);
    if (found === undefined) {
      throw invalid(`${field}[${at}]`, expected);
    }
    return found;
  });
  return list && [...new Set(list)];
}

/** The hosts of a body in normal form, each once. Throws `invalid_request` at the first that is none. */
export function normalHosts(hosts: readonly string[] | undefined): readonly string[] | undefined {
  const expected = 'must be a host name, a wildcard such as `*.example.com`, or an address';
  return normalList('body.hosts', hosts, normalHost, expected);
}

function normalHost(host: string): string | undefined {
  const small = host.toLowerCase();
  return isHostPattern(small) ? small : undefined;
}

function defined<Shape extends object>(members: { [Name in keyof Shape]: Shape[Name] | undefined }): Shape {
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined)) as Shape;
}

function shownOf(
  id: string,
  { name, scopes, keys, unmasked, ips, hosts, created_at, expiresAtMs }: CredentialRecord,
  lastUsedMs?: number,
): Credential {
  return defined<Credential>({
    ...{ id, name, scopes: [...scopes], keys: keys && [...keys], unmasked },
    ...{ ips: ips && [...ips], hosts: hosts && [...hosts], created_at },
    expires_at: expiresAtMs === undefined ? undefined : formatExpiry(expiresAtMs),
    last_used_at: lastUsedMs === undefined ? undefined : formatStoredAt(lastUsedMs),
  });
}

function changeOf(id: string, { secrets }: CredentialRecord, isGone: boolean): RecordChange {
  return { kind: 'credential', id, digest: stateOfSecret(secrets[0]?.digest ?? ''), isGone };
}

/** Makes a record with the given limits or those of the caller. Throws an error if it exceeds the rights of the caller. */
function recordOf(account: Account, input: CreateCredential, digest: string, now: number): CredentialRecord {
  const own = limitsOfCaller(account);
  const expiresAtMs = input.expires_in === undefined ? own?.expiresAtMs : expiryOf(input.expires_in, now);
  const range = 'must be an address or a CIDR such as `192.0.2.0/24`';
  const record = defined<CredentialRecord>({
    ...{ account: account.name, name: input.name, scopes: [...new Set(input.scopes)] },
    keys: input.keys === undefined ? own?.keys : [...new Set(input.keys)],
    unmasked: input.unmasked ?? false,
    ips: normalList('body.ips', input.ips, normalRange, range) ?? own?.ips,
    hosts: normalHosts(input.hosts) ?? own?.hosts,
    person: account.credential?.owner,
    created_at: new Date(now).toISOString(),
    expiresAtMs: expiresAtMs === Number.POSITIVE_INFINITY ? undefined : expiresAtMs,
    secrets: [{ digest }],
  });
  if (record.unmasked && !account.unmasked) {
    const expected = 'needs unmasked output, which this account or credential does not have';
    throw new VaultError('not_allowed', { field: 'body.unmasked', expected });
  }
  if (own !== undefined && !isWithinLimits(limitsOf(record), own)) {
    throw outsideScope(account, 'everything that the new one is to include');
  }
  return record;
}

/** Rejects a change of another credential beyond the limits of the caller. A damaged record has unknown limits. */
function requireWithin(account: Account, id: string, record: CredentialRecord | undefined): void {
  const own = limitsOfCaller(account);
  if (own === undefined || account.credential?.id === id) {
    return;
  }
  if (record === undefined || !isWithinLimits(limitsOf(record), own)) {
    throw outsideScope(account, 'everything that this one includes');
  }
}
