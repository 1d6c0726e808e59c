import { errorOf, isOutcomeUnknown } from '../call/outcome.ts';
import { CallRoom } from '../call/room.ts';
import { type CallSender, logNamesOf, type ProxyJob, type TargetReply } from '../call/send.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { isTransient, pause, withRetries } from '../core/concurrency.ts';
import { isFault } from '../core/error-cause.ts';
import { VaultError } from '../core/errors.ts';
import { headerIn } from '../core/headers.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { replyObject, replyText } from '../domain/proxy/reply-text.ts';
import { staysAsItIs } from '../domain/relay/sight.ts';
import { jobIdOf, type ProxyJobs } from '../job/jobs.ts';
import type { KeyOpener, Unlocked } from '../key/opener.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { OutboundResult } from '../outbound/call.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import type { Account, AccountContext } from '../request/context.ts';
import type {
  Idempotency,
  IdempotentRequest,
  Repeatable,
  ReplyCodec,
  SentMark,
} from '../request/idempotency.ts';
import type { Metering } from '../request/metering.ts';
import { mayReveal, sightOf } from '../request/permission.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { ItemAddress, ItemReader } from '../vault/reader.ts';
import type { Rejections } from '../vault/rejections.ts';
import type {
  CallPreparer,
  CheckedOrder,
  NetworkTokenInput,
  PreparedJob,
  ProxyGetInput,
  ProxyPostInput,
} from './prepare.ts';

const NETWORK_TOKEN_ATTEMPTS = 8;
/** The time limit of all attempts of a synchronous request together. */
const SYNCHRONOUS_MS = 20_000;
const ACCEPTED = 'The request was accepted; its outcome goes to the webhook.';

const encoder = new TextEncoder();

type Reply = Repeatable<Uint8Array>;

/** The result of all attempts of a request, with those of earlier calls under its Idempotency-Key. */
interface Course {
  hasSent: boolean;
  /** A request was sent, and neither it nor a later one had a reply. */
  isUnknown: boolean;
  last: TargetReply | undefined;
}

