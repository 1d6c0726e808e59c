import { type ErrorCode, VaultError } from '../../core/errors.ts';
import { asVaultError, failureFields, isFault } from '../../core/failure.ts';
import type { Crypto } from '../../crypto/client.ts';
import { isOpen } from '../../domain/proxy/outcome.ts';
import { pauseMs } from '../../domain/proxy/retry-pause.ts';
import type { ThirdParties } from '../../outbound/third-parties.ts';
import type { JobBill, JobStore, StoredJob } from '../../store/job.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import type { Accounts } from '../account/account.ts';
import type { Clock, RandomFraction, RandomId } from '../common/clock.ts';
import { insist, isTransient, pause } from '../common/coalesce.ts';
import type { Account } from '../common/request-context.ts';
import { monthOf } from '../request/metering.ts';
import { type Concluded, namesOf, type ProxyJob, type ProxySending } from './send.ts';
import { createJobSlots } from './slots.ts';

/** How long a third party may take for one attempt; below the time that a server has for its last work. */
const ATTEMPT_MS = 20_000;
const WEBHOOK_MS = 10_000;
/** When a job is looked at again that another server has in hand. */
const ELSEWHERE_MS = 1_000;
const WAKE_PAUSE_MS = 1_000;
const NO_BYTES = new Uint8Array(0);
/** What a reply that was kept for the case of no better one has come to. */
const LAST_REPLY = { outcome: { kind: 'reply', statusCode: 0, headers: [] } } as const;

/** Asynchronous requests, from acceptance to the last call of the webhook. */
export interface ProxyJobs {
  /** Does the next step of a job, `aid.id`; gives the ms until the one after it, undefined when there is none. */
  readonly run: (name: string) => Promise<number | undefined>;
  /** Has a job that is stored run, now or as soon as the queue can be reached. Never fails. */
  readonly wake: (aid: string, id: string, place: number) => void;
  /** Wakes every job of an account; those that are in the queue stay as they are. */
  readonly resume: (aid: string) => Promise<void>;
  /** How many jobs this server works on. */
  readonly inFlight: () => number;
  /** Takes no further step; what is under way is the queue's to wait for. */
  readonly close: () => void;
}

interface JobDependencies {
  readonly crypto: Pick<Crypto, 'openJob' | 'openReport' | 'sealReport'>;
  readonly jobStore: JobStore;
  readonly thirdParties: Pick<ThirdParties, 'deliver'>;
  readonly accounts: Pick<Accounts, 'lookUp'>;
  readonly sending: ProxySending;
  /** Puts a name into the queue, which calls `run` with it; behind those with a smaller place. */
  readonly enqueue: (name: string, place: number) => Promise<void>;
  /** Tells of what happened to a job; never what was sent. */
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly random: RandomFraction;
}

interface Place {
  readonly aid: string;
  readonly id: string;
}

/** A job whose record has been opened: whose it is, and the id of the request that has asked for it. */
interface Opened extends Place {
  readonly account: string;
  readonly requestId: string | undefined;
}

/** What names a job in the log. Its own id goes along with its attempts, as `X-Vault-Request-Id`. */
function named({ id, account, requestId }: Opened) {
  return { request_id: requestId, job: id, account };
}

/** An attempt that is recorded, and the job as it was read before. */
interface Flight extends Opened {
  readonly stored: StoredJob;
  readonly nonce: string;
}

/** Codes of attempts that could have been followed by another one. */
const HAS_RUN_OUT: ReadonlySet<ErrorCode> = new Set(['target_unreachable', 'target_timeout', 'overloaded']);

function failed(code: ErrorCode): Concluded {
  return { outcome: { kind: 'failure', code }, bytes: NO_BYTES };
}

