/** Items, the newest first. The API lists the oldest first, so that these are read in spans of time, from the present backwards. */
import type { ListedItem, ListItems, Tree } from '../../sdk/transport/types.ts';

/** Items of a page. */
const PAGE = 50;
/** A span with more items is divided. */
const SPAN_ITEMS_MAX = 200;
/** Items that are read at once of the shortest span, one second. */
const SECOND_ITEMS = 1_000;
const FIRST_SPAN_S = 86_400;
/** The ratio of the lengths of two spans, where items are rarer or more frequent than expected. */
const FACTOR = 4;

interface Page<Data> {
  readonly data: Data;
  readonly next_token?: string | undefined;
}

type Span = Pick<ListItems, 'stored_after' | 'stored_before' | 'limit' | 'next_token'>;

/** A position in the order of the list. */
type Place = Pick<ListedItem, 'stored_at' | 'user' | 'token'>;

/** The last item of a page, and the length of the next span in seconds. */
interface Cursor {
  readonly last: Place;
  readonly seconds: number;
}

/** Times of storage that a list is limited to, as the API takes them. */
interface Bounds {
  readonly stored_after?: string | undefined;
  readonly stored_before?: string | undefined;
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** The order of the list. */
export function compareNewest(a: Place, b: Place): number {
  return (
    compareTexts(b.stored_at, a.stored_at) || compareTexts(a.user, b.user) || compareTexts(a.token, b.token)
  );
}

/** Seconds since 1970. */
function secondsOf(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}

function timeOf(seconds: number): string {
  return `${new Date(1_000 * seconds).toISOString().slice(0, 19)}Z`;
}

/** Returns a page of items, the newest first, and the cursor of the next page. */
export async function readNewest(
  read: (span: Span) => Promise<Page<Tree>>,
  { stored_after, stored_before }: Bounds,
  next: string | undefined,
): Promise<Page<readonly ListedItem[]>> {
  const cursor = next === undefined ? undefined : (JSON.parse(next) as Cursor); // Written below.
  const oldest = stored_after === undefined ? 0 : secondsOf(stored_after);
  const newest = stored_before === undefined ? undefined : secondsOf(stored_before);
  // Without an end at first, since the clock of the server may be ahead.
  let before = cursor === undefined ? newest : secondsOf(cursor.last.stored_at) + 1;
  let seconds = cursor?.seconds ?? FIRST_SPAN_S;
  /** The beginning of a span that had to be divided: until it is passed, longer ones are in vain. */
  let full = Number.POSITIVE_INFINITY;
  const found: ListedItem[] = [];
  // One item more than wanted shows that there is a next page.
  while (found.length <= PAGE && (before === undefined || before > oldest)) {
    const end = before ?? Math.floor(Date.now() / 1_000) + 1;
    const from = Math.max(oldest, end - seconds);
    const span = {
      stored_after: timeOf(from),
      stored_before: before === undefined ? undefined : timeOf(before),
    };
    const limit = end - from > 1 ? SPAN_ITEMS_MAX : SECOND_ITEMS;
    let page = await read({ ...span, limit });
    if (page.next_token !== undefined && end - from > 1) {
      seconds = Math.ceil((end - from) / FACTOR);
      full = from;
      continue;
    }
    const items = listedOf(page.data);
    while (page.next_token !== undefined) {
      page = await read({ ...span, limit, next_token: page.next_token });
      items.push(...listedOf(page.data));
    }
    const isAfter = (item: ListedItem) => cursor === undefined || compareNewest(cursor.last, item) < 0;
    found.push(...items.filter(isAfter).sort(compareNewest));
    before = from;
    seconds = items.length < SPAN_ITEMS_MAX / FACTOR && from <= full ? seconds * FACTOR : seconds;
  }
  const data = found.slice(0, PAGE);
  const last = found.length > PAGE ? data.at(-1) : undefined;
  if (last === undefined) {
    return { data };
  }
  const { stored_at, user, token } = last;
  const following: Cursor = { last: { stored_at, user, token }, seconds };
  return { data, next_token: JSON.stringify(following) };
}

/** The items of a tree, each with its key. */
export function listedOf(tree: Tree): ListedItem[] {
  return Object.entries(tree).flatMap(([user, items]) => items.map((item) => ({ ...item, user })));
}
