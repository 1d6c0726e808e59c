/** How jobs get to the threads: what opens keys for them, in which lane they travel, and how they fail. */
import { type EndpointUse, type JobKind, type KeyParams, WARM_MISS } from '../../workers/jobs/kinds.ts';
import { type Failure, JobError } from '../../workers/pool/failure.ts';
import type { Lane } from '../../workers/pool/job.ts';
import type { Pool } from '../../workers/pool/pool.ts';
import { ReportedError } from '../core/error-cause.ts';
import { isErrorCode, VaultError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import { at, json, pack } from './fields.ts';

/** A key's private halves as an unlock left them: they open only together with the passphrase. */
export type WarmBlob = Uint8Array;
export type Passphrase = Secret<Uint8Array>;
/** The warm blob was made under another passphrase; the full unlock decides. */
export interface WarmMiss {
  readonly kind: 'warm_miss';
}
const WARM_MISSED: WarmMiss = { kind: 'warm_miss' };

/** What opens a vault key for one request: an earlier unlock or a retrieval endpoint, each with its secret. */
export type Opening =
  | { readonly blob: WarmBlob; readonly secret: Passphrase; readonly endpoint?: never }
  | {
      readonly endpoint: EndpointUse;
      readonly records: EndpointRecords;
      readonly secret: Secret<Uint8Array>;
    };

/** The two records of an endpoint. */
export interface EndpointRecords {
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
}

/** Rules by id, each with its sealed record. */
export interface RuleSet {
  readonly ids: readonly string[];
  readonly records: readonly Uint8Array[];
}

/** An item as it lies in Redis, and the last 16 bytes of the newest entry of its log. */
export interface SealedFields {
  readonly item: Uint8Array;
  readonly meta: Uint8Array;
  readonly sad: Uint8Array;
  readonly logTail: Uint8Array;
}

/** Parameters of a job but for how it opens its key and the rules that it runs. */
export type WithoutOpening<Params> = Omit<Params, 'endpoint' | 'rules'>;

/** Where a vault key is stored. */
export interface KeyPlace {
  readonly aid: string;
  readonly user: string;
}

/** A failure of a job as the error that callers see, with its cause. Unknown codes are mistakes of ours. */
export function errorOf({ code, field, cause }: Failure): VaultError {
  return new VaultError(isErrorCode(code) ? code : 'internal', {
    field,
    cause: cause && new ReportedError(cause),
  });
}

/** A failure of the pool as the error that callers see. */
export const toVaultError = (error: unknown): VaultError =>
  error instanceof JobError ? errorOf(error.failure) : new VaultError('internal', { cause: error });

/** A warm blob that did not open, as a result; everything else as the error that callers see. */
export const missOrThrow = (error: unknown): WarmMiss => {
  if (error instanceof JobError && error.code === WARM_MISS) {
    return WARM_MISSED;
  }
  throw toVaultError(error);
};

/** What a thread needs to know of a key; a handle holds its record besides, which travels as bytes if at all. */
export const keyParams = ({ aid, user, kid }: KeyPlace & KeyParams): Uint8Array => json({ aid, user, kid });

/** The first fields of a job that opens a key and may run rules. */
export const openingFields = (params: object, opening: Opening, rules: RuleSet): Uint8Array[] => [
  json({ ...params, endpoint: opening.endpoint, rules: rules.ids }),
  opening.endpoint === undefined
    ? opening.blob
    : Buffer.concat([pack([opening.records.policy]), opening.records.wrap]),
  opening.secret.expose(),
  pack(rules.records),
];

/** How long a job may run in a thread before the thread counts as hung. */
const DEADLINES: Readonly<Record<Lane, number>> = { hot: 5_000, bulk: 20_000, cold: 30_000 };

/** Rules may hold a thread for as long as rules may take: such jobs travel alone, behind those that do not. */
export const laneOf = ({ ids }: RuleSet): Lane => (ids.length === 0 ? 'hot' : 'bulk');

/** The share of single items, beside the account's own: somebody waits for each, and nobody for all of a tree. */
export const singlesOf = (aid: string): string => `${aid} singles`;

/** The ways into the threads. */
export interface Lanes {
  /** Rejects with what the thread says. */
  run(kind: JobKind, fields: readonly Uint8Array[], lane: Lane, account?: string): Promise<Uint8Array[]>;
  /** Rejects with what callers see; hot unless told otherwise. */
  plain(kind: JobKind, fields: readonly Uint8Array[], lane?: Lane, account?: string): Promise<Uint8Array[]>;
  /** As `plain`, for jobs with one field in their reply. */
  one(kind: JobKind, fields: readonly Uint8Array[], lane?: Lane, account?: string): Promise<Uint8Array>;
}

/** The ways into the threads of one pool. */
export function createLanes(pool: Pool): Lanes {
  const run: Lanes['run'] = (kind, fields, lane, account) =>
    pool.run({
      kind,
      fields,
      lane,
      deadlineMs: DEADLINES[lane],
      ...(account === undefined ? {} : { account }),
    });

  const plain: Lanes['plain'] = async (kind, fields, lane = 'hot', account) => {
    try {
      return await run(kind, fields, lane, account);
    } catch (error) {
      throw toVaultError(error);
    }
  };
  const one: Lanes['one'] = async (...args) => at(await plain(...args), 0);
  return { run, plain, one };
}
