/** Handler of the job `fillProxy` in `jobs.ts`, which says what it promises. Card data stays in the thread. */
import { VaultError } from '../../../server/core/errors.ts';
import { type Connection, takesPath } from '../../../server/domain/connection/connection.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../../server/domain/json/json.ts';
import { type Echoes, namesBefore } from '../../../server/domain/mask/echo.ts';
import { hideValues, SHORT, secretsOf } from '../../../server/domain/mask/echo-secrets.ts';
import { maskForced } from '../../../server/domain/mask/mask.ts';
import { type FilledRequest, filledRequestJson } from '../../../server/domain/proxy/fill.ts';
import { tokenRequest } from '../../../server/domain/proxy/network-token.ts';
import { generationOf, publicHalfOf, type UnlockedKey } from '../../crypto/key/unlocked.ts';
import type { LogOutcome } from '../../crypto/log/outcome.ts';
import { EMPTY, utf8 } from '../../crypto/primitives/bytes.ts';
import { openConnection } from '../connection/connection.ts';
import { connectedHeaders } from '../connection/outgoing.ts';
import { type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { In } from '../define.ts';
import { toFailure } from '../failure.ts';
import { checkLive, checkReference, logEntry, metaOf, openText } from '../item/records.ts';
import { openKey, WARM_MISS } from '../key/open.ts';
import { applyRules } from '../rule/rule.ts';
import type { FillProxyParams, PROXY_JOBS } from './jobs.ts';
import {
  attemptOf,
  commonFacts,
  fillOrder,
  type Outgoing,
  outgoing,
  type ParsedOrder,
  readOrder,
  reportOf,
} from './order.ts';
import { sealJob } from './record.ts';

type Input = In<(typeof PROXY_JOBS)['fillProxy']>;

/** The opened item, checked and with rules applied unless it is `bare`: a new object at each call, masked before its rules or not. */
type View = (masked: boolean, bare?: boolean) => JsonObject;

function openView(context: ThreadContext, { params, rules, item: sealed }: Input, key: UnlockedKey): View {
  const meta = metaOf(context, params, params.token, sealed.meta);
  checkLive(meta, params.now);
  checkReference(meta, params.reference, 'check');
  const text = openText(context, params, params.token, key, { ...sealed, meta }, params.now);
  return (masked, bare = false) => {
    const stored = parseStoredObject(text);
    const seen = masked ? maskForced(stored) : stored;
    return bare || rules.length === 0 ? seen : applyRules(context, params.aid, rules, seen);
  };
}

function tokenOrder(card: JsonObject): Outgoing {
  const asked = tokenRequest(card);
  if (asked === undefined) {
    throw new VaultError('number_missing');
  }
  return { request: { method: 'POST', url: '', headers: [], hasBody: true }, body: encodeJson(asked) };
}

/** What `debug` shows: the request that is sent, or the same one filled from a masked or hidden copy of the item. */
function shownOf(params: FillProxyParams, order: ParsedOrder, viewOf: View): Uint8Array {
  const { debug, what } = params;
  if (debug === 'none' || what === 'network_token') {
    return EMPTY;
  }
  const view = viewOf(debug === 'masked');
  return encodeJson(
    filledRequestJson(fillOrder(order, debug === 'hidden' ? hideValues(view) : view, params)),
  );
}

/** The item made by rules of its masked copy; undefined where they reject that. */
function ruledMasked(viewOf: View): JsonObject | undefined {
  try {
    return viewOf(true);
  } catch {
    return undefined;
  }
}

/**
 * The names behind which a request sends secrets that are too short to be found in a reply. Rejects one that stands behind no
 * name: what a reply shows of it could not be told from anything else.
 */
export function namesOf({ url, headers, body = '' }: FilledRequest): readonly string[] {
  const names = new Set<string>();
  for (const text of [url, ...headers.map(([name, value]) => `${name}: ${value}`), body]) {
    for (let at = text.indexOf(SHORT); at >= 0; at = text.indexOf(SHORT, at + SHORT.length)) {
      const before = namesBefore(text.slice(0, at));
      if (before.length === 0 || before.some((name) => name.endsWith(SHORT.toLowerCase()))) {
        const expected = 'of this credential does not include a verification code that no name stands before';
        throw new VaultError('not_allowed', { field: 'scope', expected });
      }
      for (const name of before) {
        names.add(name);
      }
    }
  }
  return [...names];
}

/** What a reply must not show, as JSON; empty where it may show everything. */
function echoesOf({ params }: Input, order: ParsedOrder, viewOf: View): Uint8Array {
  if (!params.hidesEchoes) {
    return EMPTY;
  }
  const { secrets, marked } = secretsOf({
    stored: viewOf(false, true),
    storedMasked: viewOf(true, true),
    ruled: viewOf(false),
    ruledMasked: ruledMasked(viewOf),
  });
  const names = order.request === undefined ? [] : namesOf(fillOrder(order, marked, params));
  return toJsonBytes({ ...secrets, names } satisfies Echoes);
}

/** An order through a connection, at the base URL of that. */
function placeOrder(order: ParsedOrder, { baseUrl }: Connection): ParsedOrder {
  const { request } = order;
  if (request === undefined) {
    throw new VaultError('internal');
  }
  const [origin, base] = [new URL(baseUrl).origin, new URL(baseUrl).pathname.replace(/\/$/, '')];
  const { parts, firstCharacter } = request.target;
  const text = { kind: 'text', text: base, bytes: Buffer.byteLength(base) } as const;
  return { ...order, request: { ...request, origin, target: { firstCharacter, parts: [text, ...parts] } } };
}

/** A filled request with what its connection adds. Rejects with `not_allowed` what the connection is not for. */
function connect(connection: Connection, filled: FilledRequest, now: number): FilledRequest {
  const { method, url, body } = filled;
  const [path = ''] = url.slice(connection.baseUrl.length).split(/[?#]/, 1);
  if (connection.methods?.includes(method) === false) {
    throw new VaultError('not_allowed', { field: 'method', expected: 'is none that this connection is for' });
  }
  if (!takesPath(connection, path)) {
    throw new VaultError('not_allowed', { field: 'path', expected: 'is none that this connection is for' });
  }
  const sent = { ...filled, body: body === undefined ? EMPTY : utf8(body) };
  return { ...filled, headers: connectedHeaders(connection, sent, now) };
}

/** What is sent, and what is known of it. */
function fillRequestOf(
  { params }: Input,
  order: ParsedOrder,
  viewOf: View,
  connection: Connection | undefined,
) {
  if (params.what === 'network_token') {
    return tokenOrder(viewOf(false));
  }
  const filled = fillOrder(order, viewOf(false), params);
  return outgoing(connection === undefined ? filled : connect(connection, filled, params.now));
}

function fillJob(context: ThreadContext, input: Input, given: ParsedOrder, key: UnlockedKey, viewOf: View) {
  const { params } = input;
  const { what, token, reference, requesterId } = params;
  const { connection: id = '' } = given.facts;
  const connection = input.connection && openConnection(context, { aid: params.aid, id }, input.connection);
  const order = connection === undefined ? given : placeOrder(given, connection);
  const out = fillRequestOf(input, order, viewOf, connection);
  const own = connection && { clientCertId: connection.clientCertId, timeoutMs: connection.timeoutMs };
  const facts = {
    what,
    ...commonFacts(params, order, key),
    ...own,
    token,
    reference,
    requesterId,
    rules: [],
  };
  const shown = shownOf(params, order, viewOf);
  const echoes = echoesOf(input, order, viewOf);
  if (facts.synchronous) {
    return { kind: 'ready', facts, request: attemptOf(out), shown, echoes } as const;
  }
  const job = sealJob(context, params, {
    facts,
    ...out,
    ...reportOf(order),
    publicHalf: what === 'network_token' ? publicHalfOf(generationOf(key)) : EMPTY,
    tokenKey: EMPTY,
    echoes,
  });
  return { kind: 'filled', job, shown } as const;
}

/** The handler of `fillProxy`. */
export const FILL_HANDLERS = {
  fillProxy(context, input) {
    const { params, opening, item } = input;
    const key = openKey(context, params, opening);
    if (!key) {
      return WARM_MISS;
    }
    const viewOf = openView(context, input, key);
    const order = readOrder(input.order);
    const entryOf = (outcome: LogOutcome) =>
      logEntry(context, params, params.token, 'decrypt', item.logTail, outcome);
    try {
      return { ...fillJob(context, input, order, key, viewOf), logEntry: entryOf('ok') };
    } catch (error) {
      // What the item holds has decided this: that it was read is logged all the same.
      const failure = toFailure(error);
      // A name that is missing is the caller's own, and so is the place of a code.
      const isShown = !params.forcedMask || ['template_missing', 'not_allowed'].includes(failure.code);
      const hidden = { field: undefined, expected: undefined };
      return {
        kind: 'rejected',
        logEntry: entryOf(failure.code),
        error: isShown ? failure : { ...failure, ...hidden },
      };
    }
  },
} satisfies Partial<ThreadHandlers<typeof PROXY_JOBS>>;
