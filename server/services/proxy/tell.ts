import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import type { ToldCapture } from '../../http/schema/capture.ts';
import type { ThirdParties } from '../../outbound/third-parties.ts';
import type { JobStore } from '../../store/job/job.ts';
import type { Telling } from '../capture/capture.ts';
import { bindParts } from '../common/bind.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import type { Account, AccountContext } from '../common/request-context.ts';
import type { ServiceSettings } from '../common/settings.ts';
import type { OpenEndpoint } from '../endpoint/auth.ts';
import { jobIdOf, type ProxyJobs } from './job.ts';
import { checkOrder, vetOrder } from './prepare.ts';

interface TellingParts {
  readonly crypto: Pick<Crypto, 'readProxyOrder' | 'reportCapture'>;
  readonly jobStore: Pick<JobStore, 'create'>;
  readonly thirdParties: Pick<ThirdParties, 'isListed' | 'vet'>;
  readonly jobs: Pick<ProxyJobs, 'wake'>;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'refuseUnknown'>;
}

const NO_BYTES = new Uint8Array(0);

/** Makes the webhooks of capture endpoints. */
export function createTelling(parts: TellingParts): Telling {
  return bindParts(parts, { check, tell });
}

async function check(parts: TellingParts, account: Account, body: Uint8Array): Promise<Uint8Array> {
  const order = await checkOrder(parts, account, 'capture', body);
  await vetOrder(parts, account, order);
  return order.facts.webhook === undefined ? NO_BYTES : order.bytes;
}

async function tell(
  { crypto, jobStore, jobs, now, randomId }: TellingParts,
  { requestId }: AccountContext,
  { id: endpointId, key: { aid, kid }, records }: OpenEndpoint,
  captured: ToldCapture,
  seed: string | undefined,
): Promise<void> {
  const id = seed === undefined ? randomId() : jobIdOf('capture', seed);
  const place = { aid, id: endpointId, kind: 'capture' } as const;
  const { policy } = records;
  const record = await crypto.reportCapture({ place, policy, report: { id, requestId, captured } });
  const job = { id, kid, phase: 'tell', kind: 'capture', record, again: seed !== undefined } as const;
  const made = await jobStore.create(aid, job, now());
  if (made.kind === 'full') {
    throw new VaultError('jobs_full');
  }
  jobs.wake(aid, id, made.kind === 'ok' ? made.place : 1);
}
