import type { Audit, SecurityEvent } from '../audit/audit.ts';
import type { ErrorCode } from '../core/errors.ts';
import { looksLikeCardNumber } from '../domain/card/number.ts';
import { type AccountContext, actorNameOf, actorOfId, type RequestContext } from '../request/context.ts';
import type { HttpContext } from './context.ts';
import type { HttpDeps } from './deps.ts';
import type { Call, Reply, RouteShape } from './route.ts';

const NAME = /^[A-Za-z0-9._@:-]{1,128}$/;
/** Codes that are not recorded: they do not depend on the caller, and under overload a record would fail too. */
const UNRECORDED: ReadonlySet<string> = new Set(['overloaded', 'rate_limited', 'store_unavailable']);

/** The object of an audit entry, such as `item/USER/TOKEN`, up to the first name that is malformed or a card number. */
export function objectOf(noun: string, ...names: readonly unknown[]): string {
  const end = names.findIndex(
    (name) => typeof name !== 'string' || !NAME.test(name) || looksLikeCardNumber(name),
  );
  return [noun, ...(end < 0 ? names : names.slice(0, end))].join('/');
}

function noteOf(
  { account, change, ip, userAgent, requestId }: RequestContext,
  action: SecurityEvent['action'],
  outcome: string,
  object: string | undefined,
): SecurityEvent {
  return {
    aid: account?.aid ?? '',
    action,
    outcome,
    actor: account === undefined ? 'anonymous' : actorNameOf(account),
    actorName: account?.credential?.name,
    ip,
    userAgent,
    requestId,
    object,
    change,
  };
}

/** The result for one of several items: `success`, or the code of its error. */
interface ItemOutcome {
  readonly token: string;
  readonly outcome: string;
}

/** Records an entry for each of several items of a key. The reply must not be sent before that. */
export async function recordItems(
  audit: Audit,
  ctx: AccountContext,
  action: SecurityEvent['action'],
  user: string,
  items: readonly ItemOutcome[],
): Promise<void> {
  await Promise.all(
    items.map(({ token, outcome }) =>
      audit.record(noteOf(ctx, action, outcome, objectOf('item', user, token))),
    ),
  );
}

/** Records the success of a route with an audit rule. The reply must not be sent before that. */
export async function recordSuccess(
  { audit }: RouteShape,
  ctx: HttpContext,
  call: Call,
  reply: Reply,
  deps: HttpDeps,
): Promise<void> {
  if (audit !== undefined) {
    await deps.audit.record(noteOf(ctx, audit.action, 'success', reply.object ?? audit.object?.(call)));
  }
}

/**
 * Records a rejected request. With an account: the action of the route, and on every route a credential without the right.
 * Without the credentials that the route needs: `sign_in`. Wrong credentials are recorded by the sign-in itself.
 */
export async function recordRejection(
  { audit, auth }: RouteShape,
  ctx: HttpContext,
  call: Call | undefined,
  code: ErrorCode,
  deps: HttpDeps,
): Promise<void> {
  if (UNRECORDED.has(code)) {
    return;
  }
  if (ctx.account !== undefined) {
    if (audit !== undefined) {
      await deps.audit.record(noteOf(ctx, audit.action, code, call && audit.object?.(call)));
    } else if (code === 'not_allowed' && ctx.credentialId !== undefined) {
      await deps.audit.record(noteOf(ctx, 'credential.use', code, actorOfId(ctx.credentialId)));
    }
  } else if (auth === 'basic' && !ctx.hasCredentials) {
    await deps.audit.record(noteOf(ctx, 'sign_in', code, 'account'));
  }
}
