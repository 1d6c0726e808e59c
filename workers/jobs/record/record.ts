/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import type { ThreadContext } from '../context.ts';
import type { In, Out } from '../define.ts';
import type { RECORD_JOBS } from './jobs.ts';

type Jobs = typeof RECORD_JOBS;

export function sealRecord(
  { sealer }: ThreadContext,
  { place, plaintext }: In<Jobs['sealRecord']>,
): Out<Jobs['sealRecord']> {
  return sealer.seal(place.purpose, place.account, place.kind, place.path, plaintext);
}

export function openRecord(
  { sealer }: ThreadContext,
  { place, record }: In<Jobs['openRecord']>,
): Out<Jobs['openRecord']> {
  return sealer.open(place.purpose, place.account, place.kind, place.path, record);
}
