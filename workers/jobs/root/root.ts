/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { createHmac } from 'node:crypto';
import * as index from '../../crypto/item/ref-index.ts';
import { randomBytes } from '../../crypto/primitives/random.ts';
import { ROOT_PATH, type ThreadContext } from '../context.ts';
import type { In, Out } from '../define.ts';
import type { ROOT_JOBS } from './jobs.ts';

type Jobs = typeof ROOT_JOBS;

export function createRoot({ sealer }: ThreadContext): Out<Jobs['createRoot']> {
  return sealer.seal('record', ROOT_PATH.account, ROOT_PATH.kind, ROOT_PATH.path, randomBytes(32));
}

export function checkRoot({ sealer }: ThreadContext, { root }: In<Jobs['checkRoot']>): void {
  sealer.open('record', ROOT_PATH.account, ROOT_PATH.kind, ROOT_PATH.path, root);
}

export function cursorKey(context: ThreadContext): Out<Jobs['cursorKey']> {
  return context.rootKey('cursor', '');
}

export function fingerprint(
  context: ThreadContext,
  { account, data }: In<Jobs['fingerprint']>,
): Out<Jobs['fingerprint']> {
  return createHmac('sha256', context.rootKey('idem', account)).update(data).digest();
}

export function encodeReference(
  context: ThreadContext,
  { aid, reference, exact }: In<Jobs['encodeReference']>,
): Out<Jobs['encodeReference']> {
  const key = context.rootKey('ref-index', aid);
  return exact ? index.encodeReferenceEnd(key, reference) : index.encodeReference(key, reference);
}
