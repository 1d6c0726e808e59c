/** One timer for many deadlines: one for each would cost more than most jobs. */

/** How late the timer may ring before the host itself counts as having been suspended. */
const LATE_MS = 100;

/** A timer that is armed for the earliest of several times, on `performance.now()`. */
export interface Alarm {
  /** Called with the time when something is due; returns when to call it next (Infinity: when armed again). */
  readonly ring: (now: number) => number;
  timer: ReturnType<typeof setTimeout> | undefined;
  armedFor: number;
  isPutOff: boolean;
}

/** An alarm that is not armed. */
export function createAlarm(ring: (now: number) => number): Alarm {
  return { ring, timer: undefined, armedFor: Number.POSITIVE_INFINITY, isPutOff: false };
}

/** Makes sure that `ring` is called once `dueAt` has passed. */
export function arm(alarm: Alarm, dueAt: number): void {
  if (dueAt >= alarm.armedFor) {
    return;
  }
  clearTimeout(alarm.timer);
  alarm.armedFor = dueAt;
  alarm.timer = setTimeout(onTimer, Math.max(0, Math.ceil(dueAt - performance.now())), alarm);
}

/** Stops the timer; `arm` would start it again. */
export function stop(alarm: Alarm): void {
  clearTimeout(alarm.timer);
}

/**
 * When the timer rings late, the host was busy or suspended and replies that came meanwhile may still wait to be
 * read, so `ring` is put off once more: no job fails by the host's own delay.
 */
function onTimer(alarm: Alarm): void {
  const now = performance.now();
  alarm.isPutOff = !alarm.isPutOff && now - alarm.armedFor > LATE_MS;
  alarm.armedFor = Number.POSITIVE_INFINITY;
  const next = alarm.isPutOff ? now + LATE_MS : alarm.ring(now);
  if (next !== Number.POSITIVE_INFINITY) {
    arm(alarm, next);
  }
}
