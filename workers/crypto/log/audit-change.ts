/**
 * What an entry of a security log says of a record that it changed, so that an older copy of the record is recognised.
 * An account's record numbers its changes. An endpoint's policy never changes: one creation is named by its digest.
 *
 * As text, the last of the entry: `account REVISION`, `account gone`, `endpoint ID DIGEST` or `endpoint ID DIGEST gone`.
 */
import { REVISION_GONE } from '../../../server/domain/account/revision.ts';
import { IntegrityError } from '../primitives/bytes.ts';

/** A change of an account's record or of an endpoint. */
export type RecordChange =
  | { readonly kind: 'account'; readonly revision: number }
  | { readonly kind: 'endpoint'; readonly id: string; readonly digest: string; readonly isGone: boolean };

const ACCOUNT = /^account (gone|\d{1,15})$/;
const ENDPOINT = /^endpoint (\S+) ([0-9a-f]{32})( gone)?$/;

/** The text of a change. */
export function changeText(change: RecordChange): string {
  if (change.kind === 'account') {
    return `account ${change.revision === REVISION_GONE ? 'gone' : change.revision}`;
  }
  return `endpoint ${change.id} ${change.digest}${change.isGone ? ' gone' : ''}`;
}

/** Reads the text of a change. Rejects any other text with `IntegrityError`. */
export function parseChange(text: string): RecordChange {
  const revision = ACCOUNT.exec(text)?.[1];
  if (revision !== undefined) {
    return { kind: 'account', revision: revision === 'gone' ? REVISION_GONE : Number(revision) };
  }
  const [, id, digest, gone] = ENDPOINT.exec(text) ?? [];
  if (id === undefined || digest === undefined) {
    throw new IntegrityError('security log entry');
  }
  return { kind: 'endpoint', id, digest, isGone: gone !== undefined };
}
