/** Replaces the placeholders of a request by stored values; everything else is unchanged. */
import { VaultError } from '../../core/errors.ts';
import { type HeaderEntries, headerIn } from '../../core/headers.ts';
import type { JsonValue } from '../json/json.ts';
import { hasControl, invalidAt, isHeaderText } from '../proxy/fields.ts';
import { createBodyEscape, percentEscape, plainEscape } from '../template/escape.ts';
import type { TemplateEscape } from '../template/render.ts';
import { bodyFormat } from '../text/media-type.ts';
import { findPlaceholders, type Placeholder, type RelayText } from './placeholder.ts';

/** A request that goes on through a connection. */
export interface RelayRequest {
  readonly method: string;
  /** Path after the name of the connection, or the id of the inbound: empty, or with its slash. */
  readonly path: string;
  /** With its question mark; empty without one. */
  readonly query: string;
  readonly headers: HeaderEntries;
}

export interface FilledRelay {
  readonly query: string;
  readonly headers: HeaderEntries;
  readonly body: string;
}

/** Limit for all values together. */
const BYTES_MAX = 2 * 1_048_576;

/** The value of a placeholder; throws if there is none. */
export type ValueOf = (placeholder: Placeholder, field: string) => JsonValue;

/** The texts of a request that can have placeholders. */
export function textsOf(
  { query, headers }: Pick<RelayRequest, 'query' | 'headers'>,
  body: string,
): {
  readonly query: RelayText;
  readonly headers: readonly RelayText[];
  readonly body: RelayText;
} {
  const isForm = bodyFormat(headerIn(headers, 'content-type')) === 'form';
  return {
    query: { text: query, field: 'query', writing: 'encoded' },
    headers: headers.map(([name, text]) => ({ text, field: `header.${name}`, writing: 'plain' })),
    body: { text: body, field: 'body', writing: isForm ? 'encoded' : 'plain' },
  };
}

function createFill(valueIn: ValueOf) {
  let bytesLeft = BYTES_MAX;
  return ({ text, field, writing }: RelayText, escaping: TemplateEscape): string => {
    const parts: string[] = [];
    let done = 0;
    for (const { start, end, ...placeholder } of findPlaceholders(text, field, writing)) {
      const between = text.slice(done, start);
      escaping.pass?.(between);
      const value = insert(escaping, valueIn(placeholder, field), field);
      bytesLeft -= value.length;
      if (bytesLeft < 0) {
        throw new VaultError('template_limit');
      }
      parts.push(between, value);
      done = end;
    }
    return parts.length === 0 ? text : [...parts, text.slice(done)].join('');
  };
}

/** Rejects a value that its format cannot contain. */
function insert(escaping: TemplateEscape, value: JsonValue, field: string): string {
  try {
    return escaping.insert(value);
  } catch (error) {
    throw error instanceof VaultError && error.code === 'invalid_request' ? unusable(field) : error;
  }
}

function unusable(field: string): VaultError {
  return invalidAt(field, 'must be filled with values that can stand there');
}

/** A plain body has no escaping: a value with line breaks could end the part that contains it. */
function plainWithoutControls(field: string): TemplateEscape {
  return {
    insert: (value) => {
      const text = plainEscape.insert(value);
      if (hasControl(text)) {
        throw unusable(field);
      }
      return text;
    },
  };
}

/**
 * Fills a request. Values are percent-encoded in the query and in forms, escaped in XML and, by Content-Type, in JSON,
 * and not escaped in header values and other bodies, which reject values with control characters. `invalid_request` at
 * its place; over 2 MiB of values: `template_limit`.
 */
export function fillRelay(
  request: Pick<RelayRequest, 'query' | 'headers'>,
  body: string,
  valueIn: ValueOf,
): FilledRelay {
  const texts = textsOf(request, body);
  const fill = createFill(valueIn);
  const format = bodyFormat(headerIn(request.headers, 'content-type')) ?? 'json';
  const headers = request.headers.map(([name], at) => {
    const text = texts.headers[at];
    const value = text === undefined ? '' : fill(text, plainEscape);
    if (!isHeaderText(value)) {
      throw unusable(`header.${name}`);
    }
    return [name, value] as const;
  });
  const escaping = format === 'text' ? plainWithoutControls('body') : createBodyEscape(format);
  return { query: fill(texts.query, percentEscape), headers, body: fill(texts.body, escaping) };
}
