/** Sends many items with few requests, and returns a result for each in its order. */

import { VaultConnectionError } from './errors.ts';
import type { BatchFailure, Many } from './types.ts';

/** What the service takes in one request. */
const ITEMS_MAX = 1_000;
/** Requests in flight: one is worked on while the next is sent. */
const AHEAD = 2;

const encoder = new TextEncoder();

/** The JSON texts of items, as many together as one request takes. */
async function* batchesOf<Item>(
  items: Many<Item>,
  textOf: (item: Item) => string,
  bytesMax: number,
): AsyncGenerator<readonly string[], void, undefined> {
  let texts: string[] = [];
  let bytes = 0;
  for await (const item of items) {
    const text = textOf(item);
    const size = encoder.encode(text).length + 1;
    if (texts.length === ITEMS_MAX || (texts.length > 0 && bytes + size > bytesMax)) {
      yield texts;
      texts = [];
      bytes = 0;
    }
    texts.push(text);
    bytes += size;
  }
  if (texts.length > 0) {
    yield texts;
  }
}

/** A result, whose error names the place among all items instead of that in its request. */
function placed<Result extends object>(result: Result | BatchFailure, index: number): Result | BatchFailure {
  if (!('field' in result) || result.field === undefined) {
    return result;
  }
  const place = (text: string): string => text.replace(/(?:body\.)?items\[\d+\]/, `items[${index}]`);
  return { ...result, error: place(result.error), field: place(result.field) };
}

/**
 * Sends items in batches of at most so many bytes, each as JSON text, and yields a result for each in its order. An item that is refused has an error
 * as its result; a request that fails throws, behind the results of those before it.
 */
export async function* inBatches<Item, Result extends object>(
  items: Many<Item>,
  textOf: (item: Item) => string,
  send: (texts: readonly string[]) => Promise<readonly (Result | BatchFailure)[]>,
  bytesMax: number,
): AsyncGenerator<Result | BatchFailure, void, undefined> {
  const batches = batchesOf(items, textOf, bytesMax);
  const sendNext = async (): Promise<readonly (Result | BatchFailure)[] | undefined> => {
    const { done, value } = await batches.next();
    if (done) {
      return undefined;
    }
    const results = await send(value);
    if (results.length !== value.length) {
      throw new VaultConnectionError('The reply does not have a result for each item.');
    }
    return results;
  };
  const under: Promise<readonly (Result | BatchFailure)[] | undefined>[] = [];
  let index = 0;
  try {
    for (;;) {
      while (under.length < AHEAD) {
        const sent = sendNext();
        // A failure is thrown when its turn comes; until then it must not count as unhandled.
        sent.catch(() => undefined);
        under.push(sent);
      }
      const results = await under.shift();
      if (results === undefined) {
        return;
      }
      for (const result of results) {
        yield placed(result, index);
        index += 1;
      }
    }
  } finally {
    // Whoever makes the items may never give another one: nobody waits for that.
    batches.return().catch(() => undefined);
  }
}
