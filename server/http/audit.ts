import type { SecurityEvent } from '../audit/audit.ts';
import type { ErrorCode } from '../core/errors.ts';
import { looksLikeCardNumber } from '../domain/card/number.ts';
import { type AccountContext, actorNameOf } from '../request/context.ts';
import type { HttpContext } from './context.ts';
import type { HttpParts } from './deps.ts';
import type { Call, Reply, RouteShape } from './route.ts';

const NAME = /^[A-Za-z0-9._@:-]{1,128}$/;
/** Codes that are not recorded: they say nothing about a caller, and under overload a record would fail too. */
const UNRECORDED: ReadonlySet<string> = new Set(['overloaded', 'rate_limited', 'store_unavailable']);

/**
 * The object of an audit entry, such as `item/USER/TOKEN`. It ends before the first name that is missing or malformed:
 * nothing else that a caller sent gets into a log, nor does a card number in a token's place.
 */
export function objectOf(noun: string, ...names: readonly unknown[]): string {
  const end = names.findIndex(
    (name) => typeof name !== 'string' || !NAME.test(name) || looksLikeCardNumber(name),
  );
  return [noun, ...(end < 0 ? names : names.slice(0, end))].join('/');
}

function noteOf(
  {
    account,
    change,
    ip,
    userAgent,
    requestId,
  }: Pick<HttpContext, 'account' | 'change' | 'ip' | 'userAgent' | 'requestId'>,
  action: SecurityEvent['action'],
  outcome: string,
  object: string | undefined,
): SecurityEvent {
  return {
    aid: account?.aid ?? '',
    action,
    outcome,
    actor: account === undefined ? 'anonymous' : actorNameOf(account),
    ip,
    userAgent,
    requestId,
    object,
    change,
  };
}

/** What became of one of several items: `success`, or the code of its error. */
export interface ItemOutcome {
  readonly token: string;
  readonly outcome: string;
}

/** Writes an entry for each of several items of a key. The reply must not leave before that. */
export async function recordItems(
  { audit }: Pick<HttpParts, 'audit'>,
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

/** Writes the entry of what a route has done, where it has an audit rule. The reply must not leave before that. */
export async function recordSuccess(
  { audit }: RouteShape,
  ctx: HttpContext,
  call: Call,
  reply: Reply,
  parts: Pick<HttpParts, 'audit'>,
): Promise<void> {
  if (audit !== undefined) {
    await parts.audit.record(noteOf(ctx, audit.action, 'success', reply.object ?? audit.object?.(call)));
  }
}

/**
 * Writes the entry of a rejected request. With an account: the action of the route; what a credential was not for is an
 * entry on every route. Where an account is needed and no credentials came: `sign_in`. Wrong credentials are recorded by the sign-in itself.
 */
export async function recordRejection(
  { audit, auth }: RouteShape,
  ctx: HttpContext,
  call: Call | undefined,
  code: ErrorCode,
  parts: Pick<HttpParts, 'audit'>,
): Promise<void> {
  if (UNRECORDED.has(code)) {
    return;
  }
  if (ctx.account !== undefined) {
    if (audit !== undefined) {
      await parts.audit.record(noteOf(ctx, audit.action, code, call && audit.object?.(call)));
    } else if (code === 'not_allowed' && ctx.credentialId !== undefined) {
      await parts.audit.record(noteOf(ctx, 'credential.use', code, objectOf('credential', ctx.credentialId)));
    }
  } else if (auth === 'basic' && !ctx.hasCredentials) {
    await parts.audit.record(noteOf(ctx, 'sign_in', code, 'account'));
  }
}
