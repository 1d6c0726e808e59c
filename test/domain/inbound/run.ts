import { VaultError } from '../../../server/core/errors.ts';
import type { HeaderEntries } from '../../../server/core/headers.ts';
import { replaceCards } from '../../../server/domain/inbound/inbound.ts';
import type { InboundRules } from '../../../server/domain/inbound/rules.ts';
import { stringifyJson } from '../../../server/domain/json/json.ts';

export const JSON_TYPE = 'application/json';
export const XML_TYPE = 'text/xml';
export const FORM_TYPE = 'application/x-www-form-urlencoded';

export const VISA = '4111111111111111';
export const MASTERCARD = '5555555555554444';
export const AMEX = '378282246310005';

interface Sent {
  readonly type?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: HeaderEntries;
}

interface Ran {
  readonly bytes: Uint8Array;
  readonly body: string;
  readonly path: string;
  readonly query: string;
  /** Without the Content-Type. */
  readonly headers: HeaderEntries;
  readonly stored: number;
  /** The stored objects as JSON, with the reference in front if there is one. */
  readonly cards: readonly string[];
}

/** Sends a message through an inbound whose tokens are `tok1`, `tok2` and so on. */
export function run(
  body: string | Uint8Array,
  rules: InboundRules,
  { type = JSON_TYPE, path = '/', query = '', headers = [] }: Sent = {},
): Ran {
  const cards: string[] = [];
  const message = {
    ...{ path, query, body: Buffer.from(body) },
    headers: type === '' ? headers : [['Content-Type', type] as const, ...headers],
  };
  const replaced = replaceCards(message, rules, ({ object, reference }) => {
    const card = stringifyJson(object);
    return `tok${cards.push(reference === undefined ? card : `${reference} ${card}`)}`;
  });
  return {
    ...replaced,
    bytes: replaced.body,
    body: Buffer.from(replaced.body).toString(),
    headers: type === '' ? replaced.headers : replaced.headers.slice(1),
    cards,
  };
}

/** The code of an error and its field, or `passed`. */
export function refusal(...given: Parameters<typeof run>): string {
  return outcomeOf(() => run(...given));
}

export function outcomeOf(act: () => unknown): string {
  try {
    act();
    return 'passed';
  } catch (error) {
    if (error instanceof VaultError) {
      return error.field === undefined ? error.code : `${error.code} ${error.field}`;
    }
    throw error;
  }
}
