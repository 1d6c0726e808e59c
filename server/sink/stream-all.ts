import type { AuditStore } from '../audit/store.ts';
import type { HeadsStore } from '../log-heads/store.ts';
import type { ItemStore } from '../vault/store/items.ts';
import type { SinkEvent } from './event.ts';
import type { SinkStore } from './store.ts';
import { createAuditStream, type StreamDependencies } from './stream.ts';

interface WholeDependencies extends Omit<StreamDependencies, 'auditStore' | 'deliver'> {
  readonly auditStore: StreamDependencies['auditStore'] & Pick<AuditStore, 'chains'>;
  readonly headsStore: Pick<HeadsStore, 'all'>;
  readonly itemStore: Pick<ItemStore, 'buckets'>;
}

/** Which events are wanted. */
export interface WantedEvents {
  /** Of this account alone. */
  readonly aid?: string | undefined;
  /** At or after this, ms since 1970. Entries that do not open have no time, and are always wanted. */
  readonly after?: number | undefined;
}

/** What logs hold now, as if nothing of it was delivered. Notes nothing. */
function everything(
  { sinkStore, headsStore, itemStore, accounts }: WholeDependencies,
  only: string | undefined,
): SinkStore {
  const nothing = async (): Promise<void> => undefined;
  return {
    ...{ claim: async () => true, release: nothing, positions: async () => new Map(), advance: nothing },
    ...{ forget: nothing, name: nothing, clear: nothing, waiting: async () => 0, advanceLog: nothing },
    ...{ readOutbox: async () => [], advanceOutbox: nothing },
    async buckets() {
      const all = [];
      for await (const { aid, kids } of accounts()) {
        for (const kid of only === undefined || only === aid ? kids : []) {
          all.push(
            ...Array.from({ length: itemStore.buckets }, (_, number) => ({ aid, bucket: { kid, number } })),
          );
        }
      }
      return all;
    },
    async *logs(bucket) {
      for await (const { tokens } of headsStore.all(bucket)) {
        yield tokens.map((token) => ({ token, from: 0 }));
      }
    },
    readLog: (bucket, token, from) => sinkStore.readLog(bucket, token, from, 'all'),
  };
}

/**
 * Gives all events that logs hold now, each log in its order, security logs first; an item that moves meanwhile may come
 * twice. Events of items that were deleted are gone. False where a log could not be read, or `write` has rejected.
 */
export async function streamAll(
  dependencies: WholeDependencies,
  { aid, after = 0 }: WantedEvents,
  write: (events: readonly SinkEvent[]) => Promise<void>,
): Promise<boolean> {
  const { auditStore } = dependencies;
  const stream = createAuditStream({
    ...dependencies,
    auditStore: { ...auditStore, chains: async () => (aid === undefined ? auditStore.chains() : [aid]) },
    sinkStore: everything(dependencies, aid),
    deliver: (events) => write(events.filter(({ timeMs = after }) => timeMs >= after)),
  });
  await stream.round();
  return stream.figures().isOk === true;
}
