import { createHash } from 'node:crypto';
import { VaultError } from '../../core/errors.ts';
import { isFault } from '../../core/failure.ts';
import type { Crypto, Passphrase, RuleSet } from '../../crypto/client.ts';
import { isOpen } from '../../domain/proxy/outcome.ts';
import type { MeterOperation } from '../../http/schema/admin.ts';
import type { OutboundResult } from '../../outbound/call.ts';
import type { ThirdParties } from '../../outbound/third-parties.ts';
import type { JobStore } from '../../store/job.ts';
import type { RecordEvent } from '../../telemetry/events.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import { insist, isTransient, pause } from '../common/coalesce.ts';
import type { AccountContext } from '../common/request-context.ts';
import type { Keys } from '../key/key.ts';
import type { Unlocked } from '../key/open.ts';
import type { IdempotencyService, Repeatable, ReplyCodec, SentMark } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Rules } from '../rule/rule.ts';
import type { ProxyJobs } from './job.ts';
import type {
  NetworkTokenInput,
  Order,
  Prepared,
  ProxyGetInput,
  ProxyPostInput,
  ProxyPreparing,
} from './prepare.ts';
import type { ProxyJob, ProxyReply, ProxySending } from './send.ts';
import { createCallBounds } from './slots.ts';

/** Each answers with the JSON text of the reply: what became of a synchronous request, or that it was accepted. */
export interface ProxyService {
  readonly post: (ctx: AccountContext, input: ProxyPostInput) => Promise<Repeatable<Uint8Array>>;
  readonly get: (ctx: AccountContext, input: ProxyGetInput) => Promise<Repeatable<Uint8Array>>;
  readonly networkToken: (ctx: AccountContext, input: NetworkTokenInput) => Promise<Repeatable<Uint8Array>>;
}

/** What all attempts of a synchronous request may take together. */
const SYNCHRONOUS_MS = 20_000;
const ATTEMPTS_DEFAULT = 8;
const ACCEPTED = 'The request was accepted; its outcome goes to the webhook.';
const NO_RULES: RuleSet = [];

const encoder = new TextEncoder();

interface ProxyDependencies {
  readonly crypto: Pick<Crypto, 'openJob' | 'openReply' | 'reportProxy' | 'sealReply'>;
  readonly jobStore: Pick<JobStore, 'create'>;
  readonly thirdParties: Pick<ThirdParties, 'checkHeaders' | 'contentOf'>;
  readonly metering: Pick<MeteringService, 'count' | 'settle'>;
  readonly idempotency: IdempotencyService;
  readonly keys: Pick<Keys, 'prove'>;
  readonly rules: Pick<Rules, 'find'>;
  readonly preparing: ProxyPreparing;
  readonly sending: ProxySending;
  readonly jobs: Pick<ProxyJobs, 'wake'>;
  /** Writes to the log. */
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly randomId: RandomId;
}

function idFromSeed(seed: string): string {
  return createHash('sha256').update(`proxy ${seed}`).digest('base64url').slice(0, 22);
}

/** A refusal of a request that was sent: the third party knows it by this id. */
function sentAs({ id }: ProxyJob, error: VaultError): VaultError {
  const { code, field, retryAfterSeconds } = error;
  return new VaultError(code, {
    field,
    retryAfterSeconds,
    sentAs: id,
    cause: isFault(error) ? error : undefined,
  });
}

/** What the attempts of a request, those of earlier calls under its Idempotency-Key too, have come to so far. */
interface Course {
  hasSent: boolean;
  /** Something was sent, and neither it nor anything behind it was answered. */
  isUnknown: boolean;
  last: ProxyReply | undefined;
}

function follow(course: Course, result: OutboundResult): void {
  if (result.ok) {
    Object.assign(course, { hasSent: true, isUnknown: false, last: result });
  } else if (isOpen(result)) {
    Object.assign(course, { hasSent: true, isUnknown: true, last: undefined });
  } else {
    course.hasSent ||= result.sent;
  }
}

/** Whoever waits is told that the time is over; the id that goes along says what to ask for. */
function refuse({ isUnknown }: Course, result: OutboundResult): never {
  const code = result.ok ? 'internal' : result.code;
  throw new VaultError(isUnknown && code !== 'target_timeout' ? 'outcome_unknown' : code);
}

