/** What replies become: JSON, pages of a listing, and the walk from one page to the next. */

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
 * Parses a reply's JSON. That it has the type of its route is the service's promise and is not checked again.
 * The parser's own error would quote the text, so it is replaced.
 */
export function jsonOf<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new VaultConnectionError('The reply is not JSON.');
  }
}

/** Makes a call and parses its reply. */
export async function readJson<T>(transport: Transport, call: ApiCall): Promise<T> {
  return jsonOf<T>((await transport.send(call)).text);
}

/** Reads the one thing that some ids name; without them it is refused, since the route would list instead. */
export async function readOne<T>(
  transport: Transport,
  path: readonly string[],
  ids: Readonly<Record<string, string | undefined>>,
  options: CallOptions | undefined,
): Promise<T> {
  return readJson(transport, { method: 'GET', path, repeat: 'always', query: needText(ids), options });
}

/** Makes a call and takes its reply as one page. */
export async function fetchPage<T>(transport: Transport, call: ApiCall): Promise<Page<T>> {
  const reply = await transport.send(call);
  return { data: jsonOf<T>(reply.text), next_token: reply.nextToken };
}

/**
 * Passes on what leads to the next page, and throws once it leads back: such a listing would never end. It compares
 * with one of those before, which it takes anew ever more rarely (Brent), so that a way of any length needs no memory.
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

/** Walks a listing from a page on, the first where `from` is undefined. */
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
