import { createHash } from 'node:crypto';
import { VaultError } from '../../core/errors.ts';
import { asVaultError, failureFields, isFault } from '../../core/failure.ts';
import type { Secret } from '../../core/secret.ts';
import type { Crypto, JobFacts, ProxyOutcome } from '../../crypto/client.ts';
import { SIMULATED_REQUESTER, simulateToken } from '../../domain/proxy/network-token.ts';
import { asksForRepeat, judgeAttempt, type Verdict } from '../../domain/proxy/outcome.ts';
import { STORED_BYTES_MAX, type TokenInfo } from '../../http/schema/vault.ts';
import type { OutboundResult } from '../../outbound/call.ts';
import type { FilledRequest, Requester, ThirdParties } from '../../outbound/third-parties.ts';
import type { ItemStore } from '../../store/item.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import type { ClientCredentials } from '../cert/cert.ts';
import type { Clock, RandomFraction } from '../common/clock.ts';
import { pause } from '../common/coalesce.ts';
import {
  type Account,
  type AccountContext,
  actFor,
  actorOf,
  createContext,
} from '../common/request-context.ts';
import type { ServiceSettings } from '../common/settings.ts';
import type { Keys } from '../key/key.ts';
import { isRetry, type KeyRef } from '../key/open.ts';
import type { Rules } from '../rule/rule.ts';
import type { Storing } from '../vault/store.ts';

/** Where the operator lets network tokens be asked for. */
export interface ProxyRequester extends Requester {
  readonly id: string;
  readonly client_cert_id: string | undefined;
}

const TRIES_MAX = 40;
const CLOSED_PAUSE_MS = 50;
const NO_BYTES = new Uint8Array(0);

/** A request to a third party that is ready to be sent, whoever waits for it. */
export interface ProxyJob {
  readonly id: string;
  /** The sealed job: what is reported and stored in the end is made from it. */
  readonly record: Uint8Array;
  readonly facts: JobFacts;
  readonly request: Secret<FilledRequest>;
  /** With its rights as they are now. */
  readonly account: Account;
}

/** A reply of a third party. */
export type ProxyReply = Extract<OutboundResult, { readonly ok: true }>;

/** What a request came to, and the bytes that belong to it. */
export interface Concluded {
  readonly outcome: ProxyOutcome;
  readonly bytes: Uint8Array;
}

/** What synchronous and asynchronous requests have in common: one attempt, and what follows from its reply. */
export interface ProxySending {
  /** Refuses a requester that there is none of, or that cannot be reached, at `query.requester_id`. */
  readonly vetRequester: (id: string) => Promise<void>;
  /**
   * Called before each attempt. Behind the first one it writes the reading of the item down once more. Refuses,
   * with `token_not_found`, `key_not_found` or `key_changed`, when what the request stands on is gone.
   */
  readonly admit: (job: ProxyJob, made: number) => Promise<void>;
  /** Makes an attempt, counted by `made`, and logs how it ended; never what was sent. */
  readonly attempt: (job: ProxyJob, made: number, deadlineMs: number) => Promise<OutboundResult>;
  /** What follows from an attempt; `made` counts it. */
  readonly judge: (job: ProxyJob, result: OutboundResult, made: number) => Verdict;
  /** Does with the reply what was asked for; refuses as storing does, and with `reply_not_storable`. */
  readonly conclude: (job: ProxyJob, reply: ProxyReply) => Promise<Concluded>;
}

