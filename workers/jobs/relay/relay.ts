/** Handlers of the jobs in `jobs.ts`, which says what each promises. */
import { VaultError } from '../../../server/core/errors.ts';
import { type HeaderEntries, headerIn, isEncoded } from '../../../server/core/headers.ts';
import type { Connection } from '../../../server/domain/connection/connection.ts';
import { type JsonObject, type JsonValue, parseStoredObject } from '../../../server/domain/json/json.ts';
import { parseSteps, readPath } from '../../../server/domain/json/path.ts';
import type { Echoes } from '../../../server/domain/mask/echo.ts';
import { HIDDEN, secretsOf } from '../../../server/domain/mask/echo-secrets.ts';
import { maskForced } from '../../../server/domain/mask/mask.ts';
import { isWide } from '../../../server/domain/proxy/reply-text.ts';
import { credentialsOf } from '../../../server/domain/relay/credentials.ts';
import { type FilledRelay, fillRelay } from '../../../server/domain/relay/fill.ts';
import { readableCodings, replaceHeaders } from '../../../server/domain/relay/headers.ts';
import {
  maskRelayHeader,
  maskRelayText,
  type RelayMasks,
  type SentNumber,
  sentNumber,
} from '../../../server/domain/relay/mask.ts';
import { findPlaceholders, type Placeholder } from '../../../server/domain/relay/placeholder.ts';
import { bodyFormat } from '../../../server/domain/text/media-type.ts';
import type { UnlockedKey } from '../../crypto/key/unlocked.ts';
import type { LogOutcome } from '../../crypto/log/outcome.ts';
import { EMPTY, utf8 } from '../../crypto/primitives/bytes.ts';
import { openConnection } from '../connection/connection.ts';
import { connectedHeaders } from '../connection/outgoing.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers, toJsonBytes } from '../context.ts';
import type { In } from '../define.ts';
import { toFailure } from '../failure.ts';
import { isOver, logEntry, metaOf, openText } from '../item/records.ts';
import { openKey, WARM_MISS } from '../key/open.ts';
import { namesOf } from '../proxy/fill.ts';
import { PARTIAL_CONTENT } from '../proxy/report.ts';
import type { FillRelayParams, RELAY_JOBS } from './jobs.ts';

type Input = In<(typeof RELAY_JOBS)['fillRelay']>;

/** One item of a request; undefined where it is over. */
interface OpenedItem {
  readonly reference: string | undefined;
  /** A new object at each call. */
  readonly read: () => JsonObject;
}

/** The items that exist, by token. All are opened before anything is done with one. */
function openItems(
  context: ThreadContext,
  { params, items }: Input,
  key: UnlockedKey,
): Map<string, OpenedItem> {
  const opened = new Map<string, OpenedItem>();
  for (const [at, { token }] of params.items.entries()) {
    const sealed = items[at];
    if (sealed === undefined) {
      continue;
    }
    const meta = metaOf(context, params, token, sealed.meta);
    if (!isOver(meta, params.now)) {
      const text = openText(context, params, token, key, { ...sealed, meta }, params.now);
      opened.set(token, { reference: meta.reference, read: () => parseStoredObject(text) });
    }
  }
  return opened;
}

/** The value of a placeholder. An item or a field that is not there is the caller's own mistake, told at its place. */
function createValues(
  items: ReadonlyMap<string, OpenedItem>,
  viewOf: (token: string, item: OpenedItem) => JsonObject,
) {
  const views = new Map<string, JsonObject>();
  return ({ token, field: name, reference }: Placeholder, field: string): JsonValue => {
    const item = items.get(token);
    if (item === undefined || item.reference !== reference) {
      const expected = 'has a placeholder whose token does not exist, or has another reference';
      throw new VaultError('placeholder_unknown', { field, expected });
    }
    const view = views.get(token) ?? viewOf(token, item);
    views.set(token, view);
    const value = readPath(view, parseSteps(name));
    if (value === undefined) {
      throw new VaultError('placeholder_unknown', {
        field,
        expected: 'has a placeholder of a field that its item does not have',
      });
    }
    return value;
  };
}

/** The path, query, headers and body that go out. */
function outgoing(
  connection: Connection,
  { params }: Input,
  filled: Omit<FilledRelay, 'body'> & { readonly body: Uint8Array },
  codings: string | undefined,
) {
  const { method, path } = params;
  const url = `${connection.baseUrl}${path}${filled.query}`;
  const headers =
    codings === undefined ? filled.headers : replaceHeaders(filled.headers, [['Accept-Encoding', codings]]);
  const { body } = filled;
  return {
    head: { method, url, headers: connectedHeaders(connection, { method, url, headers, body }, params.now) },
    body: body.length === 0 ? undefined : body,
  };
}

/** The codings to ask a third party for; undefined where its reply is not searched, and so is the caller's to decide. */
function codingsFor({ headers }: FillRelayParams, credentials: readonly string[], hasMasks: boolean) {
  if (hasMasks) {
    // Of the header as it came: a text that is remembered must not be a filled one.
    return readableCodings(headerIn(headers, 'accept-encoding') ?? '');
  }
  // What is passed on as it comes is not decoded.
  return credentials.length > 0 ? 'identity' : undefined;
}

