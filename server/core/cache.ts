/** A bounded memory of values that are expensive to read or compute. When it is full the oldest entry is dropped. */
export class Memory<V> {
  private readonly entries = new Map<string, { readonly value: V; until: number }>();

  constructor(
    private readonly entriesMax: number,
    /** The lifetime of an entry from when it was set or renewed. */
    private readonly keptMs: number,
    private readonly now: () => number,
  ) {}

  /** Returns the value, unless it is too old. */
  get(name: string): V | undefined {
    const found = this.entries.get(name);
    if (found && found.until > this.now()) {
      return found.value;
    }
    this.entries.delete(name);
    return undefined;
  }

  /** Keeps a value, for `keptMs` or for another time. */
  set(name: string, value: V, keepMs = this.keptMs): void {
    this.entries.delete(name);
    const oldest = this.entries.size >= this.entriesMax ? this.entries.keys().next().value : undefined;
    if (oldest !== undefined) {
      this.entries.delete(oldest);
    }
    this.entries.set(name, { value, until: this.now() + keepMs });
  }

  /** Keeps a value that is not too old for `keptMs` from now. */
  renew(name: string): void {
    const found = this.entries.get(name);
    const now = this.now();
    if (found && found.until > now) {
      found.until = now + this.keptMs;
    }
  }

  /** Drops a value; returns false if there was none. */
  delete(name: string): boolean {
    return this.entries.delete(name);
  }

  /** Drops the entries that are too old now. */
  sweep(): void {
    for (const [name, { until }] of this.entries) {
      if (until <= this.now()) {
        this.entries.delete(name);
      }
    }
  }
}
