import { createAddressPolicy } from '../outbound/addresses.ts';
import { createJobQueue, type JobQueue } from '../outbound/job-queue.ts';
import { createThirdParties, type ThirdParties } from '../outbound/third-parties.ts';
import { createClientCredentials } from '../services/cert/cert.ts';
import type { Parts } from '../services/common/parts.ts';
import { createProxyJobs, type JobParts } from '../services/proxy/job.ts';
import { createProxy, type ProxyParts, type ProxyService } from '../services/proxy/proxy.ts';
import { createProxySending, type ProxyRequester, type SendingParts } from '../services/proxy/send.ts';
import { JOBS_AT_ONCE } from '../services/proxy/slots.ts';
import type { RedisTarget } from '../store/redis/client.ts';
import type { JobFigures } from '../telemetry/figures.ts';

/** What the operator has settled of requests to third parties. */
export interface ProxyOptions {
  /** CIDRs that may be reached besides public addresses. */
  readonly allow: readonly string[];
  /** Certificate authorities that are trusted besides the built-in ones. */
  readonly caPem?: string | undefined;
  readonly requesters: readonly ProxyRequester[];
}

/** Asynchronous requests of this server. */
export interface RunningJobs {
  /** Begins to work on the jobs of the vault, whichever server has accepted them. */
  readonly start: () => void;
  /** Has every job of an account run that has fallen out of the queue. */
  readonly resume: (aid: string) => Promise<void>;
  /** Takes no further job and waits for those under way; what is accepted from then on is for other servers. */
  readonly rest: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** How many there are. */
  readonly figures: JobFigures;
}

/** The way out to third parties that the options describe. */
export const openThirdParties = ({ allow, caPem }: ProxyOptions): ThirdParties =>
  createThirdParties({ policy: createAddressPolicy({ allow }), caPem });

type Services = Omit<ProxyParts & SendingParts & JobParts, 'sending' | 'jobs' | 'credentials' | 'enqueue'>;

/** The proxy with its jobs. The queue is opened when it is first needed. */
export function openProxy(
  parts: Parts,
  target: RedisTarget,
  services: Services,
): { readonly proxy: ProxyService; readonly jobs: RunningJobs } {
  let opened: JobQueue | undefined;
  const queue = (): JobQueue => {
    opened ??= createJobQueue({
      target,
      run: (name) => jobs.run(name),
      concurrency: JOBS_AT_ONCE,
      onEvent: (event) => services.note(event, {}),
    });
    return opened;
  };
  const credentials = createClientCredentials(parts);
  const sending = createProxySending(parts, { ...services, credentials });
  const jobs = createProxyJobs(parts, {
    ...services,
    sending,
    enqueue: (name, place) => queue().add(name, { place }),
  });
  return {
    proxy: createProxy(parts, { ...services, sending, jobs }),
    jobs: {
      start: () => queue().start(),
      resume: jobs.resume,
      async rest() {
        jobs.close();
        await opened?.rest();
      },
      async close() {
        jobs.close();
        await opened?.close();
      },
      figures: { waiting: async () => opened?.waiting(), inHand: jobs.inHand },
    },
  };
}
