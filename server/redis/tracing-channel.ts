import { tracingChannel } from 'node:diagnostics_channel';

/**
 * Adds `TracingChannel.hasSubscribers`, which Node has and Bun 1.4 does not. Without it ioredis assumes a subscriber and
 * converts the arguments of every command of the job queue to strings for a trace: 3 to 5 us. Nothing subscribes in this
 * process. Import this before ioredis.
 */
const prototype: object = Object.getPrototypeOf(tracingChannel('cardvault'));
if (!('hasSubscribers' in prototype)) {
  Object.defineProperty(prototype, 'hasSubscribers', { value: false });
}
