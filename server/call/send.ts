import { createHash } from 'node:crypto';
import type { JobFacts, ProxyOutcome } from '../../workers/jobs/proxy/jobs.ts';
import type { ItemName } from '../../workers/jobs/vault/jobs.ts';
import type { Certificates } from '../certificate/certificates.ts';
import type { Clock } from '../core/clock.ts';
import { pause, recover } from '../core/concurrency.ts';
import { asVaultError, failureFields, isFault } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';
import { type HeaderEntries, headerIn } from '../core/headers.ts';
import type { Secret } from '../core/secret.ts';
import type { NetworkTokenRequester, ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { SIMULATED_REQUESTER, simulateToken } from '../domain/proxy/network-token.ts';
import type { KeyHandle, KeyOpener } from '../key/opener.ts';
import type { AsksForRoom, OutboundResult, StreamingResult } from '../outbound/call.ts';
import type { OutgoingRequest, ThirdParties } from '../outbound/third-parties.ts';
import {
  type Account,
  type AccountContext,
  actFor,
  actorOf,
  createContext,
  senderOf,
} from '../request/context.ts';
import type { Rules } from '../rule/rules.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { ItemParts, ItemStore } from '../vault/store/items.ts';
import type { ItemWriter } from '../vault/writer.ts';
import { asksForRepeat, attemptCode, judgeAttempt, type RetryPause, type Verdict } from './outcome.ts';

const TRIES_MAX = 40;
const RETRY_PAUSE_MS = 50;
const NO_BYTES = new Uint8Array(0);

/** The part of an encrypted job that is sent. */
export interface OpenedJob {
  readonly facts: JobFacts;
  readonly request: Secret<OutgoingRequest>;
}

/** A request to a third party that is ready to be sent, by a synchronous call or an asynchronous job. */
export interface ProxyJob extends OpenedJob {
  readonly id: string;
  /** The encrypted job, from which the report and the stored item are made; empty as in `PreparedJob`. */
  readonly record: Uint8Array;
  /** The account with its current rights. */
  readonly account: Account;
  /** Only for synchronous calls: jobs are limited to a number for which there is room. */
  readonly room?: AsksForRoom | undefined;
}

export type TargetReply = Extract<OutboundResult, { readonly ok: true }>;

/** The outcome of a request, and the bytes that belong to it. */
export interface Concluded {
  readonly outcome: ProxyOutcome;
  readonly bytes: Uint8Array;
}

/** Sends synchronous and asynchronous requests: makes an attempt, and processes its reply. */
export class CallSender {
  constructor(
    private readonly itemStore: ItemStore,
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly keys: KeyOpener,
    private readonly rules: Rules,
    private readonly writer: ItemWriter,
    private readonly certificates: Certificates,
    private readonly requesters: readonly NetworkTokenRequester[],
    private readonly recordEvent: RecordEvent,
    private readonly retryPause: RetryPause,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
  ) {}

  /** Rejects at `query.requester_id` a requester that is not configured, or that cannot be reached. */
  async vetRequester(id: string): Promise<void> {
    if (this.isSimulated(id)) {
      return;
    }
    const field = 'query.requester_id';
    const requester = this.requesters.find((configured) => configured.id === id);
    if (requester === undefined) {
      throw new VaultError('invalid_request', {
        field,
        expected: 'must be a requester that the operator has set up',
      });
    }
    await this.thirdParties.vet(requester.url, [], field);
  }

  /** Admits an attempt after `made` others, and logs a repeated use of the item. Rejects if the item or the key is gone. */
  async admit(job: ProxyJob, made: number): Promise<void> {
    const { what, token, kid } = job.facts;
    if (what !== 'post') {
      await this.requireKey(job);
    }
    if (token !== undefined) {
      await (made === 0 ? this.readItem(kid, token) : this.logUse(job, token));
    }
  }

  async attempt(job: ProxyJob, made: number, deadlineMs: number): Promise<OutboundResult> {
    const startedAt = performance.now();
    const result = await this.send(job, deadlineMs);
    this.recordAttempt(logNamesOf(job), made, startedAt, result);
    return result;
  }

  /** Judges an attempt; `made` counts it. */
  judge({ facts: { attempts, repeatable } }: ProxyJob, result: OutboundResult, made: number): Verdict {
    const attempt = result.ok ? { ...result, retryAfter: headerIn(result.headers, 'retry-after') } : result;
    return judgeAttempt(attempt, { made, attempts, repeatable, now: this.now(), pause: this.retryPause });
  }

  /** Processes a reply by the kind of its request. Rejects as storing does, and with `reply_not_storable`. */
  async conclude(job: ProxyJob, reply: TargetReply): Promise<Concluded> {
    const { what, token } = job.facts;
    const { status: statusCode, headers } = reply;
    if (what === 'post') {
      if (token !== undefined) {
        const item = { aid: job.account.aid, kid: job.facts.kid, token };
        await this.dropSad(statusCode, [item], logNamesOf(job));
      }
      return { outcome: { kind: 'reply', statusCode, headers }, bytes: reply.body };
    }
    if (what === 'get' && asksForRepeat(statusCode)) {
      return { outcome: { kind: 'unstored', statusCode, headers }, bytes: NO_BYTES };
    }
    if (what === 'network_token' && !isSuccess(statusCode)) {
      throw new VaultError('reply_not_storable');
    }
    return this.store(job, reply);
  }

  /** Deletes the sensitive authentication data that items keep until a payment succeeds, if this status says so. */
  async dropSad(status: number, items: readonly ItemName[], logNames: LogNames): Promise<void> {
    if (this.settings.sadAfterProxy && isSuccess(status)) {
      await Promise.all(items.map((item) => this.dropSadOf(item, logNames)));
    }
  }

  /** Records the outcome of an attempt; never the data that was sent. `made` counts the attempts, `startedAt` is on `performance.now()`. */
  recordAttempt(
    names: LogNames,
    made: number,
    startedAt: number,
    result: OutboundResult | StreamingResult,
  ): void {
    this.recordEvent('proxy_attempt', {
      ...names,
      attempt: made,
      ms: Math.round(performance.now() - startedAt),
      ...(result.ok ? { status: result.status } : { code: attemptCode(result), reason: result.reason }),
    });
  }

  private isSimulated(requesterId: string | undefined): boolean {
    return requesterId === SIMULATED_REQUESTER && this.settings.environment === 'staging';
  }

  /** Requires the generation of the key that a fetch is encrypted for to be its newest still. */
  private async requireKey({ facts, account }: ProxyJob): Promise<KeyHandle> {
    const key = await this.keys.find(account, facts.user);
    if (key.kid !== facts.kid || key.gen !== facts.gen) {
      throw new VaultError('key_changed');
    }
    return key;
  }

  private async readItem(kid: string, token: string): Promise<ItemParts> {
    const read = await this.itemStore.read(kid, token);
    if (!read) {
      throw new VaultError('token_not_found');
    }
    return read;
  }

  private async logUse(job: ProxyJob, token: string): Promise<void> {
    const { kid } = job.facts;
    const { aid } = job.account;
    const { logLength: seen, logTail } = await this.readItem(kid, token);
    const own = { aid, kid, token, action: 'decrypt', outcome: 'ok', seen } as const;
    const now = this.now();
    const params = { ...actorOf(contextOf(job), now), ...own };
    const entry = await this.crypto.sealLog({ params, tail: logTail });
    const logged = await this.itemStore.appendOne(kid, token, entry, undefined, undefined, now);
    if (logged.kind !== 'appended') {
      throw new VaultError('overloaded');
    }
    if (!logged.present[0]) {
      throw new VaultError('token_not_found');
    }
  }

  private async send(job: ProxyJob, deadlineMs: number): Promise<OutboundResult> {
    const { id, facts, request, account, room } = job;
    const { requesterId } = facts;
    if (this.isSimulated(requesterId)) {
      return simulate(id, this.now());
    }
    const requester = this.requesters.find((configured) => configured.id === requesterId);
    if (requesterId !== undefined && requester === undefined) {
      // The operator has removed it since the request was accepted.
      return { ok: false, code: 'destination_refused', sent: false };
    }
    const certId = requester ? requester.client_cert_id : facts.clientCertId;
    const clientCert = certId === undefined ? undefined : await this.certificates.find(account.aid, certId);
    return this.thirdParties.send({
      ...{ owner: senderOf(account.aid, facts.credentialId), hosts: account.hosts },
      ...{ id, request, requester, clientCert, room },
      deadlineMs: Math.min(deadlineMs, facts.timeoutMs ?? deadlineMs),
    });
  }

  /** Drops the data of one item. A failure is recorded, not thrown: the next payment with this card tries again. */
  private async dropSadOf(name: ItemName, logNames: LogNames): Promise<void> {
    const { kid, token } = name;
    try {
      await untilDone(async () => {
        const { meta } = await this.readItem(kid, token);
        const without = await this.crypto.dropSad({ name, meta });
        const dropped = without ? await this.itemStore.dropSad(kid, token, meta, without) : 'ok';
        return dropped === 'changed' ? undefined : dropped;
      });
    } catch (error) {
      recordFault(this.recordEvent, logNames, error);
    }
  }

  private async store(job: ProxyJob, { status: statusCode, headers, body }: TargetReply): Promise<Concluded> {
    const { id, record, facts, account } = job;
    const { reference, algorithm } = facts;
    const request = { reference, algorithm, seed: id };
    const own = { id, bytesMax: BODY_BYTES.item, forcedMask: facts.forcedMask === true || !account.unmasked };
    const rules = await this.rules.find(account.aid, facts.rules);
    let reported: { readonly extra: Uint8Array; readonly headers: HeaderEntries } = {
      extra: NO_BYTES,
      headers,
    };
    let key = await this.requireKey(job);
    return untilDone(async () => {
      const stored = await this.writer.storeUnder(contextOf(job), key, request, async (wanted) => {
        const params = { ...wanted, ...own };
        const made = await this.crypto.storeFetched({ params, job: record, rules, headers, body });
        reported = made;
        return made.parts;
      });
      if (stored.kind !== 'done') {
        if (stored.kind === 'stale') {
          await recover(this.keys.findAgain(key), 'key_not_found', undefined);
        }
        key = await this.requireKey(job);
        return undefined;
      }
      const shown = { statusCode, headers: reported.headers, tokenInfo: stored.value };
      return { outcome: { kind: 'stored', ...shown }, bytes: reported.extra } as const;
    });
  }
}

/** Names of a job in the log: the request that created it, its id and its account. */
export function logNamesOf({ id, facts, account }: ProxyJob): LogNames {
  return { request_id: facts.requestId, job: id, account: account.name };
}

/** The context of a job: that of its creating request. Jobs of earlier versions have only their id. */
function contextOf({ id, facts, account }: ProxyJob): AccountContext {
  const { ip, ua: userAgent, requestId = id, credentialId, credentialName } = facts;
  const ctx = actFor(createContext({ requestId, ip, userAgent, source: 'proxy' }), account);
  return Object.assign(ctx, { credentialId, credentialName });
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Repeats a step until it returns a result; rejects with `overloaded` after about two seconds. */
async function untilDone<T>(step: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const result = await step();
    if (result !== undefined) {
      return result;
    }
    await pause(RETRY_PAUSE_MS);
  }
  throw new VaultError('overloaded');
}

export type LogNames = Readonly<Record<string, unknown>>;

/** Records a fault; errors of callers are not faults. */
export function recordFault(recordEvent: RecordEvent, names: LogNames, error: unknown): void {
  if (isFault(asVaultError(error))) {
    recordEvent('job_failed', { ...names, ...failureFields(error) });
  }
}

function simulate(id: string, now: number): OutboundResult {
  const digits = createHash('sha256').update(`network token ${id}`).digest().readUInt32BE(0) % 1_000_000_000;
  const body = simulateToken(String(digits).padStart(9, '0'), now);
  return { ok: true, status: 200, headers: [['Content-Type', 'application/json']], body };
}
