/** Replies as JSON and as pages of a listing, and iteration over pages. */

import type { ApiCall, CallOptions } from './call.ts';
import { VaultConnectionError } from './errors.ts';
import { needText } from './needed.ts';
import type { Transport } from './transport.ts';

/** One page of a listing. */
export interface Page<T> {
  /** What is listed. */
  readonly data: T;
  /** Leads to the next page; undefined on the last one. */
  readonly next_token: string | undefined;
}

/** The pages of a listing in their order; each is asked for when the loop comes to it, not before. */
export type Pages<T> = AsyncGenerator<Page<T>, void, undefined>;

/**
 * Parses the JSON of a reply. The service guarantees that it has the type of its route. The parser's own error would
 * quote the text, so it is replaced.
 */
export function jsonOf<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new VaultConnectionError('The reply is not JSON.');
  }
}

/** Sends a call and parses its reply. */
export async function readJson<T>(transport: Transport, call: ApiCall): Promise<T> {
  return jsonOf<T>((await transport.send(call)).text);
}

/** Reads one record by its ids. Without them it throws a VaultError, because the route would list instead. */
export async function readOne<T>(
  transport: Transport,
  path: readonly string[],
  ids: Readonly<Record<string, string | undefined>>,
  options: CallOptions | undefined,
): Promise<T> {
  return readJson(transport, { method: 'GET', path, repeat: 'always', query: needText(ids), options });
}

/** Sends a call and returns its reply as one page. */
export async function fetchPage<T>(transport: Transport, call: ApiCall): Promise<Page<T>> {
  const reply = await transport.send(call);
  return { data: jsonOf<T>(reply.text), next_token: reply.nextToken };
}

/**
 * Returns cursors unchanged, and throws when one leads back to an earlier page: such a listing would never end. It
 * compares with one earlier cursor, which it replaces at doubling distances (Brent's algorithm), so it needs constant
 * memory.
 */
export function createTrail(): (nextToken: string | undefined) => string | undefined {
  let mark: string | undefined;
  let lap = 1;
  let left = 1;
  return (nextToken) => {
    if (nextToken === undefined) {
      return undefined;
    }
    if (nextToken === mark) {
      throw new VaultConnectionError('The pages of the reply lead back to where they came from.');
    }
    left -= 1;
    if (left === 0) {
      mark = nextToken;
      lap *= 2;
      left = lap;
    }
    return nextToken;
  };
}

/** Iterates over a listing, from `from` or from its first page. */
export async function* walk<T>(
  load: (nextToken: string | undefined) => Promise<Page<T>>,
  from: string | undefined,
): Pages<T> {
  const trail = createTrail();
  let nextToken = trail(from);
  do {
    const page = await load(nextToken);
    yield page;
    nextToken = trail(page.next_token);
  } while (nextToken !== undefined);
}
