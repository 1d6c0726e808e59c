import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import {
  type CheckedOrder,
  checkOrder,
  connectOrder,
  fillJob,
  type NetworkTokenInput,
  type PreparedJob,
  type ProxyGetInput,
  type ProxyParts,
  type ProxyPostInput,
  prepareFetch,
  vetOrder,
} from '../call/prepare.ts';
import { logNamesOf, type ProxyJob } from '../call/send.ts';
import { sendNow, sentAs } from '../call/send-now.ts';
import { bindParts } from '../core/bind.ts';
import { isTransient, withRetries } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import { headerIn } from '../core/headers.ts';
import type { SecretBytes } from '../core/secret.ts';
import { replyObject, replyText } from '../domain/proxy/reply-text.ts';
import { staysAsItIs } from '../domain/relay/glance.ts';
import { jobIdOf } from '../job/jobs.ts';
import type { NewJob } from '../job/store/jobs.ts';
import type { Unlocked } from '../key/opener.ts';
import { type Account, type AccountContext, confirmAccount } from '../request/context.ts';
import type { IdempotentRequest, Repeatable, ReplyCodec, SentMark } from '../request/idempotency.ts';
import { mayReveal, sightOf } from '../request/permission.ts';
import type { ItemAddress } from '../vault/reader.ts';

const NETWORK_TOKEN_ATTEMPTS = 8;
const ACCEPTED = 'The request was accepted; its outcome goes to the webhook.';

const encoder = new TextEncoder();

/** The JSON text of a reply. */
type Reply = Repeatable<Uint8Array>;

/** The proxy's operations. Each gives the JSON text of its reply. */
export type ProxyService = ReturnType<typeof createProxy>;

/** Requests to third parties: filled with stored data, or fetching what is to be stored. */
export function createProxy(parts: ProxyParts) {
  return bindParts(parts, { post, get, networkToken });
}

/** Sends a request that is filled from an item. The reply is that of the third party, or that the request was accepted. */
function post(parts: ProxyParts, ctx: AccountContext, input: ProxyPostInput): Promise<Reply> {
  return noting(parts, ctx, input, async () => {
    const { account } = ctx;
    const { token, reference, attempts, debug, allow_missing: allowMissing, body } = input;
    const readParts = parts.reading.startReads(account, input.user, [token]);
    const order = await connectOrder(parts, account, await checkOrder(parts, account, 'post', body));
    requireShowable(account, input, order);
    const sight = sightOf(account);
    const request = {
      route: 'POST /v1/proxy/post',
      parts: [
        token,
        reference,
        String(attempts),
        input.rules.join(),
        debug && 'debug',
        sight,
        allowMissing && 'allow_missing',
        body,
      ],
    };
    return once(parts, ctx, input, request, order, async (id) => {
      const applied = await rulesOf(parts, account, input, order);
      const shown = !debug ? 'none' : sight === 'all' ? 'plain' : 'masked';
      const own = { id, what: 'post', attempts, allowMissing, debug: shown } as const;
      return fillJob(parts, ctx, input, applied, order, own, readParts);
    });
  });
}

/**
 * Rejects rules and `debug` of a caller who does not see all: a rule, or a template that it fills, could write a value in a way
 * that no mask finds.
 */
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

/** The rules of a request: those of its connection, then its own. */
async function rulesOf(
  { rules }: ProxyParts,
  { aid }: Account,
  input: ProxyPostInput,
  order: CheckedOrder,
): Promise<RuleSet> {
  const own = await rules.find(aid, input.rules, 'query.rules');
  return order.rules === undefined
    ? own
    : [...(await rules.find(aid, order.rules, 'body.request.connection')), ...own];
}

/** Notes that the use of an item was refused, for the item's log. */
async function noting(
  { rejections }: ProxyParts,
  ctx: AccountContext,
  item: ItemAddress,
  use: () => Promise<Reply>,
): Promise<Reply> {
  try {
    return await use();
  } catch (error) {
    rejections.record(ctx, item, 'decrypt', error);
    throw error;
  }
}

/** Sends a request and stores its reply. Gives the stored token's data, or that the request was accepted. */
async function get(parts: ProxyParts, ctx: AccountContext, input: ProxyGetInput): Promise<Reply> {
  const { attempts, algorithm, smart_parse, body } = input;
  const order = await checkOrder(parts, ctx.account, 'get', body);
  const request = {
    route: 'POST /v1/proxy/get',
    parts: [String(attempts), input.rules.join(), algorithm, smart_parse, sightOf(ctx.account), body],
  };
  return once(parts, ctx, input, request, order, (id) => prepareFetch(parts, ctx, input, order, id));
}

/** Requests a network token of an item, to be stored. Gives that the request was accepted. */
function networkToken(parts: ProxyParts, ctx: AccountContext, input: NetworkTokenInput): Promise<Reply> {
  return noting(parts, ctx, input, async () => {
    const { token, reference, requester_id: requesterId, body } = input;
    const order = await checkOrder(parts, ctx.account, 'network_token', body);
    const request = {
      route: 'POST /v1/proxy/network_token',
      parts: [token, reference, requesterId, sightOf(ctx.account), body],
    };
    return once(parts, ctx, input, request, order, async (id) => {
      await parts.sending.vetRequester(requesterId);
      const own = {
        id,
        what: 'network_token',
        attempts: NETWORK_TOKEN_ATTEMPTS,
        debug: 'none',
        allowMissing: false,
        requesterId,
      } as const;
      return fillJob(parts, ctx, input, [], order, own);
    });
  });
}

