import type { ActorParams, Caller } from '../../deps/deps.ts';

/** Who acts and when, as an action log entry tells it. */
export const actorOf = (caller: Caller, now: number): ActorParams => ({
  ip: caller.ip,
  ua: caller.userAgent,
  source: caller.source,
  now,
});
