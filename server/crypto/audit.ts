import type {
  AuditEvent,
  AuditFilter,
  ChainFacts,
  Checkpoint,
  MarkFacts,
  ReadAuditFacts,
  VerifyAuditFacts,
  VerifyAuditParams,
} from '../../workers/jobs/audit-kinds.ts';
import { KIND } from '../../workers/jobs/kinds.ts';
import { at, json, parse } from './fields.ts';
import type { Lanes } from './lanes.ts';

export type {
  AuditEvent,
  AuditFilter,
  ChainFacts,
  ChainFault,
  Checkpoint,
  MarkFacts,
  OpenedEvent,
  ReadAuditFacts,
  VerifyAuditFacts,
} from '../../workers/jobs/audit-kinds.ts';

/** Entries that were sealed to follow a head, with the head that they make. */
export interface SealedEvents {
  readonly mark: MarkFacts;
  readonly head: Uint8Array;
  readonly entries: readonly Uint8Array[];
}

/** The marks of a chain as they lie in the store; none where there are none. */
export interface ChainMarks {
  readonly head: Uint8Array | undefined;
  readonly start: Uint8Array | undefined;
}

/** The part of the door to the threads that security logs go through. Records that do not fit: `integrity_failed`. */
export interface AuditCrypto {
  sealAudit(aid: string, head: Uint8Array | undefined, events: readonly AuditEvent[]): Promise<SealedEvents>;
  describeChain(aid: string, marks: ChainMarks): Promise<ChainFacts>;
  /** Opens entries that follow each other downwards from `newest`, and gives those that the filter wants. */
  readAudit(
    aid: string,
    newest: number,
    filter: AuditFilter,
    entries: readonly Uint8Array[],
  ): Promise<ReadAuditFacts>;
  /** Checks entries that follow each other upwards from `before`. */
  verifyAudit(params: VerifyAuditParams, entries: readonly Uint8Array[]): Promise<VerifyAuditFacts>;
  /** The start that a chain has when its entries before `beforeMs` are gone; `record` only when it moved. */
  trimAudit(
    params: { readonly aid: string; readonly beforeMs: number; readonly start: MarkFacts },
    entries: readonly Uint8Array[],
  ): Promise<{ readonly mark: MarkFacts; readonly record: Uint8Array | undefined }>;
  signCheckpoint(aid: string, head: Uint8Array, timeMs: number): Promise<Checkpoint>;
  /** Refuses with `integrity_failed` what this vault has not signed. */
  checkCheckpoint(checkpoint: Checkpoint): Promise<void>;
  /** The public key of checkpoints, PEM. */
  auditKey(): Promise<string>;
}

const EMPTY = new Uint8Array(0);
const decoder = new TextDecoder();

export function createAuditCrypto({ plain, one }: Pick<Lanes, 'plain' | 'one'>): AuditCrypto {
  return {
    async sealAudit(aid, head, events) {
      const reply = await plain(KIND.sealAudit, [json({ aid, events }), head ?? EMPTY]);
      return { mark: parse<MarkFacts>(at(reply, 0)), head: at(reply, 1), entries: reply.slice(2) };
    },
    describeChain: async (aid, { head, start }) =>
      parse<ChainFacts>(await one(KIND.describeChain, [json({ aid }), head ?? EMPTY, start ?? EMPTY])),
    readAudit: async (aid, newest, filter, entries) =>
      parse<ReadAuditFacts>(
        await one(KIND.readAudit, [json({ ...filter, aid, newest }), ...entries], 'bulk', aid),
      ),
    verifyAudit: async (params, entries) =>
      parse<VerifyAuditFacts>(await one(KIND.verifyAudit, [json(params), ...entries], 'bulk', params.aid)),
    async trimAudit(params, entries) {
      const reply = await plain(KIND.trimAudit, [json(params), ...entries], 'bulk', params.aid);
      const record = at(reply, 1);
      return { mark: parse<MarkFacts>(at(reply, 0)), record: record.length > 0 ? record : undefined };
    },
    signCheckpoint: async (aid, head, timeMs) =>
      parse<Checkpoint>(await one(KIND.signCheckpoint, [json({ aid, timeMs }), head])),
    checkCheckpoint: async (checkpoint) => {
      await plain(KIND.checkCheckpoint, [json({ checkpoint })]);
    },
    auditKey: async () => decoder.decode(await one(KIND.auditKey, [EMPTY])),
  };
}