/** Requests to third parties: filled with stored data, or fetching what is to be stored. Each reply is JSON text. */
export class ProxyService {
  constructor(
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly keys: KeyOpener,
    private readonly reader: ItemReader,
    private readonly rejections: Rejections,
    private readonly preparer: CallPreparer,
    private readonly sender: CallSender,
    private readonly limiter: Limiter,
    private readonly jobs: ProxyJobs,
    private readonly metering: Metering,
    private readonly idempotency: Idempotency,
    private readonly recordEvent: RecordEvent,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Sends a request that is filled from an item. The reply is that of the third party, or that the request was accepted. */
  post(ctx: AccountContext, input: ProxyPostInput): Promise<Reply> {
    return this.recordingRejection(ctx, input, async () => {
      const { account } = ctx;
      const { token, reference, attempts, debug, allow_missing: allowMissing, body } = input;
      const readParts = this.reader.startReads(account, input.user, [token]);
      const checked = await this.preparer.checkOrder(account, 'post', body);
      const order = await this.preparer.connectOrder(account, checked);
      requireShowable(account, input, order);
      const sight = sightOf(account);
      const parts = [
        ...[token, reference, String(attempts), input.rules.join()],
        ...[debug && 'debug', sight, allowMissing && 'allow_missing', body],
      ];
      return this.once(ctx, input, 'POST /v1/proxy/post', parts, order, async (id) => {
        const applied = await this.preparer.rulesOf(account, input.rules, order);
        const shown = !debug ? 'none' : sight === 'all' ? 'plain' : 'masked';
        const own = { id, what: 'post', attempts, allowMissing, debug: shown } as const;
        return this.preparer.fill(ctx, input, applied, order, own, readParts);
      });
    });
  }

  /** Sends a request and stores its reply. The reply is the stored token's data, or that the request was accepted. */
  async get(ctx: AccountContext, input: ProxyGetInput): Promise<Reply> {
    const { attempts, algorithm, smart_parse, body } = input;
    const order = await this.preparer.checkOrder(ctx.account, 'get', body);
    const parts = [String(attempts), input.rules.join(), algorithm, smart_parse, sightOf(ctx.account), body];
    return this.once(ctx, input, 'POST /v1/proxy/get', parts, order, (id) =>
      this.preparer.prepareFetch(ctx, input, order, id),
    );
  }

  /** Requests a network token of an item, to be stored. The reply is that the request was accepted. */
  networkToken(ctx: AccountContext, input: NetworkTokenInput): Promise<Reply> {
    return this.recordingRejection(ctx, input, async () => {
      const { token, reference, requester_id: requesterId, body } = input;
      const order = await this.preparer.checkOrder(ctx.account, 'network_token', body);
      const parts = [token, reference, requesterId, sightOf(ctx.account), body];
      return this.once(ctx, input, 'POST /v1/proxy/network_token', parts, order, async (id) => {
        await this.sender.vetRequester(requesterId);
        const own = { id, what: 'network_token', attempts: NETWORK_TOKEN_ATTEMPTS } as const;
        const none = { debug: 'none', allowMissing: false } as const;
        return this.preparer.fill(ctx, input, [], order, { ...own, ...none, requesterId });
      });
    });
  }

  private async recordingRejection(
    ctx: AccountContext,
    item: ItemAddress,
    use: () => Promise<Reply>,
  ): Promise<Reply> {
    try {
      return await use();
    } catch (error) {
      this.rejections.record(ctx, item, 'decrypt', error);
      throw error;
    }
  }

  /** Executes a call once for its Idempotency-Key, if any. A request that may have been sent is not sent again silently. */
  private async once(
    ctx: AccountContext,
    input: { readonly user: string; readonly passphrase: SecretBytes },
    route: string,
    parts: IdempotentRequest['parts'],
    order: CheckedOrder,
    prepare: (id: string) => Promise<PreparedJob>,
  ): Promise<Reply> {
    const { account, idempotencyKey } = ctx;
    const act = async (id: string, sent?: SentMark): Promise<Uint8Array> => {
      await this.preparer.vetOrder(account, order);
      return this.carryOut(ctx, order, id, await prepare(id), sent);
    };
    if (idempotencyKey === undefined) {
      return { reply: await act(this.randomId()), replayed: false };
    }
    const unlocked = await this.keys.prove(ctx, input.user, input.passphrase);
    const wanted = { route, key: idempotencyKey, parts: [unlocked.key.kid, ...parts] };
    return this.idempotency.run(
      ctx,
      wanted,
      async (seed, sent) => {
        if (sent.before && !order.facts.repeatable) {
          throw new VaultError('outcome_unknown');
        }
        return act(jobIdOf('proxy', seed), sent);
      },
      this.codecOf(unlocked, input.passphrase),
    );
  }

  /** Returns the codec of stored replies. They may contain data of the item, so only the key's passphrase opens them. */
  private codecOf({ key: { aid, kid }, blob }: Unlocked, passphrase: SecretBytes): ReplyCodec<Uint8Array> {
    const { crypto } = this;
    const under = (digest: string) => ({ name: { aid, kid, digest }, blob, passphrase });
    return {
      pack: async (reply, digest) => {
        const sealed = await crypto.sealReply({ ...under(digest), reply });
        return sealed.kind === 'sealed' ? sealed.record : rejectChangedKey();
      },
      unpack: async (record, digest) => {
        const opened = await crypto.openReply({ ...under(digest), record });
        return opened.kind === 'opened' ? opened.reply : rejectChangedKey();
      },
    };
  }

  /** Sends a prepared request now, or accepts it as a job. Returns the reply for the caller. */
  private async carryOut(
    ctx: AccountContext,
    { facts }: CheckedOrder,
    id: string,
    prepared: PreparedJob,
    sent: SentMark | undefined,
  ): Promise<Uint8Array> {
    const { account } = ctx;
    const { job: record, shown, opened } = prepared;
    const job = { id, record, account, ...opened };
    this.thirdParties.checkHeaders(job.request, 'body.request.headers');
    if (!facts.synchronous) {
      const { kid, what: kind } = job.facts;
      const again = sent !== undefined;
      await this.jobs.accept(account.aid, { id, kid, phase: 'send', kind, record, again });
      this.recordEvent('proxy_accepted', logNamesOf(job));
      return acceptedText(id, shown);
    }
    const bytes = this.thirdParties.lengthOf(job.request);
    return new CallRoom(this.limiter, account.aid, bytes).hold((room) =>
      this.callNow(ctx, { ...job, room }, prepared, sent),
    );
  }

  private async callNow(
    ctx: AccountContext,
    job: ProxyJob,
    { shown, showing }: PreparedJob,
    sent: SentMark | undefined,
  ): Promise<Uint8Array> {
    const { crypto } = this;
    const place = { aid: job.account.aid, id: job.id };
    const reply = await this.sendNow(ctx, job, sent);
    try {
      const concluded = await withRetries(() => this.sender.conclude(job, reply), isTransient);
      const { outcome, bytes: content } = concluded;
      const seen = { status: reply.status, headers: reply.headers, body: content };
      const isAsItIs = () => crypto.passTo(showing, (by) => staysAsItIs(seen, by));
      if (outcome.kind === 'reply' && shown.length === 0 && isAsItIs()) {
        const { statusCode, headers } = outcome;
        const text = replyText(content, headerIn(headers, 'content-type'));
        return replyObject(statusCode, headers, text, { withheld: false });
      }
      const report = { place, job: job.record, outcome, content, shown, showing };
      return await withRetries(() => crypto.reportProxy(report), isTransient);
    } catch (error) {
      // The third party has acted: an error that suggests a retry would be wrong.
      const isKnown = error instanceof VaultError && !isTransient(error);
      const cause = error instanceof VaultError ? undefined : error;
      throw sentAs(job, isKnown ? error : new VaultError('outcome_unknown', { cause }));
    }
  }

  /**
   * Makes all attempts of a synchronous request and returns the last reply, unless a later request may have arrived. Rejects
   * with the code of the last attempt, or `outcome_unknown`; an error of a request that was sent names its job.
   */
  private async sendNow(
    ctx: AccountContext,
    job: ProxyJob,
    sent: SentMark | undefined,
  ): Promise<TargetReply> {
    const { sender, now } = this;
    const before = sent?.before ?? false;
    const course: Course = { hasSent: before, isUnknown: before, last: undefined };
    const endsAt = now() + SYNCHRONOUS_MS;
    try {
      for (let made = 1; ; made++) {
        await this.countAttempt(ctx, job, made, sent);
        const result = await sender.attempt(job, made, endsAt - now());
        follow(course, result);
        const verdict = sender.judge(job, result, made);
        if (verdict.kind !== 'again' || now() + verdict.pauseMs >= endsAt) {
          if (course.last) {
            return course.last;
          }
          throw errorOf(result.ok ? 'internal' : result.code, course.isUnknown);
        }
        await pause(verdict.pauseMs);
      }
    } catch (error) {
      if (!course.hasSent) {
        await sent?.clear();
        throw error;
      }
      throw error instanceof VaultError ? sentAs(job, error) : error;
    }
  }

  /** Counts an attempt of a synchronous request before it is sent; the first one is marked under its Idempotency-Key. */
  private async countAttempt(
    ctx: AccountContext,
    job: ProxyJob,
    made: number,
    sent: SentMark | undefined,
  ): Promise<void> {
    await (made === 1
      ? sent?.set(this.thirdParties.contentOf(job.request))
      : this.sender.admit(job, made - 1));
    await this.metering.countNow(ctx, 'proxy_attempt');
  }
}

/** Rejects rules and `debug` of a caller with limited sight: a rule or a template could write a value that no mask finds. */
function requireShowable(account: Account, { rules, debug }: ProxyPostInput, order: CheckedOrder): void {
  if (rules.length > 0 && !mayReveal(account)) {
    throw hidden('query.rules', 'need a caller who sees data unmasked: rules could show what is masked');
  }
  const sight = sightOf(account);
  const hasRules = rules.length > 0 || (order.rules ?? []).length > 0;
  if (debug && (sight === 'named' || (sight === 'masked' && hasRules))) {
    throw hidden('query.debug', 'needs a caller who sees data, unmasked where rules are applied');
  }
}

function hidden(field: string, expected: string): VaultError {
  return new VaultError('not_allowed', { field, expected });
}

function rejectChangedKey(): never {
  throw new VaultError('key_changed');
}

function follow(course: Course, result: OutboundResult): void {
  if (result.ok) {
    Object.assign(course, { hasSent: true, isUnknown: false, last: result });
  } else if (isOutcomeUnknown(result)) {
    Object.assign(course, { hasSent: true, isUnknown: true, last: undefined });
  } else {
    course.hasSent ||= result.sent;
  }
}

/** The error of a request that was sent, with the id that the third party has received. */
function sentAs({ id }: ProxyJob, error: VaultError): VaultError {
  const { code, field, retryAfterSeconds } = error;
  const cause = isFault(error) ? error : undefined;
  return new VaultError(code, { field, retryAfterSeconds, sentAs: id, cause });
}

function acceptedText(id: string, shown: Uint8Array): Uint8Array {
  const text = JSON.stringify({ message: ACCEPTED, id });
  if (shown.length === 0) {
    return encoder.encode(text);
  }
  const head = encoder.encode(`${text.slice(0, -1)},"populated_template":`);
  return Buffer.concat([head, shown, encoder.encode('}')]);
}
