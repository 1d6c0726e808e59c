import { tracingChannel } from 'node:diagnostics_channel';

/**
 * Adds `TracingChannel.hasSubscribers`, which Node has and Bun 1.4 does not. Without it ioredis assumes a subscriber and
 * converts the arguments of every command, including encrypted records, to strings for a trace: a third of the server's CPU
 * time, and unnecessary copies of data. Nothing subscribes in this process. Import this before ioredis.
 */
const prototype: object = Object.getPrototypeOf(tracingChannel('cardvault'));
if (!('hasSubscribers' in prototype)) {
  Object.defineProperty(prototype, 'hasSubscribers', { value: false });
}
