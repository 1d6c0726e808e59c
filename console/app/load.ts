/** What a screen reads from the vault: on its way, there, or failed. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

/** The state of a reading. */
export type Load<T> = (
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'ready'; readonly data: T }
) & { readonly reload: () => void };

/**
 * Reads when the screen is shown, when one of `of` changes, and at `reload`, which leaves what is shown until the new is
 * there. Only the newest reading counts.
 */
export function useLoad<T>(read: () => Promise<T>, of: readonly unknown[] = []): Load<T> {
  const [state, setState] = useState<{
    kind: 'loading' | 'failed' | 'ready';
    data?: T;
    error?: unknown;
  }>({ kind: 'loading' });
  const [round, setRound] = useState(0);
  const shown = useRef(round);
  // `read` is a new function at each rendering; `of` says when it reads something else.
  useEffect(() => {
    let isCurrent = true;
    const isReload = shown.current !== round;
    shown.current = round;
    setState((before) => (isReload && before.kind === 'ready' ? before : { kind: 'loading' }));
    read().then(
      (data) => isCurrent && setState({ kind: 'ready', data }),
      (error: unknown) => isCurrent && setState({ kind: 'failed', error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [...of, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { ...state, reload } as Load<T>; // `kind` says which members there are.
}

/** Something that a button starts: whether it runs, and why it failed the last time. */
export interface Work {
  readonly isBusy: boolean;
  readonly error: unknown;
  /** Runs it, unless it runs already. */
  readonly run: () => Promise<void>;
}

/** Runs `act` one at a time. */
export function useWork(act: () => Promise<void> | void): Work {
  const [{ isBusy, error }, setState] = useState<Omit<Work, 'run'>>({ isBusy: false, error: undefined });
  const run = async (): Promise<void> => {
    if (isBusy) {
      return;
    }
    setState({ isBusy: true, error: undefined });
    try {
      await act();
      setState({ isBusy: false, error: undefined });
    } catch (thrown) {
      setState({ isBusy: false, error: thrown });
    }
  };
  return { isBusy, error, run };
}

/** A list that comes in pages. */
export interface Listing<Item> {
  readonly load: Load<readonly Item[]>;
  readonly hasMore: boolean;
  /** Adds the next page; rejects if it cannot be read. */
  readonly more: () => Promise<void>;
}

interface ReadPage<Item> {
  readonly data: readonly Item[];
  readonly next_token?: string | undefined;
}

/** Reads the first page of a list, and one more at each `more`. */
export function useListing<Item>(
  read: (next?: string) => Promise<ReadPage<Item>>,
  of: readonly unknown[] = [],
): Listing<Item> {
  const [pages, setPages] = useState<readonly ReadPage<Item>[]>([]);
  const load = useLoad(async () => {
    const page = await read();
    setPages([page]);
    return page.data;
  }, of);
  const last = pages.at(-1);
  const data = pages.flatMap((page) => page.data);
  return {
    load: load.kind === 'ready' ? { ...load, data } : load,
    hasMore: last?.next_token !== undefined,
    more: async () => {
      const page = await read(last?.next_token);
      // Another list may have been asked for meanwhile.
      setPages((now) => (now === pages ? [...now, page] : now));
    },
  };
}
