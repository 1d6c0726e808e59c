/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { VaultError } from '../../../server/core/errors.ts';
import { parseJson } from '../../../server/domain/json/json.ts';
import { toPlain } from '../../../server/domain/json/plain.ts';
import { checkOperations } from '../../../server/domain/rule/check.ts';
import { type ThreadContext, toJsonBytes } from '../context.ts';
import type { In, Out } from '../define.ts';
import type { RULE_JOBS } from './jobs.ts';

type Jobs = typeof RULE_JOBS;

/** A rule's operations as JSON text, in bytes at most: compiled they take many times as much. */
const RULE_BYTES_MAX = 163_840;

export function checkRule(_context: ThreadContext, { body }: In<Jobs['checkRule']>): Out<Jobs['checkRule']> {
  const operations = toJsonBytes(checkOperations(body.length === 0 ? {} : toPlain(parseJson(body))));
  if (operations.length > RULE_BYTES_MAX) {
    throw new VaultError('invalid_request', { field: 'body' });
  }
  return operations;
}