function accepted(id: string, shown: Uint8Array): Uint8Array {
  const text = JSON.stringify({ message: ACCEPTED, id });
  return shown.length === 0
    ? encoder.encode(text)
    : Buffer.concat([
        encoder.encode(`${text.slice(0, -1)},"populated_template":`),
        shown,
        encoder.encode('}'),
      ]);
}

/** Requests to third parties: filled with stored data, or fetching what is to be stored. */
export function createProxy(dependencies: ProxyDependencies): ProxyService {
  const {
    crypto,
    jobStore,
    thirdParties,
    metering,
    idempotency,
    keys,
    rules,
    preparing: { readOrder, vet, fill, prepareFetch },
  } = dependencies;
  const { sending, jobs, recordEvent, now, randomId } = dependencies;
  const calls = createCallBounds();

  const openJob = async ({ account }: AccountContext, id: string, record: Uint8Array): Promise<ProxyJob> => {
    const opened = await crypto.openJob({ place: { aid: account.aid, id }, job: record });
    thirdParties.checkHeaders(opened.request, 'body.request.headers');
    return { id, record, account, ...opened };
  };

  const accept = async (
    { account, requestId }: AccountContext,
    { id, record }: ProxyJob,
    again: boolean,
  ): Promise<void> => {
    const made = await jobStore.create(account.aid, { id, record, again }, now());
    if (made.kind === 'full') {
      throw new VaultError('jobs_full');
    }
    recordEvent('proxy_accepted', { request_id: requestId, job: id, account: account.name });
    jobs.wake(account.aid, id, made.kind === 'ok' ? made.place : 1);
  };

  /** One attempt of a caller who waits. What it throws was thrown before a byte had left. */
  const attemptNow = async (
    ctx: AccountContext,
    job: ProxyJob,
    operation: MeterOperation,
    made: number,
    sent?: SentMark,
  ): Promise<OutboundResult> => {
    if (made > 1) {
      await sending.admit(job, made - 1);
    }
    metering.count(ctx, operation);
    const mark = made === 1 ? sent?.set(thirdParties.contentOf(job.request)) : undefined;
    await Promise.all([metering.settle(ctx), mark]);
    return sending.attempt(job, made, ctx.deadlineMs - now());
  };

  /** All attempts of a synchronous request; the last reply is the answer, unless something was sent behind it. */
  const sendAll = async (
    ctx: AccountContext,
    job: ProxyJob,
    operation: MeterOperation,
    course: Course,
    sent?: SentMark,
  ): Promise<ProxyReply> => {
    ctx.deadlineMs = now() + SYNCHRONOUS_MS;
    for (let made = 1; ; made++) {
      const result = await attemptNow(ctx, job, operation, made, sent);
      follow(course, result);
      const verdict = sending.judge(job, result, made);
      if (verdict.kind !== 'again' || now() + verdict.pauseMs >= ctx.deadlineMs) {
        return course.last ?? refuse(course, result);
      }
      await pause(verdict.pauseMs);
    }
  };

  const sendNow = async (
    ctx: AccountContext,
    job: ProxyJob,
    operation: MeterOperation,
    sent?: SentMark,
  ): Promise<ProxyReply> => {
    const before = sent?.before ?? false;
    const course: Course = { hasSent: before, isUnknown: before, last: undefined };
    try {
      return await sendAll(ctx, job, operation, course, sent);
    } catch (error) {
      if (!course.hasSent) {
        await sent?.clear();
        throw error;
      }
      throw error instanceof VaultError ? sentAs(job, error) : error;
    }
  };

  /** Sends a prepared request now, or has it sent; gives the reply to the caller. */
  const carryOut = async (
    ctx: AccountContext,
    { facts }: Order,
    id: string,
    { job: record, shown }: Prepared,
    sent?: SentMark,
  ): Promise<Uint8Array> => {
    const job = await openJob(ctx, id, record);
    if (!facts.synchronous) {
      await accept(ctx, job, sent !== undefined);
      return accepted(id, shown);
    }
    const reply = await calls.run(ctx.account.aid, () => sendNow(ctx, job, 'proxy_attempt', sent));
    try {
      const { outcome, bytes } = await insist(() => sending.conclude(job, reply), isTransient);
      const report = () =>
        crypto.reportProxy({
          place: { aid: ctx.account.aid, id },
          job: record,
          outcome,
          content: bytes,
          shown,
        });
      return await insist(report, isTransient);
    } catch (error) {
      // The third party has acted: `try again` would be wrong.
      const isKnown = error instanceof VaultError && !isTransient(error);
      const cause = error instanceof VaultError ? undefined : error;
      throw sentAs(job, isKnown ? error : new VaultError('outcome_unknown', { cause }));
    }
  };

  /** Replies may hold what the item holds: they are kept so that only the key's passphrase opens them. */
  const createCodec = ({ key, blob }: Unlocked, passphrase: Passphrase): ReplyCodec<Uint8Array> => {
    const { aid, kid } = key;
    return {
      pack: async (reply, digest) => {
        const made = await crypto.sealReply({ name: { aid, kid, digest }, blob, passphrase, reply });
        if (made.kind === 'warm_miss') {
          throw new VaultError('key_changed');
        }
        return made.record;
      },
      unpack: async (record, digest) => {
        const made = await crypto.openReply({ name: { aid, kid, digest }, blob, passphrase, record });
        if (made.kind === 'warm_miss') {
          throw new VaultError('key_changed');
        }
        return made.reply;
      },
    };
  };

  /** Does a call once for its Idempotency-Key, if it has one. What may have been sent is not sent again in silence. */
  const once = async (
    ctx: AccountContext,
    input: { readonly user: string; readonly passphrase: Passphrase },
    request: {
      readonly route: string;
      readonly parts: readonly (string | Uint8Array | boolean | undefined)[];
    },
    order: Order,
    act: (id: string, sent?: SentMark) => Promise<Uint8Array>,
  ): Promise<Repeatable<Uint8Array>> => {
    const { account, idempotencyKey } = ctx;
    if (idempotencyKey === undefined) {
      await vet(account, order);
      return { reply: await act(randomId()), replayed: false };
    }
    const unlocked = await keys.prove(account, input.user, input.passphrase);
    const { route } = request;
    const wanted = { key: idempotencyKey, route, parts: [unlocked.key.kid, ...request.parts] };
    return idempotency.run(
      ctx,
      wanted,
      async (seed, sent) => {
        if (sent.before && !order.facts.repeatable) {
          throw new VaultError('outcome_unknown');
        }
        await vet(account, order);
        return act(idFromSeed(seed), sent);
      },
      createCodec(unlocked, input.passphrase),
    );
  };

  const post = async (ctx: AccountContext, input: ProxyPostInput): Promise<Repeatable<Uint8Array>> => {
    const { account } = ctx;
    const { token, reference, attempts, debug, body } = input;
    const order = await readOrder(account, 'post', body);
    const shows = account.unmasked ? 'plain' : 'masked';
    const request = {
      route: 'POST /v1/proxy/post',
      parts: [token, reference, String(attempts), input.rules.join(), debug && shows, body],
    };
    return once(ctx, input, request, order, async (id, sent) => {
      const applied = await rules.find(account.aid, input.rules, 'query.rules');
      const own = { id, what: 'post', attempts, debug: debug ? shows : 'none' } as const;
      return carryOut(ctx, order, id, await fill(ctx, input, applied, order, own), sent);
    });
  };

  const get = async (ctx: AccountContext, input: ProxyGetInput): Promise<Repeatable<Uint8Array>> => {
    const { attempts, algorithm, smart_parse, body } = input;
    const order = await readOrder(ctx.account, 'get', body);
    const request = {
      route: 'POST /v1/proxy/get',
      parts: [String(attempts), input.rules.join(), algorithm, smart_parse, body],
    };
    return once(ctx, input, request, order, async (id, sent) =>
      carryOut(ctx, order, id, await prepareFetch(ctx, input, order, id), sent),
    );
  };

  const networkToken = async (
    ctx: AccountContext,
    input: NetworkTokenInput,
  ): Promise<Repeatable<Uint8Array>> => {
    const { token, reference, requester_id: requesterId, body } = input;
    const order = await readOrder(ctx.account, 'network_token', body);
    const request = { route: 'POST /v1/proxy/network_token', parts: [token, reference, requesterId, body] };
    return once(ctx, input, request, order, async (id, sent) => {
      await sending.vetRequester(requesterId);
      const own = {
        id,
        what: 'network_token',
        attempts: ATTEMPTS_DEFAULT,
        debug: 'none',
        requesterId,
      } as const;
      return carryOut(ctx, order, id, await fill(ctx, input, NO_RULES, order, own), sent);
    });
  };

  return { post, get, networkToken };
}
