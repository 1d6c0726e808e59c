import type { AuditStore } from '../audit/store.ts';
import type { Crypto } from '../crypto/client.ts';
import type { NamedAccounts } from '../log-heads/heads.ts';
import type { HeadsStore } from '../log-heads/store.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { ItemStore } from '../vault/store/items.ts';
import type { SinkEvent } from './event.ts';
import type { SinkStore } from './store.ts';
import { AuditStream, type SinkPositions } from './stream.ts';

interface StreamAllDeps {
  readonly auditStore: AuditStore;
  readonly headsStore: HeadsStore;
  readonly itemStore: ItemStore;
  readonly sinkStore: SinkStore;
  readonly crypto: Crypto;
  readonly accounts: NamedAccounts;
  readonly recordEvent: RecordEvent;
}

export interface WantedEvents {
  /** The only account; undefined for all. */
  readonly aid?: string | undefined;
  /** The earliest time, ms since 1970. Entries that do not open have no time and are always wanted. */
  readonly after?: number | undefined;
}

/**
 * Writes all events that logs hold now, each log in its order, security logs first. An item that moves meanwhile may come twice.
 * Events of deleted items are missing. False if a log could not be read, or `write` has rejected.
 */
export async function streamAll(
  deps: StreamAllDeps,
  { aid, after = 0 }: WantedEvents,
  write: (events: readonly SinkEvent[]) => Promise<void>,
): Promise<boolean> {
  const deliver = (events: readonly SinkEvent[]): Promise<void> =>
    write(events.filter(({ timeMs = after }) => timeMs >= after));
  const { auditStore, crypto, accounts, recordEvent } = deps;
  const positions = positionsBeforeAll(deps, aid);
  const stream = new AuditStream(auditStore, positions, crypto, accounts, deliver, recordEvent, '', aid);
  await stream.round();
  return stream.figures().isOk === true;
}

/** Makes positions at which nothing was delivered, and which record nothing. */
function positionsBeforeAll(
  { sinkStore, headsStore, itemStore, accounts }: StreamAllDeps,
  only: string | undefined,
): SinkPositions {
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
