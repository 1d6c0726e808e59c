/** What a form reports, by name, and how long the page around waits for the first of it. */

/** The names of the events. */
export const EVENTS = ['ready', 'height', 'success', 'error'] as const;
/** Those of a single field, besides. */
export const FIELD_EVENTS = ['change', 'focus', 'blur'] as const;

/** A form that has not said that it is ready by then is not there. */
export const READY_MS = 10_000;

/** Throws a TypeError that says which events there are. */
export function checkEvent(name: string, events: readonly string[] = EVENTS): void {
  if (!events.some((event) => event === name)) {
    throw new TypeError(`There is no event "${name}". There are: ${events.join(', ')}.`);
  }
}

/** What is used of a window's timers. */
interface Timers {
  setTimeout(act: () => void, milliseconds: number): number;
  clearTimeout(timer: number | undefined): void;
}

/** A wait for a form to be ready: it can start again, and `late` is called once unless it ends before. */
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
