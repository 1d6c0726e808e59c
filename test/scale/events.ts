/** What happens next, of everything that is going to happen: a binary heap by time. */
export class Events {
  readonly #times: number[] = [];
  readonly #runs: (() => void)[] = [];

  add(time: number, run: () => void): void {
    let at = this.#times.length;
    this.#times.push(time);
    this.#runs.push(run);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if ((this.#times[above] ?? 0) <= (this.#times[at] ?? 0)) {
        return;
      }
      this.#swap(at, above);
      at = above;
    }
  }

  /** Takes out what happens next, and when; undefined when nothing does. */
  next(): { readonly time: number; readonly run: () => void } | undefined {
    const [time] = this.#times;
    const [run] = this.#runs;
    if (time === undefined || run === undefined) {
      return undefined;
    }
    this.#swap(0, this.#times.length - 1);
    this.#times.pop();
    this.#runs.pop();
    this.#sink();
    return { time, run };
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const least = this.#before(right, left) ? right : left;
      if (!this.#before(least, at)) {
        return;
      }
      this.#swap(at, least);
      at = least;
    }
  }

  #before(a: number, b: number): boolean {
    return (this.#times[a] ?? Number.POSITIVE_INFINITY) < (this.#times[b] ?? Number.POSITIVE_INFINITY);
  }

  #swap(a: number, b: number): void {
    const [time, run] = [this.#times[a] ?? 0, this.#runs[a] ?? (() => undefined)];
    this.#times[a] = this.#times[b] ?? 0;
    this.#runs[a] = this.#runs[b] ?? (() => undefined);
    this.#times[b] = time;
    this.#runs[b] = run;
  }
}
