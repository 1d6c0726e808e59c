import { Type } from '@sinclair/typebox';
import { User } from '../schema/common.ts';
import { OTHER_NAME } from '../schema/kinds.ts';
import { joinNames, type Noted, pairsOf } from '../schema/other-name.ts';

const NAME = 'X-Vault-User';
const OTHER = 'X-Vault-Key';

/** The headers that name the vault key where the query is passed on to a third party. */
export const KEY_HEADERS = Type.Object({ [NAME]: Type.String({ ...User, [OTHER_NAME]: OTHER }) });

const PAIRS = pairsOf(KEY_HEADERS);

/** Checks that headers name one vault key; see {@link joinNames}. An empty one counts as missing. */
export function checkKeyHeaders(headers: Headers, noted: Noted): void {
  const values = { [NAME]: headers.get(NAME) || undefined, [OTHER]: headers.get(OTHER) || undefined };
  joinNames(PAIRS, values, 'header', noted);
}

/** The name of the vault key in checked headers. */
export function keyNameIn(headers: Headers): string {
  return headers.get(OTHER) || headers.get(NAME) || '';
}
