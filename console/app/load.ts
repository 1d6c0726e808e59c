import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { signsInAgain } from './again.ts';

/** The state of a read from the vault. */
export type Load<T> = (
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'ready'; readonly data: T }
) & { readonly reload: () => void };

/**
 * Reads when the screen is shown, when one of `of` changes, and at `reload`, which keeps the shown data until the new
 * data is read. Only the newest read counts.
 */
export function useLoad<T>(read: () => Promise<T>, of: readonly unknown[] = []): Load<T> {
  const [state, setState] = useState<{
    kind: 'loading' | 'failed' | 'ready';
    data?: T;
    error?: unknown;
  }>({ kind: 'loading' });
  const [round, setRound] = useState(0);
  const shown = useRef(round);
  // `read` is a new function at each rendering, so that only `of` and `round` start a read.
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
  return { ...state, reload } as Load<T>; // `kind` determines the members.
}

/** Runs `act` unless it is running, with the error of the last run. It runs again after a sign-in that it needs. */
export function useWork(act: () => Promise<void>) {
  const [{ isBusy, error }, setState] = useState<{ isBusy: boolean; error?: unknown }>({ isBusy: false });
  const run = async (): Promise<void> => {
    if (isBusy) {
      return;
    }
    setState({ isBusy: true });
    try {
      await act().catch(async (error) => {
        if (!(await signsInAgain(error))) {
          throw error;
        }
        await act();
      });
      setState({ isBusy: false });
    } catch (thrown) {
      setState({ isBusy: false, error: thrown });
    }
  };
  return { isBusy, error, run };
}

interface Page<Item> {
  readonly data: readonly Item[];
  readonly next_token?: string | undefined;
}

/** A list; one that comes in pages has `more`, which adds the next page and rejects if it cannot be read. */
export type Listing<Item> = Load<readonly Item[]> & {
  readonly hasMore?: boolean;
  readonly more?: () => Promise<void>;
};

/** Shows a list that was read whole `step` rows at a time. */
export function useSteps<Item>(load: Load<readonly Item[]>, step: number): Listing<Item> {
  const [shown, setShown] = useState(step);
  return load.kind !== 'ready'
    ? load
    : {
        ...load,
        data: load.data.slice(0, shown),
        hasMore: load.data.length > shown,
        more: async () => setShown(shown + step),
      };
}

/** Reads the first page of a list, and one more at each `more`. */
export function useListing<Item>(
  read: (next?: string) => Promise<Page<Item>>,
  of: readonly unknown[] = [],
): Listing<Item> {
  const [pages, setPages] = useState<readonly Page<Item>[]>([]);
  const load = useLoad(async () => {
    const page = await read();
    setPages([page]);
    return page.data;
  }, of);
  const next = pages.at(-1)?.next_token;
  return {
    ...(load.kind === 'ready' ? { ...load, data: pages.flatMap(({ data }) => data) } : load),
    hasMore: next !== undefined,
    more: async () => {
      const page = await read(next);
      // Another list may have been requested meanwhile.
      setPages((now) => (now === pages ? [...now, page] : now));
    },
  };
}
