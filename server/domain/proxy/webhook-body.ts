import { ERRORS } from '../../core/error-table.ts';
import type { ErrorCode } from '../../core/errors.ts';
import type { HeaderEntries } from '../../core/headers.ts';
import { encodeJson } from '../json/bytes.ts';
import { definedMembers, JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';

export type WebhookParts =
  | {
      readonly kind: 'post' | 'get';
      readonly headers: HeaderEntries;
      readonly statusCode: number;
      /** Token of a stored fetch. */
      readonly tokenInfo?: JsonObject | undefined;
      /** The reply to a fetch with tags in place of stored values; only of smart parse. */
      readonly body?: string | undefined;
      readonly withheld?: boolean;
    }
  | {
      readonly kind: 'network_token';
      readonly networkToken: ShownToken;
      readonly tokenInfo: JsonObject | undefined;
    }
  /** Data was stored through a capture endpoint; the members that its sender receives. */
  | { readonly kind: 'capture'; readonly captured: JsonObject }
  /** There is an error instead of a reply. */
  | { readonly kind: 'failure'; readonly code: ErrorCode };

export interface NetworkToken {
  readonly token: string;
  readonly expiryMonth: string;
  readonly expiryYear: string;
  readonly lastFour: string;
  readonly status: string;
}

/** A reported network token: only the status of a withheld one. */
export type ShownToken = Pick<NetworkToken, 'status'> & Partial<NetworkToken>;

/** Members that only the webhook of a failure has. */
const FAILURE_NAMES = ['error', 'code'];

/**
 * The body of a webhook as UTF-8 JSON: the members of the outcome, then those of the caller's metadata, in their order
 * and with every digit. Metadata cannot use a name that an outcome of this kind or a failure may have, even if it lacks
 * it: each name always means the same.
 */
export function webhookBody(parts: WebhookParts, metadata?: JsonObject): Uint8Array {
  const own = membersOf(parts);
  const body = definedMembers(own);
  for (const [name, value] of metadata ?? []) {
    if (!own.has(name) && !FAILURE_NAMES.includes(name)) {
      body.set(name, value);
    }
  }
  return encodeJson(body);
}

/** Every member that a kind may have, undefined where this outcome lacks it. */
function membersOf(parts: WebhookParts): ReadonlyMap<string, JsonValue | undefined> {
  switch (parts.kind) {
    case 'post':
      return new Map<string, JsonValue | undefined>([
        ['headers', parts.headers.map((line) => new Map([line]))],
        ['body', parts.body],
        ['status_code', new JsonNumber(String(parts.statusCode))],
        ['withheld', parts.withheld || undefined],
      ]);
    case 'get':
      return new Map<string, JsonValue | undefined>([
        ['headers', parts.headers.map((line) => new Map([line]))],
        ['status_code', new JsonNumber(String(parts.statusCode))],
        ['token_info', parts.tokenInfo],
        ['body', parts.body],
        ['withheld', parts.withheld || undefined],
      ]);
    case 'network_token':
      return new Map<string, JsonValue | undefined>([
        ['network_token', networkTokenObject(parts.networkToken)],
        ['token_info', parts.tokenInfo],
      ]);
    case 'capture':
      return new Map(
        ['token', 'user', 'reference', 'card_metadata'].map((name) => [name, parts.captured.get(name)]),
      );
    case 'failure':
      return new Map([
        ['error', ERRORS[parts.code].text],
        ['code', parts.code],
      ]);
  }
}

function networkTokenObject(token: ShownToken): JsonObject {
  return definedMembers([
    ['token', token.token],
    ['expiry_month', token.expiryMonth],
    ['expiry_year', token.expiryYear],
    ['last_four', token.lastFour],
    ['status', token.status],
  ]);
}
