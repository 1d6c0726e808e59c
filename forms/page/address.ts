/** Removes the secrets of a visit from everything that later scripts could read. */

/** Removes the visit from the address bar, the history, and the browser's navigation timing. */
export function clearAddress(): void {
  try {
    history.replaceState(null, '', location.pathname);
  } catch {
    // A page without an address, such as about:srcdoc, has nothing to remove.
  }
  hideNavigation();
}

/** Classes whose `toJSON` would return the original address. */
const TIMINGS = ['PerformanceEntry', 'PerformanceResourceTiming', 'PerformanceNavigationTiming'] as const;

/**
 * The navigation entry contains the whole address and cannot be removed, so its `name` is replaced. This must not
 * depend on a function that a later script can replace; in its sandbox the page cannot get the original ones from
 * another window.
 */
function hideNavigation(): void {
  const [entry] = performance.getEntriesByType('navigation');
  const getName = Object.getOwnPropertyDescriptor(PerformanceEntry.prototype, 'name')?.get;
  if (entry === undefined || getName === undefined) {
    return;
  }
  const { apply } = Reflect;
  const whole = entry.name;
  const bare = location.href;
  Object.defineProperty(PerformanceEntry.prototype, 'name', {
    get(): unknown {
      const name: unknown = apply(getName, this, []);
      return name === whole ? bare : name;
    },
  });
  for (const timing of TIMINGS) {
    Reflect.deleteProperty(window[timing].prototype, 'toJSON');
  }
}
