/** Replies as JSON and as pages of a listing, and iteration over pages. */

import type { ApiCall, CallOptions } from './call.ts';
import { VaultConnectionError } from './errors.ts';
import { needText } from './needed.ts';
import type { Transport } from './transport.ts';

/** One page of a listing. */
export interface Page<T> {
  /** The records of the page. */
  readonly data: T;
  /** Leads to the next page; undefined on the last one. */
  readonly next_token: string | undefined;
}

/** The pages of a listing in their order; each is requested when the loop reaches it. */
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

type Path = readonly string[];

/** Reads. */
export function get<T>(transport: Transport, path: Path, query: ApiCall['query'], options?: CallOptions) {
  return readJson<T>(transport, { method: 'GET', path, repeat: 'always', query, options });
}

/** Reads one record by its ids. Without them it rejects with a VaultError, because the route would list instead. */
export async function readOne<T>(
  transport: Transport,
  path: Path,
  ids: Readonly<Record<string, string | undefined>>,
  options: CallOptions | undefined,
): Promise<T> {
  return get(transport, path, needText(ids), options);
}

/** Deletes. */
export function remove<T>(transport: Transport, path: Path, query: ApiCall['query'], options?: CallOptions) {
  return readJson<T>(transport, { method: 'DELETE', path, repeat: 'always', query, options });
}

/** Sends an object as JSON. */
export function sendJson<T>(
  transport: Transport,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: Path,
  repeat: ApiCall['repeat'],
  body: object,
  options?: CallOptions,
) {
  return readJson<T>(transport, { method, path, repeat, body: JSON.stringify(body), options });
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

/** Iterates over a listing, from `next_token` or from its first page. The query is read now, not with each page. */
export function pagesOf<Query extends { readonly next_token?: string | undefined }, T>(
  list: (query: Query, options?: CallOptions) => Promise<Page<T>>,
): (query?: Query, options?: CallOptions) => Pages<T> {
  return (query = {} as Query, options) => walk(list, { ...query }, options);
}

async function* walk<Query extends { readonly next_token?: string | undefined }, T>(
  list: (query: Query, options?: CallOptions) => Promise<Page<T>>,
  query: Query,
  options: CallOptions | undefined,
): Pages<T> {
  const trail = createTrail();
  let next_token = trail(query.next_token);
  do {
    const page = await list({ ...query, next_token }, options);
    yield page;
    next_token = trail(page.next_token);
  } while (next_token !== undefined);
}
