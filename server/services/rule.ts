import { VaultError } from '../errors.ts';

/** Rules are looked up when they are used. None can be made in this version, so every id is unknown. */
export function refuseRules(ids: readonly string[]): void {
  if (ids.length > 0) {
    throw new VaultError('rule_not_found', { field: 'query.rules' });
  }
}
