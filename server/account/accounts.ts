import { bindParts } from '../core/bind.ts';
import { VaultError } from '../core/errors.ts';
import type { Secret, SecretBytes } from '../core/secret.ts';
import { GENERATED_CHARACTERS } from '../domain/account/password.ts';
import type { Account, AccountContext } from '../request/context.ts';
import { type AccountDependencies, type AccountParts, createAccountParts } from './parts.ts';
import { hashPassword, type PasswordOrigin } from './passwords.ts';
import type { OwnPreference } from './preference-values.ts';
import type { AccountInfo, AccountRecord, AccountSettings } from './records.ts';
import { changeAccount, openAccount, sealAccount, toAccountInfo } from './records.ts';
import { recordRemoval } from './revision.ts';
import type { WhoAmI } from './schema.ts';
import { assumeAccount, lookUp, readKnown, recall, signIn } from './sign-in.ts';

/** The accounts of a server: who may sign in, and how an account is created, changed and removed. */
export type Accounts = ReturnType<typeof createAccounts>;

/** Makes the accounts of a server, with no sign-in remembered. */
export function createAccounts(dependencies: AccountDependencies) {
  return bindParts(createAccountParts(dependencies), {
    ...{
      recall,
      assumeAccount,
      signIn,
      readKnown,
      lookUp,
      whoami,
      create,
      list,
      set,
      setPassword,
      changePassword,
    },
    ...{ preferencesOf, changePreferences, remove, recordRemoval, identify, makePassword },
  });
}

/** What a caller learns of itself and of this server. */
async function whoami({ settings }: AccountParts, { account }: AccountContext): Promise<WhoAmI> {
  const { credential, unmasked } = account;
  const rights = credential && {
    id: credential.id,
    scopes: [...credential.scopes],
    ...(credential.keys && { keys: [...credential.keys] }),
    unmasked,
  };
  return {
    user: account.name,
    environment: settings.environment,
    api_version: settings.version,
    backwards_compatibility: 'v1',
    ...(rights && { credential: rights }),
  };
}

/** Adds an account; undefined, with nothing changed, when the name is in use. */
async function create(
  parts: AccountParts,
  name: string,
  password: SecretBytes,
  { unmasked = false, paying = false, hosts = [] }: AccountSettings,
  origin: PasswordOrigin = 'chosen',
): Promise<AccountInfo | undefined> {
  const { accountStore, now, randomId } = parts;
  const hashed = await hashPassword(parts, password, origin);
  const created_at = new Date(now()).toISOString();
  const record = { aid: randomId(), ...hashed, unmasked, paying, hosts, created_at, revision: 1 };
  const isAdded = await accountStore.create(name, await sealAccount(parts, name, record));
  return isAdded ? toAccountInfo(name, record) : undefined;
}

/** All accounts in the order of their names. */
async function list(parts: AccountParts): Promise<readonly AccountInfo[]> {
  const found = await parts.accountStore.list();
  const infos = await Promise.all(
    found.map(async ({ name, record }) => toAccountInfo(name, await openAccount(parts, name, record))),
  );
  return infos.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Who has this name, and the number of changes of the record; undefined for an unknown name. An older copy is not refused. */
async function identify(
  parts: AccountParts,
  name: string,
): Promise<Pick<Required<AccountRecord>, 'aid' | 'revision'> | undefined> {
  const read = await parts.accountStore.read(name);
  const { aid, revision = 0 } = read ? await openAccount(parts, name, read) : {};
  return aid === undefined ? undefined : { aid, revision };
}

/**
 * Changes the rights that are given, on every server at once; undefined for an unknown name. `acceptsOlder`: a record
 * that is older than its newest change becomes the newest, with all that it says.
 */
async function set(
  parts: AccountParts,
  name: string,
  { unmasked, paying, hosts }: AccountSettings,
  acceptsOlder = false,
): Promise<AccountInfo | undefined> {
  const edit = (record: AccountRecord): AccountRecord => ({
    ...record,
    unmasked: unmasked ?? record.unmasked,
    paying: paying ?? record.paying,
    hosts: hosts ?? record.hosts,
  });
  const changed = await changeAccount(parts, name, edit, acceptsOlder);
  return changed && toAccountInfo(name, changed);
}

/** Replaces the password, on every server at once; false for an unknown name. */
async function setPassword(
  parts: AccountParts,
  name: string,
  password: SecretBytes,
  origin: PasswordOrigin = 'chosen',
): Promise<boolean> {
  const changed = await changeAccount(parts, name, async (record) => ({
    ...record,
    ...(await hashPassword(parts, password, origin)),
    former: undefined,
  }));
  return changed !== undefined;
}

/** Changes the account that a request acts for. A new account under the same name is another one: `unauthenticated`. */
async function changeOwn(
  parts: AccountParts,
  ctx: AccountContext,
  edit: (record: AccountRecord) => AccountRecord,
): Promise<void> {
  const { name, aid } = ctx.account;
  const changed = await changeAccount(parts, name, (record) => {
    if (record.aid !== aid) {
      throw new VaultError('unauthenticated');
    }
    return edit(record);
  });
  if (!changed) {
    throw new VaultError('unauthenticated');
  }
  ctx.change = { kind: 'account', revision: changed.revision ?? 0 };
}

/**
 * Changes the password that this request signed in with, which lives on for `overlapMs`; rejects with `password_changed`
 * when it is not the newest.
 */
async function changePassword(
  parts: AccountParts,
  ctx: AccountContext,
  password: SecretBytes,
  origin: PasswordOrigin,
  overlapMs: number | undefined,
): Promise<void> {
  const hashed = await hashPassword(parts, password, origin);
  await changeOwn(parts, ctx, (record) => {
    if (record.phc !== ctx.signInProof) {
      throw new VaultError('password_changed');
    }
    const { phc, stretched } = record;
    const former = overlapMs === undefined ? undefined : { phc, stretched, untilMs: parts.now() + overlapMs };
    return { ...record, ...hashed, former };
  });
}

/** What the account has set, as it is stored now. Rejects with `unauthenticated` when the account is gone. */
async function preferencesOf(parts: AccountParts, { name, aid }: Account): Promise<readonly OwnPreference[]> {
  const record = await parts.accountStore.read(name);
  const opened = record && (await openAccount(parts, name, record));
  if (opened?.aid !== aid) {
    throw new VaultError('unauthenticated');
  }
  return opened.preferences ?? [];
}

/** Changes preferences, on every server at once; what `edit` throws is thrown, and nothing changes. */
function changePreferences(
  parts: AccountParts,
  ctx: AccountContext,
  edit: (own: readonly OwnPreference[]) => readonly OwnPreference[],
): Promise<void> {
  return changeOwn(parts, ctx, (record) => ({
    ...record,
    preferences: edit(record.preferences ?? []),
  }));
}

/** Removes an account, so that it can no longer sign in; its data stays. Undefined for an unknown name. */
async function remove(parts: AccountParts, name: string): Promise<AccountInfo | undefined> {
  const read = await parts.accountStore.read(name);
  if (!read) {
    return undefined;
  }
  const info = toAccountInfo(name, await openAccount(parts, name, read));
  await parts.accountStore.remove(name, info.aid);
  return info;
}

/** A new password with 256 bits of randomness. */
function makePassword({ crypto }: AccountParts): Promise<Secret<string>> {
  return crypto.makePassphrase({ length: GENERATED_CHARACTERS });
}
