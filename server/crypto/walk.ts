import { KIND } from '../../workers/jobs/kinds.ts';
import type {
  ItemsLook,
  LogLook,
  RecordLook,
  RenewalPlan,
  WalkItemsParams,
  WalkLogParams,
  WalkPlace,
} from '../../workers/jobs/walk-kinds.ts';
import { at, json, parse } from './fields.ts';
import type { Lanes } from './lanes.ts';

export type {
  ItemsLook,
  LogLook,
  RecordLook,
  RenewalPlan,
  WalkItemsParams,
  WalkLogParams,
  WalkPlace,
} from '../../workers/jobs/walk-kinds.ts';

/** A record and the place that it must open in. */
export interface PlacedRecord {
  readonly place: WalkPlace;
  readonly record: Uint8Array;
}

/** A plan, and for each of its fields the last 16 bytes that were read and the new record. */
export interface Renewals {
  readonly plan: RenewalPlan;
  readonly parts: readonly { readonly tag: Uint8Array; readonly record: Uint8Array }[];
}

/** The part of the door to the threads that looks at all records there are, a page at a time. No passphrase is needed. */
export interface WalkCrypto {
  /** One look for each record. */
  lookAtRecords(records: readonly PlacedRecord[]): Promise<readonly RecordLook[]>;
  /** For each record the ring key that it was under, and the record under the write key where that is another one. */
  renewRecords(
    records: readonly PlacedRecord[],
  ): Promise<readonly { readonly keyId: string | undefined; readonly renewed: Uint8Array | undefined }[]>;
  /** `members`: what the reference index must hold for each item; empty for none. */
  lookAtItems(
    params: WalkItemsParams,
    survey: Uint8Array,
  ): Promise<{ readonly look: ItemsLook; readonly members: readonly Uint8Array[] }>;
  /** `before`: the last 16 bytes of each entry before these, laid end to end. */
  lookAtLog(params: WalkLogParams, before: Uint8Array, entries: readonly Uint8Array[]): Promise<LogLook>;
  /** What the reference index must hold for each item, by its metadata; empty for none. */
  referenceMembers(
    params: Pick<WalkItemsParams, 'aid' | 'kid' | 'tokens'>,
    metas: readonly Uint8Array[],
  ): Promise<readonly Uint8Array[]>;
  renewItems(params: WalkItemsParams, survey: Uint8Array): Promise<Renewals>;
  renewLog(params: WalkLogParams, entries: readonly Uint8Array[]): Promise<Renewals>;
}

const renewalsOf = (reply: readonly Uint8Array[]): Renewals => {
  const plan = parse<RenewalPlan>(reply[0]);
  const parts = plan.fields.map((_, i) => ({ tag: at(reply, 2 * i + 1), record: at(reply, 2 * i + 2) }));
  return { plan, parts };
};

/** That part of the door, by the given ways into the threads. Its jobs are bulk work of an account. */
export function createWalkCrypto({ plain }: Lanes): WalkCrypto {
  const recordFields = (records: readonly PlacedRecord[]): Uint8Array[] => [
    json({ places: records.map(({ place }) => place) }),
    ...records.map(({ record }) => record),
  ];
  return {
    lookAtRecords: async (records) =>
      parse(at(await plain(KIND.lookAtRecords, recordFields(records), 'bulk', 'walk'), 0)),
    async renewRecords(records) {
      const reply = await plain(KIND.renewRecords, recordFields(records), 'bulk', 'walk');
      const ids = parse<readonly (string | null)[]>(reply[0]);
      return ids.map((id, i) => {
        const renewed = at(reply, i + 1);
        return { keyId: id ?? undefined, renewed: renewed.length === 0 ? undefined : renewed };
      });
    },
    async lookAtItems(params, survey) {
      const reply = await plain(KIND.lookAtItems, [json(params), survey], 'bulk', 'walk');
      return { look: parse<ItemsLook>(reply[0]), members: reply.slice(1) };
    },
    lookAtLog: async (params, before, entries) =>
      parse(at(await plain(KIND.lookAtLog, [json(params), before, ...entries], 'bulk', 'walk'), 0)),
    referenceMembers: (params, metas) =>
      plain(KIND.referenceMembers, [json(params), ...metas], 'bulk', 'walk'),
    renewItems: async (params, survey) =>
      renewalsOf(await plain(KIND.renewItems, [json(params), survey], 'bulk', 'walk')),
    renewLog: async (params, entries) =>
      renewalsOf(await plain(KIND.renewLog, [json(params), ...entries], 'bulk', 'walk')),
  };
}
