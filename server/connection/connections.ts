import { listStreamOf } from '../core/byte-stream.ts';
import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import type { NamedStore } from '../redis/records/named.ts';
import type { Account, AccountContext } from '../request/context.ts';
import { mayReveal, requireReveal, vetTarget } from '../request/permission.ts';
import type { Connection } from './schema.ts';

const CACHED_MAX = 10_000;
const CACHED_MS = 60_000;
/** Attempts to replace a connection while other requests change it. */
const REPLACE_TRIES_MAX = 8;

export interface SealedConnection {
  readonly id: string;
  readonly record: Buffer;
  readonly shown: Connection;
}

/** Manages connections: addresses and credentials of third parties, which only worker threads decrypt. */
export class Connections {
  private readonly cache: Memory<SealedConnection>;

  constructor(
    private readonly store: NamedStore,
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
  ) {
    this.cache = new Memory(CACHED_MAX, CACHED_MS, now);
  }

  /** Creates a connection from JSON text. Rejects with `connection_exists`, `connections_full` or `destination_refused`. */
  async create({ account }: AccountContext, body: Uint8Array): Promise<Connection> {
    const { id, shown, record } = await this.seal(account, body);
    const outcome = await this.store.create(account.aid, id, record);
    if (outcome !== 'ok') {
      const code = outcome === 'full' ? 'connections_full' : 'connection_exists';
      throw new VaultError(code, { field: 'body.id' });
    }
    return shown;
  }

  /** Returns all connections of the account in the order of their ids, as the JSON text of a list. */
  list({ account }: AccountContext): Promise<ReadableStream<Uint8Array>> {
    return listStreamOf(this.all(account.aid));
  }

  /** Yields the public parts of all connections of an account in the order of their ids. */
  async *all(aid: string): AsyncGenerator<readonly Connection[]> {
    for await (const connections of this.store.list(aid)) {
      yield this.crypto.describeConnections({ aid, connections });
    }
  }

  /** Returns the public part of a connection. Rejects with `connection_not_found`. */
  async read({ account }: AccountContext, id: string): Promise<Connection> {
    return (await this.find(account.aid, id)).shown;
  }

  /** Replaces everything but the id and the creation time. Rejects as `create` does, or with `connection_not_found`. */
  async replace({ account }: AccountContext, id: string, body: Uint8Array): Promise<Connection> {
    for (let tries = 0; tries < REPLACE_TRIES_MAX; tries++) {
      const previous = await this.find(account.aid, id);
      const { shown, record } = await this.seal(account, body, previous);
      if (await this.store.replace(account.aid, id, previous.record, record)) {
        return shown;
      }
    }
    throw new VaultError('overloaded');
  }

  /** Removes a connection. Rejects with `connection_not_found`. */
  async remove({ account }: AccountContext, id: string): Promise<void> {
    if (!(await this.store.remove(account.aid, id))) {
      throw new VaultError('connection_not_found');
    }
  }

  /** Returns the connection as it is stored now, for requests that use it. Rejects with `connection_not_found`. */
  async find(aid: string, id: string): Promise<SealedConnection> {
    const record = await this.store.read(aid, id);
    if (record === undefined) {
      throw new VaultError('connection_not_found');
    }
    const name = `${aid} ${id}`;
    const cached = this.cache.get(name);
    if (cached?.record.equals(record)) {
      return cached;
    }
    const [shown] = await this.crypto.describeConnections({ aid, connections: [{ id, record }] });
    if (shown === undefined) {
      throw new VaultError('internal');
    }
    // The record is copied: it is a view of a larger reply, which the cache would keep in memory.
    const found = { id, record: Buffer.from(record), shown };
    this.cache.set(name, found);
    return found;
  }

  /** Rejects a change of a rule that a connection applies to all its requests, unless the caller may see data unmasked. */
  async requireRuleChange({ account }: AccountContext, ruleId: string): Promise<void> {
    if (mayReveal(account)) {
      return;
    }
    for await (const some of this.all(account.aid)) {
      if (some.some(({ rules }) => rules?.includes(ruleId))) {
        requireReveal(account, 'query.id');
      }
    }
  }

  /** Validates and encrypts a connection, and rejects one whose host may not be reached. */
  private async seal(account: Account, body: Uint8Array, previous?: SealedConnection) {
    const params = {
      aid: account.aid,
      id: previous?.id,
      now: this.now(),
      refuseUnknown: this.settings.refuseUnknown,
      mayReveal: mayReveal(account),
    };
    const sealed = await this.crypto.sealConnection({ params, previous: previous?.record, body });
    await vetTarget(this.thirdParties, account, sealed.origin, 'body.base_url');
    return sealed;
  }
}