export function createProxyJobs(dependencies: JobDependencies): ProxyJobs {
  const { crypto, jobStore, thirdParties, accounts, sending, enqueue, recordEvent } = dependencies;
  const { now, randomId, random } = dependencies;
  const slots = createJobSlots({ now, random });
  // Attempts of this process that were recorded, perhaps, and certainly not made.
  const unsent = new Set<string>();
  let closed = false;

  const reportFault = (names: Readonly<Record<string, unknown>>, error: unknown): void => {
    if (isFault(asVaultError(error))) {
      recordEvent('job_failed', { ...names, ...failureFields(error) });
    }
  };

  /** Records an attempt before it is made. Its nonce makes that safe to repeat, as often as it takes. */
  const begin = async (place: Opened, stored: StoredJob, bill?: JobBill): Promise<Flight | undefined> => {
    const nonce = randomId();
    unsent.add(nonce);
    const begun = await insist(() => jobStore.beginAttempt(place.aid, place.id, stored, nonce, bill));
    unsent.delete(nonce);
    unsent.delete(stored.flight);
    return begun ? { ...place, stored, nonce } : undefined;
  };

  const sealReport = (
    { aid, id }: Place,
    record: Uint8Array,
    { outcome, bytes }: Concluded,
  ): Promise<Uint8Array> =>
    insist(
      () => crypto.sealReport({ place: { aid, id }, job: record, outcome, content: bytes }),
      isTransient,
    );

  /** Puts a report in the place of the request, whose card data is gone with that. */
  const tellSealed = async (
    place: Opened,
    flight: string,
    sealed: Uint8Array,
    { outcome }: Pick<Concluded, 'outcome'>,
  ): Promise<number> => {
    const isOurs = await insist(() => jobStore.startReport(place.aid, place.id, flight, sealed));
    if (isOurs) {
      const code = outcome.kind === 'failure' ? outcome.code : undefined;
      recordEvent('proxy_finished', { ...named(place), outcome: outcome.kind, code });
    }
    return isOurs ? 0 : ELSEWHERE_MS;
  };

  const report = async (
    place: Opened,
    record: Uint8Array,
    flight: string,
    concluded: Concluded,
  ): Promise<number> => tellSealed(place, flight, await sealReport(place, record, concluded), concluded);

  const ownerOf = async ({ aid }: Place, name: string): Promise<Account | undefined> => {
    const account = await accounts.lookUp(name);
    return account?.aid === aid ? account : undefined;
  };

  /** Whatever a reply comes to can be told; what the vault cannot do right now is tried again. */
  const conclude = async (
    job: ProxyJob,
    result: Parameters<ProxySending['conclude']>[1],
  ): Promise<Concluded> => {
    try {
      return await insist(() => sending.conclude(job, result), isTransient);
    } catch (error) {
      reportFault(namesOf(job), error);
      // The target has answered: whatever is wrong here, its outcome is not unknown.
      return failed(asVaultError(error).code);
    }
  };

  const attempt = async (job: ProxyJob, { stored, nonce, ...place }: Flight): Promise<number> => {
    const { aid, id } = place;
    const made = stored.attempts + 1;
    const result = await insist(() => sending.attempt(job, made, ATTEMPT_MS), isTransient).catch((error) => {
      // What it throws was thrown before a byte had left.
      unsent.add(nonce);
      throw error;
    });
    const verdict = sending.judge(job, result, made);
    if (verdict.kind === 'again') {
      const report = result.ok ? await sealReport(place, job.record, await conclude(job, result)) : undefined;
      const over = { sent: result.ok || result.sent, report };
      await insist(() => jobStore.endAttempt(aid, id, nonce, over));
      return verdict.pauseMs;
    }
    if (result.ok) {
      return report(place, job.record, nonce, await conclude(job, result));
    }
    return giveUp(place, { ...stored, flight: nonce }, isOpen(result), result.code);
  };

  /**
   * No further attempt. Where they have run out, the last reply is the outcome; whatever was sent behind it, or
   * with `open` just now, leaves it unknown.
   */
  const giveUp = (
    place: Opened,
    { record, flight, last, sent }: StoredJob,
    open: boolean,
    code: ErrorCode,
  ): Promise<number> => {
    if (last !== undefined && !open && HAS_RUN_OUT.has(code)) {
      return tellSealed(place, flight, last, LAST_REPLY);
    }
    const isUnknown = open || (sent && last === undefined);
    return report(place, record, flight, failed(isUnknown ? 'outcome_unknown' : code));
  };

  const forget = async ({ aid, id }: Place, flight: string): Promise<undefined> => {
    await insist(() => jobStore.remove(aid, id, flight));
    return undefined;
  };

  const send = async (place: Place, stored: StoredJob): Promise<number | undefined> => {
    const { aid, id } = place;
    const { record, attempts: made, flight } = stored;
    const opened = await crypto.openJob({ place: { aid, id }, job: record });
    const account = await ownerOf(place, opened.facts.account);
    if (!account) {
      return forget(place, flight);
    }
    const job = { id, record, account, ...opened };
    const own = { ...place, account: account.name, requestId: opened.facts.requestId };
    const { repeatable, attempts, what } = job.facts;
    const isUnknown = flight !== '' && !unsent.has(flight);
    if (made >= attempts || (isUnknown && !repeatable)) {
      return giveUp(own, stored, isUnknown, 'overloaded');
    }
    try {
      await sending.admit(job, made);
    } catch (error) {
      if (error instanceof VaultError && error.status < 500) {
        return giveUp(own, stored, isUnknown, error.code);
      }
      throw error;
    }
    const operation = what === 'network_token' ? 'network_token' : 'proxy_attempt';
    const begun = await begin(own, stored, { month: monthOf(now()), operation });
    return begun ? attempt(job, begun) : ELSEWHERE_MS;
  };

  const tell = async (place: Place, stored: StoredJob): Promise<number | undefined> => {
    const { aid, id } = place;
    const opened = await crypto.openReport({ place: { aid, id }, report: stored.record });
    const { secret, body } = opened;
    const { url, maxAttempts, account: name, requestId } = opened.facts;
    const own = { ...place, account: name, requestId };
    const account = await ownerOf(place, name);
    if (!account || stored.attempts >= maxAttempts) {
      recordEvent('webhook_abandoned', named(own));
      return forget(place, stored.flight);
    }
    const begun = await begin(own, stored);
    if (!begun) {
      return ELSEWHERE_MS;
    }
    const { hosts } = account;
    const call = { id, url, secret, body, hosts, timestampSeconds: Math.floor(now() / 1_000) };
    const startedAt = performance.now();
    const outcome = await thirdParties.deliver({ ...call, deadlineMs: WEBHOOK_MS });
    const made = stored.attempts + 1;
    const ms = Math.round(performance.now() - startedAt);
    recordEvent('webhook_attempt', { ...named(own), attempt: made, ms, ...outcome });
    if (outcome.delivered || made >= maxAttempts) {
      if (!outcome.delivered) {
        recordEvent('webhook_abandoned', named(own));
      }
      return forget(place, begun.nonce);
    }
    await insist(() => jobStore.endAttempt(aid, id, begun.nonce, { sent: true }));
    return pauseMs(made, random());
  };

  const run: ProxyJobs['run'] = async (name) => {
    const [aid = '', id = ''] = name.split('.');
    if (closed) {
      return ELSEWHERE_MS;
    }
    const waitMs = slots.take(aid, name);
    if (waitMs !== undefined) {
      return waitMs;
    }
    try {
      for (;;) {
        const stored = await jobStore.read(aid, id);
        const nextMs = stored && (await (stored.phase === 'send' ? send : tell)({ aid, id }, stored));
        if (nextMs !== 0 || closed) {
          return nextMs;
        }
      }
    } catch (error) {
      if (error instanceof VaultError && error.code === 'integrity_failed') {
        // Nothing here can mend it. It keeps its place in the directory, for the sweep to look at again.
        recordEvent('job_integrity_failed', { job: id, ...failureFields(error) });
        return undefined;
      }
      reportFault({ job: id }, error);
      throw error;
    } finally {
      slots.give(aid);
    }
  };

  const wake: ProxyJobs['wake'] = (aid, id, place) => {
    const again = async (): Promise<void> => {
      do {
        try {
          return await enqueue(`${aid}.${id}`, place);
        } catch {
          await pause(WAKE_PAUSE_MS);
        }
      } while (!closed);
    };
    void again();
  };

  return {
    run,
    wake,
    async resume(aid) {
      let place = 0;
      for await (const ids of jobStore.list(aid)) {
        for (const id of ids) {
          place += 1;
          await enqueue(`${aid}.${id}`, place);
        }
      }
    },
    inFlight: slots.running,
    close: () => {
      closed = true;
    },
  };
}
