/** Sends many items with few requests, and returns a result for each in its order. */

import { VaultConnectionError } from './errors.ts';
import type { BatchFailure, Many } from './types.ts';

/** Most items of one request. */
const ITEMS_MAX = 1_000;
/** Requests in flight: the service handles one while the next is sent. */
const AHEAD = 2;

const encoder = new TextEncoder();

/** The JSON texts of items, grouped by request. */
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
 * Sends items as JSON in batches of at most `bytesMax`, and yields a result for each in its order. A rejected item has an
 * error as its result. A failed request throws, after the results of the requests before it.
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
        // A failure is thrown when its results are awaited; until then it must not count as unhandled.
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
    // Not awaited: a source can be waiting for its next item forever.
    batches.return().catch(() => undefined);
  }
}
