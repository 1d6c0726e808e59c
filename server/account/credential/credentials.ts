/** API credentials of accounts: how they are made, listed, given a new secret, and ended. */
import type { RecordChange } from '../../../workers/jobs/audit/jobs.ts';
import { recover } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { Secret } from '../../core/secret.ts';
import { GENERATED_CHARACTERS } from '../../domain/account/password.ts';
import {
  credentialIdOf,
  isCredentialId,
  isWithinLimits,
  SECRET_PREFIX,
  stateOfSecret,
} from '../../domain/account.ts';
import { parseDuration } from '../../domain/text/duration.ts';
import { isHostPattern, normalRange } from '../../domain/text/network.ts';
import type { Account } from '../../request/context.ts';
import { outsideScope } from '../../request/permission.ts';
import type { AccountParts } from '../parts.ts';
import {
  type CredentialRecord,
  endOf,
  limitsOf,
  limitsOfCaller,
  openCredential,
  sealCredential,
} from './records.ts';
import type { CreateCredential, Credential } from './schema.ts';
import type { CredentialName, CredentialPointer } from './store.ts';

/** A credential with its new secret, shown once, and what the security log says of it. */
export interface CredentialWithSecret {
  readonly credential: Credential;
  readonly secret: Secret<string>;
  readonly change: RecordChange;
}

/** Expired credentials are listed for a while. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1_000;
/** A digest of no credential that is older is no creation in progress. */
const CREATION_MS = 60 * 60 * 1_000;
const CHANGE_TRIES_MAX = 10;

