/** A bounded memory of what is costly to find out again. When it is full the oldest entry goes. */
export interface Memory<V> {
  /** The value, unless it is too old. */
  readonly get: (name: string) => V | undefined;
  /** Keeps a value, for as long as the memory does or for `keepMs`. */
  readonly set: (name: string, value: V, keepMs?: number) => void;
  /** Whether there was something to forget. */
  readonly delete: (name: string) => boolean;
  /** Forgets what is too old now, and does not wait until it is asked for. */
  readonly sweep: () => void;
}

/** Makes a memory of at most `entriesMax` entries, each kept for `keptMs` from when it was set, on the clock `now`. */
export function createMemory<V>(entriesMax: number, keptMs: number, now: () => number): Memory<V> {
  const entries = new Map<string, { readonly value: V; readonly until: number }>();
  return {
    get(name) {
      const found = entries.get(name);
      if (found && found.until > now()) {
        return found.value;
      }
      entries.delete(name);
      return undefined;
    },
    set(name, value, keepMs = keptMs) {
      entries.delete(name);
      const oldest = entries.size >= entriesMax ? entries.keys().next().value : undefined;
      if (oldest !== undefined) {
        entries.delete(oldest);
      }
      entries.set(name, { value, until: now() + keepMs });
    },
    delete: (name) => entries.delete(name),
    sweep() {
      for (const [name, { until }] of entries) {
        if (until <= now()) {
          entries.delete(name);
        }
      }
    },
  };
}
