/** Many items with few calls: they are taken as they come, sent in batches, and their results keep the order. */

import { VaultConnectionError } from './errors.ts';

/** Items of one call, and characters of their texts: a call may have 1,000 and 8 MB. */
const ITEMS_MAX = 1_000;
const CHARACTERS_MAX = 2_000_000;
/** Calls in flight: while one is answered, the next is being made. */
const CALLS_MAX = 2;

/** Items from anywhere. */
export type Items<Item> = Iterable<Item> | AsyncIterable<Item>;

/** A result that names the place of a fault in its own call. */
interface Placed {
  readonly field?: string | undefined;
}

/** Groups texts so that each group fits one call. */
async function* groupsOf<Item>(
  items: Items<Item>,
  textOf: (item: Item) => string,
): AsyncGenerator<string[], void, undefined> {
  let group: string[] = [];
  let characters = 0;
  for await (const item of items) {
    const text = textOf(item);
    if (group.length === ITEMS_MAX || (group.length > 0 && characters + text.length > CHARACTERS_MAX)) {
      yield group;
      group = [];
      characters = 0;
    }
    group.push(text);
    characters += text.length;
  }
  if (group.length > 0) {
    yield group;
  }
}

/** A result whose place is counted from the first item of all. */
function placed<Result extends object>(result: Result, before: number): Result {
  const { field } = result as Placed;
  const own = field?.replace(
    /^body\.items\[(\d+)\]/,
    (_, at: string) => `body.items[${before + Number(at)}]`,
  );
  return own === field ? result : { ...result, field: own };
}

/**
 * Sends the texts of items in calls of at most 1,000, two at a time, and yields the result of each item in their order. A
 * call that fails throws when its items are due; what was sent before has its results.
 */
export async function* inBatches<Item, Result extends object>(
  items: Items<Item>,
  textOf: (item: Item) => string,
  send: (texts: readonly string[]) => Promise<readonly Result[]>,
): AsyncGenerator<Result, void, undefined> {
  const groups = groupsOf(items, textOf);
  const calls: Promise<readonly Result[]>[] = [];
  let before = 0;
  try {
    for (;;) {
      while (calls.length < CALLS_MAX) {
        const { done, value } = await groups.next();
        if (done) {
          break;
        }
        const call = send(value);
        // It is thrown when its items are due.
        call.catch(() => undefined);
        calls.push(call);
      }
      const next = calls.shift();
      if (next === undefined) {
        return;
      }
      const results: unknown = await next;
      if (!Array.isArray(results)) {
        throw new VaultConnectionError('The reply has no results.');
      }
      for (const result of results as readonly Result[]) {
        yield placed(result, before);
      }
      before += results.length;
    }
  } finally {
    await groups.return();
  }
}