function invalid(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

function expiryOf(expiresIn: string, now: number): number {
  const ms = parseDuration(expiresIn);
  if (ms === undefined) {
    throw invalid('body.expires_in', 'must be a duration such as `12h`, `P90D` or `0`, at most ten years');
  }
  return ms === 'forever' ? Number.POSITIVE_INFINITY : now + ms;
}

/** Each entry in normal form, once; rejects at the place of the first that has none. */
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

function normalHost(host: string): string | undefined {
  const small = host.toLowerCase();
  return isHostPattern(small) ? small : undefined;
}

/** Members that may be undefined become ones that may be missing. */
function defined<Shape extends object>(members: { [Name in keyof Shape]: Shape[Name] | undefined }): Shape {
  return Object.fromEntries(Object.entries(members).filter(([, member]) => member !== undefined)) as Shape;
}

/** A credential as callers see it. */
function shownOf(
  id: string,
  { name, scopes, keys, unmasked, ips, hosts, created_at, expiresAtMs }: CredentialRecord,
  lastUsedMs?: number,
): Credential {
  return defined<Credential>({
    ...{ id, name, scopes: [...scopes], keys: keys && [...keys], unmasked },
    ...{ ips: ips && [...ips], hosts: hosts && [...hosts], created_at },
    expires_at: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString(),
    last_used_at: lastUsedMs === undefined ? undefined : new Date(lastUsedMs).toISOString(),
  });
}

/** What the security log says of the state of a credential. */
function changeOf(id: string, { secrets }: CredentialRecord, isGone: boolean): RecordChange {
  return { kind: 'credential', id, digest: stateOfSecret(secrets[0]?.digest ?? ''), isGone };
}

async function makeSecret({ crypto }: AccountParts): Promise<{ secret: Secret<string>; digest: string }> {
  const random = await crypto.makePassphrase({ length: GENERATED_CHARACTERS });
  const secret = random.map((text) => `${SECRET_PREFIX}${text}`);
  return { secret, digest: crypto.digestCredential(secret) };
}

/** What is asked for, with what the maker's own limits leave; rejects what exceeds the account or the maker. */
function recordOf(account: Account, input: CreateCredential, digest: string, now: number): CredentialRecord {
  const maker = limitsOfCaller(account);
  const expiresAtMs = input.expires_in === undefined ? maker?.expiresAtMs : expiryOf(input.expires_in, now);
  const range = 'must be an address or a CIDR such as `192.0.2.0/24`';
  const host = 'must be a host name, a wildcard such as `*.example.com`, or an address';
  const record = defined<CredentialRecord>({
    ...{ account: account.name, name: input.name, scopes: [...new Set(input.scopes)] },
    keys: input.keys === undefined ? maker?.keys : [...new Set(input.keys)],
    unmasked: input.unmasked ?? false,
    ips: normalList('body.ips', input.ips, normalRange, range) ?? maker?.ips,
    hosts: normalList('body.hosts', input.hosts, normalHost, host) ?? maker?.hosts,
    created_at: new Date(now).toISOString(),
    expiresAtMs: expiresAtMs === Number.POSITIVE_INFINITY ? undefined : expiresAtMs,
    secrets: [{ digest }],
  });
  if (record.unmasked && !account.unmasked) {
    throw new VaultError('not_allowed', { field: 'body.unmasked' });
  }
  if (maker !== undefined && !isWithinLimits(limitsOf(record), maker)) {
    throw outsideScope('everything that the new one is to include');
  }
  return record;
}

/** Makes a credential. Rejects with `invalid_request`, `not_allowed` and `credentials_full`. */
export async function createCredential(
  parts: AccountParts,
  account: Account,
  input: CreateCredential,
): Promise<CredentialWithSecret> {
  const { credentialStore, now, randomId } = parts;
  const { secret, digest } = await makeSecret(parts);
  const record = recordOf(account, input, digest, now());
  const name = { aid: account.aid, id: credentialIdOf(randomId()) };
  const sealed = await sealCredential(parts, name, record);
  await credentialStore.point(digest, name, now());
  let outcome = await credentialStore.create(name, sealed);
  if (outcome === 'full' && (await removeExpired(parts, account.aid))) {
    outcome = await credentialStore.create(name, sealed);
  }
  if (outcome !== 'ok') {
    await credentialStore.unpoint([digest]);
    throw new VaultError('credentials_full');
  }
  const change = changeOf(name.id, record, false);
  return { credential: shownOf(name.id, record), secret, change };
}

/** Removes what expired long ago; whether there was any. */
async function removeExpired(parts: AccountParts, aid: string): Promise<boolean> {
  const isOld = ({ expiresAtMs = Number.POSITIVE_INFINITY }: CredentialRecord): boolean =>
    expiresAtMs + KEPT_MS < parts.now();
  return (await removeWhere(parts, aid, isOld)) > 0;
}

async function removeWhere(
  parts: AccountParts,
  aid: string,
  isUnwanted: (record: CredentialRecord) => boolean,
): Promise<number> {
  let removed = 0;
  for (const { id, record } of await parts.credentialStore.list(aid)) {
    const opened = await openCredential(parts, { aid, id }, record).catch(() => undefined);
    if (opened !== undefined && isUnwanted(opened)) {
      removed += (await endCredential(parts, { aid, id }, opened)) ? 1 : 0;
    }
  }
  return removed;
}

/** Removes the credentials whose state is one of these. */
export async function removeCredentials(
  parts: AccountParts,
  { aid }: Pick<Account, 'aid'>,
  states: ReadonlySet<string>,
): Promise<void> {
  if (states.size > 0) {
    await removeWhere(parts, aid, ({ secrets }) => states.has(stateOfSecret(secrets[0]?.digest ?? '')));
  }
}

/** The credentials of an account, the oldest first. */
export async function listCredentials(
  parts: AccountParts,
  { aid }: Pick<Account, 'aid'>,
): Promise<readonly Credential[]> {
  const found = await parts.credentialStore.list(aid);
  const shown = await Promise.all(
    found.map(async ({ id, record, lastUsedMs }) =>
      shownOf(id, await openCredential(parts, { aid, id }, record), lastUsedMs),
    ),
  );
  return shown.sort((a, b) => (a.created_at + a.id < b.created_at + b.id ? -1 : 1));
}

/** A credential as it is stored; `credential_not_found` where there is none. */
async function readStored(
  parts: AccountParts,
  name: CredentialName,
): Promise<{ readonly sealed: Buffer; readonly record: CredentialRecord }> {
  const sealed = isCredentialId(name.id) ? await parts.credentialStore.read(name) : undefined;
  if (sealed === undefined) {
    throw new VaultError('credential_not_found');
  }
  return { sealed, record: await openCredential(parts, name, sealed) };
}

/** One credential. Rejects with `credential_not_found`. */
export async function showCredential(
  parts: AccountParts,
  { aid }: Pick<Account, 'aid'>,
  id: string,
): Promise<Credential> {
  const name = { aid, id };
  const [{ record }, lastUsedMs] = await Promise.all([
    readStored(parts, name),
    parts.credentialStore.lastUse(name),
  ]);
  return shownOf(id, record, lastUsedMs);
}

/**
 * Rejects a credential that changes another one than itself, unless that is within its own limits. A damaged record, whose
 * limits nobody knows, is left to the account.
 */
function requireWithin(account: Account, id: string, record: CredentialRecord | undefined): void {
  const own = limitsOfCaller(account);
  if (own === undefined || account.credential?.id === id) {
    return;
  }
  if (record === undefined || !isWithinLimits(limitsOf(record), own)) {
    throw outsideScope('everything that this one includes');
  }
}

/** Ends a credential with this record, as far as that opens; whether there was one. */
async function endCredential(
  { credentialStore, credentials }: AccountParts,
  name: CredentialName,
  record: CredentialRecord | undefined,
): Promise<boolean> {
  if (!(await credentialStore.remove(name))) {
    return false;
  }
  credentials.delete(name.id);
  // A damaged record can be removed all the same; its digests lead nowhere, and the sweep finds them.
  await credentialStore.unpoint(record?.secrets.map(({ digest }) => digest) ?? []);
  return true;
}

/**
 * Ends a credential, on every server at once; undefined where there is none of this id. Rejects with `not_allowed` a caller
 * whom it exceeds.
 */
export async function removeCredential(
  parts: AccountParts,
  account: Account,
  id: string,
): Promise<{ readonly change: RecordChange | undefined } | undefined> {
  const name = { aid: account.aid, id };
  const sealed = isCredentialId(id) ? await parts.credentialStore.read(name) : undefined;
  if (sealed === undefined) {
    return undefined;
  }
  const record = await openCredential(parts, name, sealed).catch(() => undefined);
  requireWithin(account, id, record);
  return (await endCredential(parts, name, record))
    ? { change: record && changeOf(id, record, true) }
    : undefined;
}

/**
 * Gives a credential a new secret. The one before it lives on for `overlapMs`, any other ends. Rejects with
 * `credential_not_found`, and with `not_allowed` a caller whom it exceeds.
 */
export async function rollCredential(
  parts: AccountParts,
  account: Account,
  id: string,
  overlapMs: number | undefined,
): Promise<CredentialWithSecret> {
  const { credentialStore, now } = parts;
  const name = { aid: account.aid, id };
  const { secret, digest } = await makeSecret(parts);
  for (let tries = 0; tries < CHANGE_TRIES_MAX; tries++) {
    const { sealed, record } = await readStored(parts, name);
    requireWithin(account, id, record);
    const [newest, ...older] = record.secrets;
    const kept =
      overlapMs === undefined || newest === undefined ? [] : [{ ...newest, untilMs: now() + overlapMs }];
    const ended = [...(kept.length === 0 && newest ? [newest] : []), ...older];
    const rolled = { ...record, secrets: [{ digest }, ...kept] };
    await credentialStore.point(digest, name, now());
    if (await credentialStore.replace(name, sealed, await sealCredential(parts, name, rolled))) {
      parts.credentials.delete(id);
      await credentialStore.unpoint(ended.map((entry) => entry.digest));
      return { credential: shownOf(id, rolled), secret, change: changeOf(id, rolled, false) };
    }
  }
  await credentialStore.unpoint([digest]);
  throw new VaultError('overloaded');
}

/** Whether a digest leads to no credential, or to one that has other secrets. Of a damaged record nothing is known. */
async function isDangling(parts: AccountParts, { digest, aid, id }: CredentialPointer): Promise<boolean> {
  const name = { aid, id };
  const sealed = await parts.credentialStore.read(name);
  const record =
    sealed && (await recover(openCredential(parts, name, sealed), 'integrity_failed', 'damaged'));
  return record !== 'damaged' && (record === undefined || endOf(record, digest, parts.now()) === 'gone');
}

/** Removes digests that lead to nothing: of deleted accounts, and of what was interrupted. */
export async function sweepCredentials(parts: AccountParts): Promise<void> {
  const { credentialStore, now } = parts;
  for await (const pointers of credentialStore.pointers()) {
    const old = pointers.filter(({ storedMs }) => storedMs + CREATION_MS < now());
    const dangling = await Promise.all(old.map((pointer) => isDangling(parts, pointer)));
    await credentialStore.unpoint(old.filter((_, i) => dangling[i]).map(({ digest }) => digest));
  }
}
