/** The names of the events. */
export const EVENTS = ['ready', 'height', 'success', 'error'] as const;
/** Additional events of a single field. */
export const FIELD_EVENTS = ['change', 'focus', 'blur'] as const;

/** Time after which a form that is not ready counts as missing. */
export const READY_MS = 10_000;

/** Throws a TypeError that says which events there are. */
export function checkEvent(name: string, events: readonly string[] = EVENTS): void {
  if (!events.some((event) => event === name)) {
    throw new TypeError(`There is no event "${name}". There are: ${events.join(', ')}.`);
  }
}

/** The timers of a window. */
interface Timers {
  setTimeout(act: () => void, milliseconds: number): number;
  clearTimeout(timer: number | undefined): void;
}

/** A wait for a form to be ready, which can start again. Calls `late` unless it ends before. */
export function createWait(timers: Timers, late: () => void) {
  let timer: number | undefined;
  const end = (): void => {
    timers.clearTimeout(timer);
    timer = undefined;
  };
  return {
    start: (): void => {
      end();
      timer = timers.setTimeout(late, READY_MS);
    },
    end,
  };
}
