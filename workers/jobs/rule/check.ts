/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { VaultError } from '../../../server/core/errors.ts';
import { parseJson } from '../../../server/domain/json/json.ts';
import { toPlain } from '../../../server/domain/json/plain.ts';
import { checkOperations } from '../../../server/domain/rule/check.ts';
import { type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { RULE_JOBS } from './jobs.ts';

/** A rule's operations as JSON text, in bytes at most: compiled they take many times as much. */
const RULE_BYTES_MAX = 163_840;

/** Handlers of jobs of `jobs.ts`, which says what each promises. */
export const RULE_HANDLERS: ThreadHandlers<typeof RULE_JOBS> = {
  checkRule(_context, { body }) {
    const operations = toJsonBytes(checkOperations(body.length === 0 ? {} : toPlain(parseJson(body))));
    if (operations.length > RULE_BYTES_MAX) {
      throw new VaultError('invalid_request', { field: 'body' });
    }
    return operations;
  },
};