interface SendingDependencies {
  readonly crypto: Pick<Crypto, 'dropSad' | 'sealLog' | 'storeFetched'>;
  readonly itemStore: Pick<ItemStore, 'appendLog' | 'bucketOf' | 'dropSad' | 'read'>;
  readonly thirdParties: Pick<ThirdParties, 'send' | 'vet'>;
  readonly keys: Pick<Keys, 'find'>;
  readonly rules: Pick<Rules, 'find'>;
  readonly storing: Pick<Storing, 'storeUnder'>;
  readonly credentials: ClientCredentials;
  readonly requesters: readonly ProxyRequester[];
  /** Writes to the log. */
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly random: RandomFraction;
  readonly settings: Pick<ServiceSettings, 'environment' | 'sadAfterProxy'>;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** What names a job in the log: the request that asked for it, its own id and its account. */
export function namesOf({ id, facts, account }: ProxyJob) {
  return {
    request_id: facts.requestId,
    job: id,
    account: account.name,
  };
}

/** The value of the first header of this name, which is written in small letters. */
function headerOf({ headers }: ProxyReply, name: string): string | undefined {
  return headers.find(([given]) => given.toLowerCase() === name)?.[1];
}

export function createProxySending(dependencies: SendingDependencies): ProxySending {
  const {
    crypto,
    itemStore,
    thirdParties,
    keys,
    rules,
    storing,
    credentials,
    requesters: allRequesters,
  } = dependencies;
  const { recordEvent, now, random, settings } = dependencies;
  const requesters = new Map(allRequesters.map((requester) => [requester.id, requester]));
  const simulates = settings.environment === 'staging';

  /** A job acts for its account under its own id: its request was answered long ago. */
  const contextOf = ({ id, facts, account }: ProxyJob): AccountContext =>
    actFor(createContext({ requestId: id, ip: facts.ip, userAgent: facts.ua, source: 'proxy' }), account);

  const keyOf = ({ facts, account }: ProxyJob): KeyRef => ({
    aid: account.aid,
    user: facts.user,
    kid: facts.kid,
    gen: facts.gen,
  });

  /** What is fetched is sealed to a generation of the key, which must still be its newest. */
  const requireKey = async (job: ProxyJob): Promise<void> => {
    const { aid, user, kid, gen } = keyOf(job);
    const key = await keys.find({ aid }, user);
    if (key.kid !== kid || key.gen !== gen) {
      throw new VaultError('key_changed');
    }
  };

  const readItem = async (kid: string, token: string) => {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const read = await itemStore.read(kid, token);
      if (!read) {
        throw new VaultError('token_not_found');
      }
      if (read.kind === 'item') {
        return read;
      }
      await pause(CLOSED_PAUSE_MS);
    }
    throw new VaultError('overloaded');
  };

  const logReading = async (job: ProxyJob, token: string): Promise<void> => {
    const { kid } = job.facts;
    const { aid } = job.account;
    const { logLength: seen, logTail } = await readItem(kid, token);
    const params = { ...actorOf(contextOf(job), now()), aid, kid, token, action: 'decrypt', seen } as const;
    const entry = await crypto.sealLog({ params, tail: logTail });
    const logged = await itemStore.appendLog(itemStore.bucketOf(kid, token), [token], [entry]);
    if (logged.kind !== 'appended') {
      throw new VaultError('overloaded');
    }
    if (!logged.present[0]) {
      throw new VaultError('token_not_found');
    }
  };

  const admit: ProxySending['admit'] = async (job, made) => {
    const { what, token, kid } = job.facts;
    if (what !== 'post') {
      await requireKey(job);
    }
    if (token !== undefined) {
      await (made === 0 ? readItem(kid, token) : logReading(job, token));
    }
  };

  const vetRequester: ProxySending['vetRequester'] = async (id) => {
    if (id === SIMULATED_REQUESTER && simulates) {
      return;
    }
    const field = 'query.requester_id';
    const requester = requesters.get(id);
    if (requester === undefined) {
      throw new VaultError('invalid_request', { field });
    }
    await thirdParties.vet(requester.url, [], field);
  };

  const simulate = (id: string): OutboundResult => {
    const digits =
      createHash('sha256').update(`network token ${id}`).digest().readUInt32BE(0) % 1_000_000_000;
    const body = simulateToken(String(digits).padStart(9, '0'), now());
    return { ok: true, status: 200, headers: [['Content-Type', 'application/json']], body };
  };

