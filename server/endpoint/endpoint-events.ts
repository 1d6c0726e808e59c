import type { EventType } from '../core/event-types.ts';
import type { Receivers } from '../event/receivers.ts';
import { type AccountContext, actorNameOf } from '../request/context.ts';
import type { EndpointEntry, EndpointStore } from './store.ts';

/** Announces the events of endpoints, which the security log cannot tell: its entries do not name the key. */
export class EndpointEvents {
  constructor(
    private readonly store: EndpointStore,
    private readonly receivers: Receivers,
  ) {}

  /** Announces what a request did to an endpoint. */
  requested(
    { account, requestId }: AccountContext,
    type: 'endpoint.created' | 'endpoint.deleted',
    entry: EndpointEntry,
  ): Promise<void> {
    return this.announce(account.aid, type, entry, actorNameOf(account), requestId);
  }

  /** Announces the end of an expired endpoint. */
  expired(aid: string, entry: EndpointEntry): Promise<void> {
    return this.announce(aid, 'endpoint.expired', entry, 'vault');
  }

  /** Announces that an endpoint has had its last use, and notes that. */
  async usedUp(aid: string, entry: EndpointEntry, requestId?: string): Promise<void> {
    await this.announce(aid, 'endpoint.used_up', entry, `endpoint/${entry.id}`, requestId);
    await this.store.noteUsedUp(entry.id, entry.nonce);
  }

  private async announce(
    aid: string,
    type: EventType,
    { id, kid, nonce }: EndpointEntry,
    actor: string,
    requestId?: string,
  ): Promise<void> {
    const data = { id, actor, request_id: requestId };
    await this.receivers.announce(aid, `${type} ${nonce}`, { type, data, kid });
  }
}
