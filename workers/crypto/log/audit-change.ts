/**
 * What an entry of a security log says of a record that it changed, so that an older copy of the record is recognised.
 * An account's record numbers its changes. An endpoint's policy never changes: one creation is named by its digest. A
 * credential's record changes with its secret alone, whose digest names it.
 *
 * As text, the last of the entry: `account REVISION`, `account gone`, `endpoint ID DIGEST` or `endpoint ID DIGEST gone`, and
 * the same with `credential`.
 */
import { REVISION_GONE } from '../../../server/domain/account.ts';
import { IntegrityError } from '../primitives/bytes.ts';

/** A change of an account's record, of an endpoint or of a credential. */
export type RecordChange = { readonly kind: 'account'; readonly revision: number } | DigestChange;

/** One state of a record, by its digest, and whether it has ended. */
export interface DigestChange {
  readonly kind: 'endpoint' | 'credential';
  readonly id: string;
  readonly digest: string;
  readonly isGone: boolean;
}

const ACCOUNT = /^account (gone|\d{1,15})$/;
const BY_DIGEST = /^(endpoint|credential) (\S+) ([0-9a-f]{32})( gone)?$/;

/** The text of a change. */
export function changeText(change: RecordChange): string {
  if (change.kind === 'account') {
    return `account ${change.revision === REVISION_GONE ? 'gone' : change.revision}`;
  }
  return `${change.kind} ${change.id} ${change.digest}${change.isGone ? ' gone' : ''}`;
}

/** Reads the text of a change. Rejects any other text with `IntegrityError`. */
export function parseChange(text: string): RecordChange {
  const revision = ACCOUNT.exec(text)?.[1];
  if (revision !== undefined) {
    return { kind: 'account', revision: revision === 'gone' ? REVISION_GONE : Number(revision) };
  }
  const [, kind, id, digest, gone] = BY_DIGEST.exec(text) ?? [];
  if ((kind !== 'endpoint' && kind !== 'credential') || id === undefined || digest === undefined) {
    throw new IntegrityError('security log entry');
  }
  return { kind, id, digest, isGone: gone !== undefined };
}
