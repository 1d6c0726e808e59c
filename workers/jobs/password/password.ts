/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import * as kdf from '../../crypto/primitives/kdf.ts';
import { randomPassphrase } from '../../crypto/primitives/random.ts';
import type { ThreadContext } from '../context.ts';
import type { In, Out } from '../define.ts';
import type { PASSWORD_JOBS } from './jobs.ts';

type Jobs = typeof PASSWORD_JOBS;

export function hashPassword(
  context: ThreadContext,
  { password }: In<Jobs['hashPassword']>,
): Promise<Out<Jobs['hashPassword']>> {
  return kdf.hashPassword(password, context.rootKey('password', ''));
}

export function verifyPassword(
  context: ThreadContext,
  { password, phc }: In<Jobs['verifyPassword']>,
): Promise<Out<Jobs['verifyPassword']>> {
  return kdf.verifyPassword(password, context.rootKey('password', ''), phc);
}

export function makePassphrase(
  _context: ThreadContext,
  { length }: In<Jobs['makePassphrase']>,
): Out<Jobs['makePassphrase']> {
  return randomPassphrase(length);
}
