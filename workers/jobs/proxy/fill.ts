import { VaultError } from '../../../server/core/errors.ts';
import { type Connection, takesPath } from '../../../server/domain/connection/connection.ts';
import { secretTexts } from '../../../server/domain/connection/secrets.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../../server/domain/json/json.ts';
import { maskForced } from '../../../server/domain/mask/mask.ts';
import { storedNumbers } from '../../../server/domain/mask/reply-numbers.ts';
import { type FilledRequest, filledRequestJson } from '../../../server/domain/proxy/fill.ts';
import { tokenRequest } from '../../../server/domain/proxy/network-token.ts';
import type { Showing } from '../../../server/domain/relay/sight.ts';
import { generationOf, publicHalfOf, type UnlockedKey } from '../../crypto/key/unlocked.ts';
import type { LogOutcome } from '../../crypto/log/outcome.ts';
import { EMPTY, utf8 } from '../../crypto/primitives/bytes.ts';
import { connectedHeaders, openConnection } from '../connection/handlers.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { In } from '../define.ts';
import { fillFailure } from '../failure.ts';
import { withKey } from '../key/open.ts';
import { applyRules } from '../rule/handlers.ts';
import { checkLive, checkReference, logEntry, metaOf, openText } from '../vault/records.ts';
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

/** Returns the opened item as a new object: as stored, with rules applied, or masked. */
type View = (how: 'masked' | 'ruled' | 'stored') => JsonObject;

function openView(context: ThreadContext, { params, rules, item: sealed }: Input, key: UnlockedKey): View {
  const meta = metaOf(context, params, params.token, sealed.meta);
  checkLive(meta, params.now);
  checkReference(meta, params.reference, 'check');
  const text = openText(context, params, params.token, key, { ...sealed, meta }, params.now);
  return (how) => {
    const stored = parseStoredObject(text);
    if (how === 'masked') {
      return maskForced(stored);
    }
    return how === 'stored' || rules.length === 0 ? stored : applyRules(context, params.aid, rules, stored);
  };
}

function tokenOrder(card: JsonObject): Outgoing {
  const asked = tokenRequest(card);
  if (asked === undefined) {
    throw new VaultError('number_missing');
  }
  return { request: { method: 'POST', url: '', headers: [], hasBody: true }, body: encodeJson(asked) };
}

/** The request for `debug`: the sent one, or one that is filled from a masked copy of the item. */
function shownOf(params: FillProxyParams, order: ParsedOrder, viewOf: View): Uint8Array {
  const { debug, what } = params;
  if (debug === 'none' || what === 'network_token') {
    return EMPTY;
  }
  const view = viewOf(debug === 'masked' ? 'masked' : 'ruled');
  return encodeJson(filledRequestJson(fillOrder(order, view, params)));
}

/** Applies the base URL of its connection to an order. */
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

/** Adds the headers of its connection to a request. Rejects with `not_allowed` a method or path that is not allowed. */
function connect(connection: Connection | undefined, filled: FilledRequest, now: number): FilledRequest {
  if (connection === undefined) {
    return filled;
  }
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

function fillJob(context: ThreadContext, input: Input, given: ParsedOrder, key: UnlockedKey, viewOf: View) {
  const { params } = input;
  const { what, token, reference, requesterId, sight, now } = params;
  const { connection: id = '' } = given.facts;
  const connection = input.connection && openConnection(context, { aid: params.aid, id }, input.connection);
  const order = connection === undefined ? given : placeOrder(given, connection);
  const view = viewOf('ruled');
  const isToken = what === 'network_token';
  const out = isToken ? tokenOrder(view) : outgoing(connect(connection, fillOrder(order, view, params), now));
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
  const showing: Showing = {
    sight,
    numbers: sight === 'all' ? [] : storedNumbers(viewOf('stored')),
    sent: [],
    paths: connection?.reply ?? [],
    secrets: connection === undefined ? [] : secretTexts(connection),
  };
  if (facts.synchronous) {
    return { kind: 'ready', facts, request: attemptOf(out), shown, showing } as const;
  }
  const job = sealJob(context, params, {
    facts,
    ...out,
    ...reportOf(order),
    publicHalf: isToken ? publicHalfOf(generationOf(key)) : EMPTY,
    tokenKey: EMPTY,
    showing,
  });
  return { kind: 'filled', job, shown } as const;
}

export const FILL_HANDLERS = {
  fillProxy(context, input) {
    const { params, opening, item } = input;
    return withKey(context, params, opening, [item], (key) => {
      const viewOf = openView(context, input, key);
      const order = readOrder(input.order);
      const entryOf = (outcome: LogOutcome) =>
        logEntry(context, params, params.token, 'decrypt', item.logTail, outcome);
      try {
        return { ...fillJob(context, input, order, key, viewOf), logEntry: entryOf('ok') };
      } catch (error) {
        // The item was read, which must be logged.
        const failure = fillFailure(error, params.forcedMask);
        return { kind: 'rejected', logEntry: entryOf(failure.code), error: failure };
      }
    });
  },
} satisfies Partial<ThreadHandlers<typeof PROXY_JOBS>>;
