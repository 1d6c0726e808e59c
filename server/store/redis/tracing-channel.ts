import { channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';

/**
 * Adds `TracingChannel.hasSubscribers`, which Node has and Bun 1.4 does not. Without it ioredis assumes a subscriber and
 * converts the arguments of every command, including encrypted records, to strings for a trace: a third of the server's CPU
 * time, and unnecessary copies of data. Import this before ioredis.
 */
const EVENTS = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;
const prototype = Object.getPrototypeOf(tracingChannel('cardvault')) as object;

if (!('hasSubscribers' in prototype)) {
  Object.defineProperty(prototype, 'hasSubscribers', {
    configurable: true,
    get(this: TracingChannel): boolean {
      return EVENTS.some((event) => channel(this[event].name).hasSubscribers);
    },
  });
}
