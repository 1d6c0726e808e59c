/** A timer that is later than this shows that the host itself was suspended. */
const LATE_MS = 100;

/**
 * A timer for the earliest of several times on `performance.now()`: a timer for each of them would cost more than most
 * jobs.
 */
export class Alarm {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private armedFor = Number.POSITIVE_INFINITY;
  private isPostponed = false;

  /** Calls `ring` with the current time; it returns the time of its next call, Infinity for none until `arm`. */
  constructor(private readonly ring: (now: number) => number) {}

  /** Makes sure that `ring` is called once `dueAt` has passed. */
  arm(dueAt: number): void {
    if (dueAt >= this.armedFor) {
      return;
    }
    clearTimeout(this.timer);
    this.armedFor = dueAt;
    this.timer = setTimeout(() => this.onTimer(), Math.max(0, Math.ceil(dueAt - performance.now())));
  }

  /** Stops the timer; `arm` would start it again. */
  stop(): void {
    clearTimeout(this.timer);
  }

  /**
   * Postpones `ring` once if the timer is late: the host was busy or suspended, and replies may wait to be read. So no
   * job fails because of the host's own delay.
   */
  private onTimer(): void {
    const now = performance.now();
    this.isPostponed = !this.isPostponed && now - this.armedFor > LATE_MS;
    this.armedFor = Number.POSITIVE_INFINITY;
    const next = this.isPostponed ? now + LATE_MS : this.ring(now);
    if (next !== Number.POSITIVE_INFINITY) {
      this.arm(next);
    }
  }
}
