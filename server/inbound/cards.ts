import type { InboundParams } from '../../workers/jobs/inbound/jobs.ts';
import type { StoredParts } from '../../workers/jobs/vault/jobs.ts';
import { VaultError } from '../core/errors.ts';
import { type Done, done, type KeyRef, type Retry } from '../key/opener.ts';
import { type AccountContext, rejectAbandoned } from '../request/context.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import type { BatchWriter, SealedWrite } from '../vault/batch/write-batch.ts';
import type { ItemWriter } from '../vault/writer.ts';
import type { CardSettings } from './settings.ts';

/** The result of a job that takes the cards of a message. */
interface Taken {
  readonly items: readonly Omit<StoredParts, 'kind'>[];
}

type CardParams = Omit<InboundParams, 'headers'>;

/** Stores the cards of a message. */
export class InboundCards {
  constructor(
    private readonly writer: ItemWriter,
    private readonly batchWriter: BatchWriter,
  ) {}

  /**
   * Takes the cards of a message by a job, and writes all of them. Returns the result of the job, whose tokens are those that were
   * written. Rejects as the job, or with `integrity_failed`.
   */
  async store<Result extends Taken, Miss extends Retry>(
    ctx: AccountContext,
    key: KeyRef,
    { id, rules, algorithm, ttl, metadata }: CardSettings,
    take: (params: CardParams) => Promise<Result | Miss>,
  ): Promise<Done<Result> | Retry> {
    const candidates: Record<number, number> = {};
    const takeAll = () => {
      const options = {
        ttl,
        metadata: metadata && JSON.stringify(metadata),
        reference: id,
        rules,
        algorithm,
      };
      const settings = { ...this.writer.settingsOf(ctx, key), wantsCard: false, wantsFingerprint: false };
      return take({ ...settings, ...options, candidates, bytesMax: BODY_BYTES.item });
    };
    const first = await takeAll();
    if (!('items' in first)) {
      return first;
    }
    rejectAbandoned(ctx);
    let taken: Result = first;
    let failure: VaultError | undefined;
    const written = await this.batchWriter.write(
      {
        ...{ ctx, key, operation: 'capture' },
        settle: (_, outcome) => {
          failure = 'failed' in outcome ? new VaultError(outcome.failed) : failure;
        },
        // The token stands in the message, which is made anew.
        reseal: async (index, candidate) => {
          candidates[index] = candidate;
          const next = await takeAll();
          if (!('items' in next)) {
            return next;
          }
          taken = next;
          return done(next.items.slice(index, index + 1).map((item) => writeOf(item, index)));
        },
      },
      first.items.map(writeOf),
    );
    if (failure !== undefined) {
      throw failure;
    }
    return written.kind === 'done' ? done(taken) : written;
  }
}

function writeOf(item: Omit<StoredParts, 'kind'>, index: number): SealedWrite {
  return { index, write: { ...item, ...item.facts } };
}
