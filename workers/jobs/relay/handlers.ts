import { isUtf8 } from 'node:buffer';
import { VaultError } from '../../../server/core/errors.ts';
import { headerIn } from '../../../server/core/headers.ts';
import { type JsonObject, type JsonValue, parseStoredObject } from '../../../server/domain/json/json.ts';
import { parseSteps, readPath } from '../../../server/domain/json/path.ts';
import { storedNumbers } from '../../../server/domain/mask/reply-numbers.ts';
import { fillRelay } from '../../../server/domain/relay/fill.ts';
import { findPlaceholders, type Placeholder, sentNumber } from '../../../server/domain/relay/placeholder.ts';
import { type SentNumber, showReply } from '../../../server/domain/relay/sight.ts';
import type { UnlockedKey } from '../../crypto/key/unlocked.ts';
import type { LogOutcome } from '../../crypto/log/outcome.ts';
import { EMPTY } from '../../crypto/primitives/bytes.ts';
import { openConnection, outgoingRequest } from '../connection/handlers.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import type { In } from '../define.ts';
import { fillFailure } from '../failure.ts';
import { withKey } from '../key/open.ts';
import { isOver, logEntry, metaOf, openText } from '../vault/records.ts';
import type { RELAY_JOBS } from './jobs.ts';

type Input = In<(typeof RELAY_JOBS)['fillRelay']>;

/** An unexpired item of a request. */
interface OpenedItem {
  readonly reference: string | undefined;
  readonly object: JsonObject;
}

/** The existing items by token, all opened before any is used. */
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
      opened.set(token, { reference: meta.reference, object: parseStoredObject(text) });
    }
  }
  return opened;
}

/** The value of a placeholder at `field` of the request, where errors of the caller are reported. */
function readValue(
  items: ReadonlyMap<string, OpenedItem>,
  { token, field: name, reference }: Placeholder,
  field: string,
): JsonValue {
  const item = items.get(token);
  if (item?.reference !== undefined && reference === undefined) {
    const expected = 'has a placeholder without the reference of its item: `{{vault:TOKEN:FIELD:REFERENCE}}`';
    throw new VaultError('reference_required', { field, expected });
  }
  if (item === undefined || item.reference !== reference) {
    const expected = 'has a placeholder whose token does not exist, or has another reference';
    throw new VaultError('placeholder_unknown', { field, expected });
  }
  const value = readPath(item.object, parseSteps(name));
  if (value === undefined) {
    const expected = 'has a placeholder of a field that its item does not have';
    throw new VaultError('placeholder_unknown', { field, expected });
  }
  return value;
}

function fill(context: ThreadContext, input: Input, items: ReadonlyMap<string, OpenedItem>) {
  const { params, connection: record } = input;
  const { aid, connection: id, sight } = params;
  const connection = openConnection(context, { aid, id }, record);
  const { text, encode } = bodyOf(input.body);
  const sent = new Map<string, SentNumber>();
  const filled = fillRelay(params, text, (placeholder, field) => {
    const value = readValue(items, placeholder, field);
    const number = sentNumber(placeholder, value);
    if (number !== undefined) {
      sent.set(number.digits, number);
    }
    return value;
  });
  const { method, path, now, storesReply = false } = params;
  const isRead = storesReply || sight !== 'all' || sent.size > 0;
  const passing = { method, path, ...filled, body: encode(filled.body) };
  // Of the unfilled header: a cached text must contain no stored value.
  const accepted = isRead ? (headerIn(params.headers, 'accept-encoding') ?? '') : undefined;
  const { request, secrets } = outgoingRequest(connection, passing, accepted, now);
  const showing = {
    sight,
    numbers: sight === 'all' ? [] : [...items.values()].flatMap(({ object }) => storedNumbers(object)),
    sent: sight === 'all' ? [...sent.values()] : [],
    paths: connection.reply ?? [],
    secrets,
  };
  return { request, showing };
}

/** The text of a body, and its encoder. One that is not UTF-8 is read byte by byte, and must have no placeholders. */
function bodyOf(body: Uint8Array) {
  const encoding = isUtf8(body) ? 'utf8' : 'latin1';
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString(encoding);
  if (encoding === 'latin1' && findPlaceholders(text, 'body', 'encoded').length > 0) {
    throw new VaultError('invalid_request', { field: 'body', expected: 'must be text in UTF-8' });
  }
  return { text, encode: (filled: string): Uint8Array => Buffer.from(filled, encoding) };
}

export const RELAY_HANDLERS: ThreadHandlers<typeof RELAY_JOBS> = {
  fillRelay(context, input) {
    const { params, opening } = input;
    return withKey(context, params, opening, input.items, (key) => {
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
        const failure = fillFailure(error, params.sight !== 'all');
        return { kind: 'rejected', logEntries: entriesOf(failure.code), error: failure };
      }
    });
  },

  showRelay(_context, { showing, status, headers, body, tokens }) {
    return showReply({ status, headers, body, tokens }, showing);
  },
};
