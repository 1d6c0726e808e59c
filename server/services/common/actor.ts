import type { ActorParams } from '../../crypto/client.ts';
import type { Caller } from './caller.ts';

/** Who acts and when, as an action log entry tells it. */
export const actorOf = (caller: Caller, now: number): ActorParams => ({
  ip: caller.ip,
  ua: caller.userAgent,
  source: caller.source,
  now,
});
