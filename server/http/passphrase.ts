import { Type } from '@sinclair/typebox';
import { VaultError } from '../core/errors.ts';
import { type SecretBytes, secretBytes } from '../core/secret.ts';
import { countCharacters } from '../domain/text/identifiers.ts';
import { PASSPHRASE_CHARACTERS_MAX } from '../schema/common.ts';
import { PUBLISHED } from '../schema/kinds.ts';
import type { RouteShape } from './route.ts';

/** The header that carries a passphrase outside the URL, percent-encoded UTF-8. */
export const PASSPHRASE_HEADER = 'X-Vault-Passphrase';

const HEADER_FIELD = `header.${PASSPHRASE_HEADER}`;

export const PassphraseParameter = Type.Optional(
  Type.String({
    description: `The passphrase of the key. Prefer the header ${PASSPHRASE_HEADER}.`,
    'x-secret': true,
    examples: ['correct-horse-battery-staple-9Zq4'],
    [PUBLISHED]: { minLength: 1, maxLength: PASSPHRASE_CHARACTERS_MAX },
  }),
);

function decodeHeader(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    const expected = 'must be percent-encoded UTF-8';
    throw new VaultError('invalid_request', { field: HEADER_FIELD, expected });
  }
}

function isPassphrase(text: string): boolean {
  return (
    text !== '' &&
    text.isWellFormed() &&
    (text.length <= PASSPHRASE_CHARACTERS_MAX || countCharacters(text) <= PASSPHRASE_CHARACTERS_MAX)
  );
}

/** Returns the passphrase from the decoded query or the header. Rejects different, invalid and missing required ones. */
export function readPassphrase(
  { passphrase: rule, passesQuery }: RouteShape,
  inQuery: string | undefined,
  headers: Headers,
): SecretBytes | undefined {
  if (rule === 'none') {
    return undefined;
  }
  const raw = headers.get(PASSPHRASE_HEADER);
  const inHeader = raw === null ? undefined : decodeHeader(raw);
  if (inQuery !== undefined && inHeader !== undefined && inQuery !== inHeader) {
    throw new VaultError('conflicting_parameters', { field: 'query.passphrase' });
  }
  const text = inHeader ?? inQuery;
  if (text === undefined) {
    if (rule === 'optional') {
      return undefined;
    }
    const expected = `is missing: send it in the header ${PASSPHRASE_HEADER}`;
    const field = passesQuery === true ? HEADER_FIELD : 'query.passphrase';
    throw new VaultError('invalid_request', { field, expected });
  }
  if (!isPassphrase(text)) {
    throw new VaultError('invalid_request', {
      field: inHeader === undefined ? 'query.passphrase' : HEADER_FIELD,
      expected: `must be a text of 1 to ${PASSPHRASE_CHARACTERS_MAX} characters`,
    });
  }
  return secretBytes(text);
}
