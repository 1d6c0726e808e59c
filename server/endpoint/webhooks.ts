import type { RandomId } from '../core/clock.ts';
import type { Crypto } from '../crypto/client.ts';
import { jobIdOf, type ProxyJobs } from '../job/jobs.ts';
import type { CallPreparer } from '../proxy/prepare.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type { OpenEndpoint } from './auth.ts';
import type { CaptureWebhook } from './schema.ts';

const NO_BYTES = new Uint8Array(0);

/** Webhooks of capture endpoints. */
export class CaptureWebhooks {
  constructor(
    private readonly crypto: Crypto,
    private readonly preparer: CallPreparer,
    private readonly jobs: ProxyJobs,
    private readonly randomId: RandomId,
  ) {}

  /**
   * Returns the webhook of a new endpoint for its policy, empty without one. Rejects with the place of an invalid field, or with
   * `destination_refused`.
   */
  async check(account: Account, body: Uint8Array): Promise<Uint8Array> {
    const order = await this.preparer.checkOrder(account, 'capture', body);
    await this.preparer.vetOrder(account, order);
    return order.facts.webhook === undefined ? NO_BYTES : order.bytes;
  }

  /**
   * Accepts the report of a capture, which is then delivered as those of the proxy are. With the seed of an idempotent request
   * it is accepted once. Rejects with `jobs_full`.
   */
  async notify(
    { requestId }: AccountContext,
    { id: endpointId, key: { aid, kid }, records }: OpenEndpoint,
    captured: CaptureWebhook,
    seed: string | undefined,
  ): Promise<void> {
    const id = seed === undefined ? this.randomId() : jobIdOf('capture', seed);
    const place = { aid, id: endpointId, kind: 'capture' } as const;
    const { policy } = records;
    const record = await this.crypto.reportCapture({ place, policy, report: { id, requestId, captured } });
    const again = seed !== undefined;
    await this.jobs.accept(aid, { id, kid, phase: 'tell', kind: 'capture', record, again });
  }
}
