import { VaultError } from '../../core/errors.ts';

/**
 * Rejects a body with results of the PRF extension. They open the passphrases that are wrapped under a passkey, so the vault is not
 * to know them. A passkey may tell that it has the extension (`enabled`). The error names no more than the place.
 */
export function refusePrfResults(body: unknown): void {
  if (hasResults(body)) {
    throw new VaultError('invalid_request', {
      field: 'body',
      expected: 'must not have results of the extension `prf`: they stay in the browser',
    });
  }
}

/** The parser of bodies has limited their depth. */
function hasResults(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  return Object.entries(value).some(
    ([name, member]) =>
      name === 'results' ||
      name === 'hmacGetSecret' ||
      (name === 'prf' && Object.keys(Object(member)).some((each) => each !== 'enabled')) ||
      hasResults(member),
  );
}
