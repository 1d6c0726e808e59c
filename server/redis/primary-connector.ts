import type { RedisOptions } from 'ioredis';
import StandaloneConnector from 'ioredis/built/connectors/StandaloneConnector';

/**
 * The library's connector of one address, which a failover may move to another server: a name, or an address that is taken
 * over. Once it has been connected to a primary, it accepts no replica: reads would be old there, and no write would succeed.
 */
export class PrimaryConnector extends StandaloneConnector {
  #hasPrimary = false;

  /** The library passes the options of the client, as `unknown`. */
  constructor(options: unknown) {
    super(options as RedisOptions);
  }

  /** Called by the library with the parsed reply to INFO, before a connection is used. */
  override check(info: { readonly role?: string }): boolean {
    this.#hasPrimary ||= info.role === 'master';
    return !this.#hasPrimary || info.role !== 'slave';
  }
}