/** Executes a call once for its Idempotency-Key, if it has one. What may have been sent is not sent again silently. */
async function once(
  parts: ProxyParts,
  ctx: AccountContext,
  input: { readonly user: string; readonly passphrase: SecretBytes },
  request: Omit<IdempotentRequest, 'key'>,
  order: CheckedOrder,
  prepare: (id: string) => Promise<PreparedJob>,
): Promise<Reply> {
  const { idempotency, keys, randomId } = parts;
  const { account, idempotencyKey } = ctx;
  await confirmAccount(ctx);
  const act = async (id: string, sent?: SentMark): Promise<Uint8Array> => {
    await vetOrder(parts, account, order);
    return carryOut(parts, ctx, order, id, await prepare(id), sent);
  };
  if (idempotencyKey === undefined) {
    return { reply: await act(randomId()), replayed: false };
  }
  const unlocked = await keys.prove(ctx, input.user, input.passphrase);
  const wanted = { ...request, key: idempotencyKey, parts: [unlocked.key.kid, ...request.parts] };
  return idempotency.run(
    ctx,
    wanted,
    async (seed, sent) => {
      if (sent.before && !order.facts.repeatable) {
        throw new VaultError('outcome_unknown');
      }
      return act(jobIdOf('proxy', seed), sent);
    },
    createCodec(parts, unlocked, input.passphrase),
  );
}

/** Replies may hold what the item holds: they are kept encrypted so that only the key's passphrase opens them. */
function createCodec(
  { crypto }: ProxyParts,
  { key: { aid, kid }, blob }: Unlocked,
  passphrase: SecretBytes,
): ReplyCodec<Uint8Array> {
  const under = (digest: string) => ({ name: { aid, kid, digest }, blob, passphrase });
  return {
    pack: async (reply, digest) => unlessMissed(await crypto.sealReply({ ...under(digest), reply })).record,
    unpack: async (record, digest) =>
      unlessMissed(await crypto.openReply({ ...under(digest), record })).reply,
  };
}

function unlessMissed<Made extends { readonly kind: string }>(
  made: Made | { readonly kind: 'warm_miss' },
): Exclude<Made, { readonly kind: 'warm_miss' }> {
  if (made.kind === 'warm_miss') {
    throw new VaultError('key_changed');
  }
  return made as Exclude<Made, { readonly kind: 'warm_miss' }>; // the other kinds are left
}

/** Sends a prepared request now, or accepts it as a job; gives the reply for the caller. */
async function carryOut(
  parts: ProxyParts,
  ctx: AccountContext,
  { facts }: CheckedOrder,
  id: string,
  prepared: PreparedJob,
  sent: SentMark | undefined,
): Promise<Uint8Array> {
  const { thirdParties, calls } = parts;
  const { account } = ctx;
  const { job: record, shown, opened } = prepared;
  const job = { id, record, account, ...opened };
  thirdParties.checkHeaders(job.request, 'body.request.headers');
  if (!facts.synchronous) {
    const { kid, what: kind } = job.facts;
    await acceptJob(parts, account.aid, { id, kid, phase: 'send', kind, record, again: sent !== undefined });
    parts.recordEvent('proxy_accepted', logNamesOf(job));
    return acceptedText(id, shown);
  }
  const { room, leave } = calls.enter(account.aid, thirdParties.lengthOf(job.request));
  try {
    return await callNow(parts, ctx, { ...job, room }, prepared, sent);
  } finally {
    leave();
  }
}

/** Sends a request now, and gives what its caller gets of the reply. */
async function callNow(
  parts: ProxyParts,
  ctx: AccountContext,
  job: ProxyJob,
  { shown, showing }: PreparedJob,
  sent: SentMark | undefined,
): Promise<Uint8Array> {
  const { crypto, sending } = parts;
  const place = { aid: job.account.aid, id: job.id };
  const reply = await sendNow(parts, ctx, job, sent);
  try {
    const { outcome, bytes: content } = await withRetries(() => sending.conclude(job, reply), isTransient);
    const seen = { status: reply.status, headers: reply.headers, body: content };
    const isAsItIs = () => crypto.passes(showing, (by) => staysAsItIs(seen, by));
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

/** Stores a job, and puts it into the queue. Rejects with `jobs_full`. */
export async function acceptJob(
  { jobStore, jobs, now }: Pick<ProxyParts, 'jobStore' | 'jobs' | 'now'>,
  aid: string,
  job: NewJob,
): Promise<void> {
  const made = await jobStore.create(aid, job, now());
  if (made.kind === 'full') {
    throw new VaultError('jobs_full');
  }
  jobs.wake(aid, job.id, made.kind === 'ok' ? made.place : 1);
}

function acceptedText(id: string, shown: Uint8Array): Uint8Array {
  const text = JSON.stringify({ message: ACCEPTED, id });
  if (shown.length === 0) {
    return encoder.encode(text);
  }
  const head = encoder.encode(`${text.slice(0, -1)},"populated_template":`);
  return Buffer.concat([head, shown, encoder.encode('}')]);
}
