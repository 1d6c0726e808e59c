/**
 * Finds an account's record that was replaced by an older copy. Each change numbers the record, and the entry of the
 * change in the account's security log names that number; the sealed head of the log has the newest. The record is
 * written first: one that is ahead of the log was changed by a process that died before its entry, or will have it soon.
 */
import { REVISION_GONE } from '../domain/account/revision.ts';
import type { AccountParts } from './parts.ts';

type RevisionParts = Pick<AccountParts, 'accountStore' | 'auditStore' | 'crypto'>;

/** The newest revision that the account's security log names; 0 where it names none. */
export async function readNewestRevision(
  { auditStore, crypto }: Pick<RevisionParts, 'auditStore' | 'crypto'>,
  aid: string,
): Promise<number> {
  const { head } = await auditStore.readMarks(aid);
  const { revision = 0 } = (await crypto.describeChain({ aid, head, start: undefined })).head;
  return revision;
}

/** Whether the record of this name is still the one that was read. */
export async function isStored(
  { accountStore }: Pick<RevisionParts, 'accountStore'>,
  name: string,
  read: Uint8Array,
): Promise<boolean> {
  return (await accountStore.read(name))?.equals(read) === true;
}

/** Reports an older record of an account in its security log. The account is refused to everybody until it is mended. */
export function recordRollback(
  { audit, randomId }: Pick<AccountParts, 'audit' | 'randomId'>,
  name: string,
  aid: string,
): Promise<void> {
  return audit.record({
    ...{ aid, action: 'sign_in', outcome: 'record_rolled_back', actor: 'vault', object: `account/${name}` },
    ...{ ip: '', userAgent: '', requestId: randomId() },
  });
}

/**
 * Makes sure that the log of a removed account says so, before its data is removed: a copy of its record that is put
 * back is refused from then on, whichever process died in between.
 */
export async function recordRemoval(parts: AccountParts, aid: string): Promise<void> {
  if ((await readNewestRevision(parts, aid)) < REVISION_GONE) {
    await parts.audit.record({
      ...{ aid, action: 'account.delete', outcome: 'success', actor: 'vault', object: 'account' },
      ...{ ip: '', userAgent: '', requestId: parts.randomId() },
      change: { kind: 'account', revision: REVISION_GONE },
    });
  }
}
