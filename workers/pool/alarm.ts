/** One timer for the deadlines of all jobs: a timer per job would cost more than most jobs. */

/** How late the timer may ring before the host itself counts as having stood still. */
const LATE_MS = 100;

export interface Alarm {
  /** Makes sure that `ring` is called once `dueAt`, on `performance.now()`, has passed. */
  arm(dueAt: number): void;
  stop(): void;
}

/**
 * Calls `ring` with the time when something is due; `ring` returns when to call it next (Infinity: when armed
 * again). When the timer rings late, the host was held up or suspended and answers that came meanwhile may
 * still wait to be read, so `ring` is put off once more: nobody is judged by the host's own delay.
 */
export const createAlarm = (ring: (now: number) => number): Alarm => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let armedFor = Number.POSITIVE_INFINITY;
  let putOff = false;

  const arm = (dueAt: number): void => {
    if (dueAt >= armedFor) {
      return;
    }
    clearTimeout(timer);
    armedFor = dueAt;
    timer = setTimeout(onTimer, Math.max(0, Math.ceil(dueAt - performance.now())));
  };

  const onTimer = (): void => {
    const now = performance.now();
    putOff = !putOff && now - armedFor > LATE_MS;
    armedFor = Number.POSITIVE_INFINITY;
    const next = putOff ? now + LATE_MS : ring(now);
    if (next !== Number.POSITIVE_INFINITY) {
      arm(next);
    }
  };

  return { arm, stop: () => clearTimeout(timer) };
};