/** What a reply must not show to a caller who may not see the items. */
function echoesOf(input: Input, text: string, items: ReadonlyMap<string, OpenedItem>): Echoes {
  const [numbers, digits, texts]: [string[], string[], string[]] = [[], [], []];
  const valueIn = createValues(items, (_token, { read }) => {
    const { secrets, marked } = secretsOf({
      stored: read(),
      storedMasked: maskForced(read()),
      ruled: read(),
      ruledMasked: maskForced(read()),
    });
    numbers.push(...secrets.numbers);
    digits.push(...secrets.digits);
    texts.push(...secrets.texts);
    return marked;
  });
  const { params } = input;
  const { query, headers, body } = fillRelay(params, text, valueIn);
  return {
    numbers,
    digits,
    texts,
    names: namesOf({ method: 'POST', url: `${params.path}${query}`, headers, body }),
  };
}

function fill(context: ThreadContext, input: Input, items: ReadonlyMap<string, OpenedItem>) {
  const { params, connection: record } = input;
  const { aid, connection: id, hidesEchoes } = params;
  const connection = openConnection(context, { aid, id }, record);
  const { text, encode } = bodyOf(input.body);
  const sent = new Map<string, SentNumber>();
  const valuesIn = createValues(items, (_token, { read }) => read());
  const filled = fillRelay(params, text, (placeholder, field) => {
    const value = valuesIn(placeholder, field);
    const number = sentNumber(placeholder, value);
    if (number !== undefined) {
      sent.set(number.digits, number);
    }
    return value;
  });
  const credentials = credentialsOf(connection.headers);
  const echoes = hidesEchoes && items.size > 0 ? echoesOf(input, text, items) : undefined;
  const masks: RelayMasks = {
    sent: [...sent.values()].sort((a, b) => b.digits.length - a.digits.length),
    credentials,
    echoes,
  };
  const hasMasks = masks.sent.length > 0 || echoes !== undefined;
  const codings = codingsFor(params, credentials, hasMasks);
  return {
    request: outgoing(connection, input, { ...filled, body: encode(filled.body) }, codings),
    masks: hasMasks ? toJsonBytes(masks) : undefined,
    hidden: {
      credentials,
      digitsMin:
        hasMasks && echoes === undefined ? Math.min(...masks.sent.map(({ digits }) => digits.length)) : 0,
    },
  };
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A text, and what makes its bytes again. */
interface Readable {
  readonly text: string;
  readonly encode: (text: string) => Uint8Array;
}

/** Bytes as the text that they are in UTF-8; others are read one by one. */
function readableBytes(bytes: Uint8Array): Readable {
  try {
    return { text: strict.decode(bytes), encode: utf8 };
  } catch {
    return { text: Buffer.from(bytes).toString('latin1'), encode: (text) => Buffer.from(text, 'latin1') };
  }
}

/** A body that is no text may pass through, but nothing can be put into it. */
function bodyOf(body: Uint8Array): Readable {
  const read = readableBytes(body);
  if (read.encode !== utf8 && findPlaceholders(read.text, 'body', 'encoded').length > 0) {
    throw new VaultError('invalid_request', { field: 'body', expected: 'must be text in UTF-8' });
  }
  return read;
}

/** The body of a reply as text. */
function replyOf(body: Uint8Array, type: string | undefined): Readable {
  return isWide(type)
    ? { text: Buffer.from(body).toString('utf16le'), encode: (text) => Buffer.from(text, 'utf16le') }
    : readableBytes(body);
}

/** Whether text of a body may stand there in a form in which it is not found: a part of one, or characters of several bytes. */
function isUnsure(type: string | undefined, status: number, body: Uint8Array): boolean {
  return status === PARTIAL_CONTENT || body.includes(0) || isWide(type);
}

/** A body with all masked that must not be seen. One that cannot be searched for it is hidden. */
function maskBody(headers: HeaderEntries, status: number, body: Uint8Array, masks: RelayMasks): Uint8Array {
  const { credentials = [], echoes } = masks;
  if (body.length === 0) {
    return body;
  }
  if (isEncoded(headers)) {
    return echoes === undefined && credentials.length === 0 ? body : utf8(HIDDEN);
  }
  const type = headerIn(headers, 'content-type');
  if (echoes !== undefined && isUnsure(type, status, body)) {
    return utf8(HIDDEN);
  }
  const { text, encode } = replyOf(body, type);
  const masked = maskRelayText(text, masks, bodyFormat(type) === 'json');
  return masked === text ? body : encode(masked);
}

/** The handlers of `RELAY_JOBS`. */
export const RELAY_HANDLERS: ThreadHandlers<typeof RELAY_JOBS> = {
  fillRelay(context, input) {
    const { params, opening } = input;
    const key = openKey(context, params, opening);
    if (!key) {
      return WARM_MISS;
    }
    const items = openItems(context, input, key);
    const entriesOf = (outcome: LogOutcome) =>
      params.items.map(({ token, seen }, at) =>
        items.has(token)
          ? logEntry(
              context,
              { ...params, seen },
              token,
              'decrypt',
              input.items[at]?.logTail ?? EMPTY,
              outcome,
            )
          : EMPTY,
      );
    try {
      return { kind: 'ready', ...fill(context, input, items), logEntries: entriesOf('ok') };
    } catch (error) {
      const failure = toFailure(error);
      const isShown = !params.forcedMask || ['placeholder_unknown', 'not_allowed'].includes(failure.code);
      const hidden = { field: undefined, expected: undefined };
      return {
        kind: 'rejected',
        logEntries: entriesOf(failure.code),
        error: isShown ? failure : { ...failure, ...hidden },
      };
    }
  },

  maskRelay(_context, { masks: given, status, headers, body }) {
    const masks = parseOwn<RelayMasks>(given);
    return {
      headers: headers.map(([name, value]) => maskRelayHeader(name, value, masks)),
      body: maskBody(headers, status, body, masks),
    };
  },
};