  const send = async (
    { id, facts, request, account }: ProxyJob,
    deadlineMs: number,
  ): Promise<OutboundResult> => {
    const { requesterId } = facts;
    if (requesterId === SIMULATED_REQUESTER && simulates) {
      return simulate(id);
    }
    const requester = requesterId === undefined ? undefined : requesters.get(requesterId);
    if (requesterId !== undefined && requester === undefined) {
      // The operator has taken it away since the request was accepted.
      return { ok: false, code: 'destination_refused', sent: false };
    }
    const certId = requester ? requester.client_cert_id : facts.clientCertId;
    const clientCert = certId === undefined ? undefined : await credentials.find(account.aid, certId);
    return thirdParties.send({ id, request, requester, hosts: account.hosts, clientCert, deadlineMs });
  };

  const attempt: ProxySending['attempt'] = async (job, made, deadlineMs) => {
    const startedAt = performance.now();
    const result = await send(job, deadlineMs);
    recordEvent('proxy_attempt', {
      ...namesOf(job),
      attempt: made,
      ms: Math.round(performance.now() - startedAt),
      ...(result.ok ? { status: result.status } : { code: result.code, reason: result.reason }),
    });
    return result;
  };

  const judge: ProxySending['judge'] = ({ facts: { attempts, repeatable } }, result, made) =>
    judgeAttempt(
      result.ok ? { ok: true, status: result.status, retryAfter: headerOf(result, 'retry-after') } : result,
      { made, attempts, repeatable, now: now(), random: random() },
    );

  const store = async (
    job: ProxyJob,
    reply: ProxyReply,
  ): Promise<{ readonly tokenInfo: TokenInfo; readonly extra: Uint8Array }> => {
    const { id, record, facts, account } = job;
    const applied = await rules.find(account.aid, facts.rules);
    const { reference, algorithm } = facts;
    const request = { reference, algorithm, return_card_metadata: false, seed: id };
    const own = { id, bytesMax: STORED_BYTES_MAX, forcedMask: !account.unmasked };
    const text = { contentType: headerOf(reply, 'content-type'), body: reply.body };
    let extra: Uint8Array = NO_BYTES;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const stored = await storing.storeUnder(contextOf(job), keyOf(job), request, async (wanted) => {
        const made = await crypto.storeFetched({
          params: { ...wanted, ...own },
          job: record,
          rules: applied,
          ...text,
        });
        extra = made.extra;
        return made.parts;
      });
      if (!isRetry(stored)) {
        return { tokenInfo: stored, extra };
      }
      await requireKey(job);
      await pause(CLOSED_PAUSE_MS);
    }
    throw new VaultError('overloaded');
  };

  /** Codes that are kept until a payment went through go now. */
  const dropSad = async ({ facts, account }: ProxyJob, token: string): Promise<void> => {
    const { kid } = facts;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const { meta } = await readItem(kid, token);
      const without = await crypto.dropSad({ name: { aid: account.aid, kid, token }, meta });
      if (!without || (await itemStore.dropSad(kid, token, meta, without)) !== 'changed') {
        return;
      }
    }
    throw new VaultError('overloaded');
  };

  const conclude: ProxySending['conclude'] = async (job, reply) => {
    const { what, token } = job.facts;
    const { status: statusCode, headers } = reply;
    if (what === 'post') {
      if (settings.sadAfterProxy && token !== undefined && isSuccess(statusCode)) {
        // The reply counts more than the deletion; the next payment with this card tries again.
        await dropSad(job, token).catch((error: unknown) => {
          if (isFault(asVaultError(error))) {
            recordEvent('job_failed', { ...namesOf(job), ...failureFields(error) });
          }
        });
      }
      return { outcome: { kind: 'reply', statusCode, headers }, bytes: reply.body };
    }
    if (what === 'get' && asksForRepeat(statusCode)) {
      return { outcome: { kind: 'unstored', statusCode, headers }, bytes: NO_BYTES };
    }
    if (what === 'network_token' && !isSuccess(statusCode)) {
      throw new VaultError('reply_not_storable');
    }
    const { tokenInfo, extra } = await store(job, reply);
    return { outcome: { kind: 'stored', statusCode, headers, tokenInfo }, bytes: extra };
  };

  return {
    vetRequester,
    admit,
    attempt,
    judge,
    conclude,
  };
}
