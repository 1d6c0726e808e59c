import { VaultError } from '../../core/errors.ts';
import type { HeaderEntries } from '../../core/headers.ts';
import type { ProxyMethod } from '../../core/third-party.ts';
import { definedMembers, type JsonObject } from '../json/json.ts';
import { createTextMeter, createWorkBudget, type WorkLimits } from '../rule/budget.ts';
import { createBodyEscape, percentEscape, plainEscape } from '../template/escape.ts';
import type { Template } from '../template/parse.ts';
import { findMissing, renderTemplate, type TemplateEscape, type TemplateMeter } from '../template/render.ts';
import { isShownName } from '../text/unknown-name.ts';
import { hasControl, hasDotSegment, invalidAt, isHeaderText } from './fields.ts';
import { isIdempotencyKey } from './headers.ts';
import type { ParsedRequest } from './request.ts';

/** Limits for filling one request; beyond them the error is `template_limit`. */
export const FILL_LIMITS = {
  msMax: 200,
  /** URL, header values and body together, in UTF-8. */
  bytesMax: 1_048_576,
  stepsMax: 2_000_000,
  exceeded: () => new VaultError('template_limit'),
} as const satisfies WorkLimits;

export interface FilledRequest {
  readonly method: ProxyMethod;
  readonly url: string;
  /** In the order of the request. */
  readonly headers: HeaderEntries;
  readonly body?: string;
}

export interface FillOptions {
  /** Unknown names are empty texts. */
  readonly allowMissing: boolean;
}

type Fill = (template: Template, escaping: TemplateEscape, field: string) => string;

const URL_FIELD = 'body.request.url';
const FILLED_URL_MAX = 8_192;

/** Rejects an unknown name outside of sections: an empty card number must never be sent. */
function rejectMissing(template: Template, view: JsonObject, field: string): void {
  const name = findMissing(template, view);
  if (name !== undefined) {
    const what = isShownName(name) ? `has the name \`${name}\`` : 'has a name';
    const expected = `${what}, which neither the item nor \`extra_data\` has`;
    throw new VaultError('template_missing', { field, expected });
  }
}

function createFill(view: JsonObject, now: () => number, { allowMissing }: FillOptions): Fill {
  const { spend, checkTime } = createWorkBudget(now, FILL_LIMITS);
  const meter: TemplateMeter = { spend, write: createTextMeter(FILL_LIMITS) };
  return (template, escaping, field) => {
    try {
      if (!allowMissing) {
        rejectMissing(template, view, field);
      }
      const text = renderTemplate(template, view, { escape: escaping, meter });
      checkTime();
      return text;
    } catch (error) {
      throw error instanceof VaultError && error.code === 'invalid_request'
        ? invalidAt(field, 'must be a template whose values fit its format')
        : error;
    }
  };
}

function fillUrl(request: ParsedRequest, fill: Fill): string {
  const target = fill(request.target, percentEscape, URL_FIELD);
  const path = target.split(/[?#]/, 1)[0] ?? '';
  if (hasControl(target) || hasDotSegment(path)) {
    throw invalidAt(URL_FIELD, 'must be filled without control characters and dot segments');
  }
  const url = new URL(request.origin + target);
  // A fragment is never sent; its filled values must not remain.
  url.hash = '';
  if (url.origin !== request.origin || url.href.length > FILLED_URL_MAX) {
    throw invalidAt(URL_FIELD, `must have at most ${FILLED_URL_MAX} characters when it is filled`);
  }
  return url.href;
}

/**
 * Fills a request from a stored object; `debug` passes a masked copy of it. In the body, `{{x}}` is escaped by
 * Content-Type: for its place in JSON (the default), percent-encoded in forms, as text in XML, and not at all in other
 * types. It is percent-encoded in the URL and unescaped in header values. `{{{x}}}` is never escaped: it may change the
 * structure of body, path or query, but does not reach scheme, host or port. `invalid_request` at its place: a header
 * that `isHeaderText` rejects, an empty `Idempotency-Key`, a path with dot segments, a URL over 8,192 characters, a
 * value that XML cannot contain. A name outside of sections that neither item nor `extra_data` has: `template_missing`,
 * unless `allowMissing`. Over 1 MiB, 200 ms or the work budget: `template_limit`.
 */
export function fillRequest(
  request: ParsedRequest,
  item: JsonObject,
  now: () => number,
  options: FillOptions,
): FilledRequest {
  // Stored data wins over data of this call.
  const view = request.extraData === undefined ? item : new Map([...request.extraData, ...item]);
  const fill = createFill(view, now, options);
  const url = fillUrl(request, fill);
  const headers = request.headers.map(({ name, value }, at) => {
    const field = `body.request.headers[${at}]`;
    const text = fill(value, plainEscape, field);
    const isUnusable = !isHeaderText(text) || (isIdempotencyKey(name) && text.trim() === '');
    if (isUnusable) {
      throw invalidAt(field, 'must be filled with text that a header can carry');
    }
    return [name, text] as const;
  });
  const { method, body } = request;
  if (body === undefined) {
    return { method, url, headers };
  }
  const text = fill(body, createBodyEscape(request.format), 'body.request.body');
  return { method, url, headers, body: text.toWellFormed() };
}

/** A filled request in the notation of a caller, for `populated_template` of a `debug` call. */
export function filledRequestJson(filled: FilledRequest): JsonObject {
  return definedMembers([
    ['method', filled.method],
    ['url', filled.url],
    ['headers', filled.headers.map((line) => new Map([line]))],
    ['body', filled.body],
  ]);
}
