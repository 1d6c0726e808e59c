/** Taking the visit out of everything in which scripts that come later could read it. */

/** Takes it out of the address bar and the history, and out of what the browser has measured of the navigation. */
export function clearAddress(): void {
  try {
    history.replaceState(null, '', location.pathname);
  } catch {
    // A page without an address of its own, such as about:srcdoc, has nothing to hide either.
  }
  hideNavigation();
}

const TIMINGS = ['PerformanceEntry', 'PerformanceResourceTiming', 'PerformanceNavigationTiming'] as const;

/**
 * The entry of the navigation keeps the whole address, and cannot be removed. Nothing here may rest on a function that
 * a later script can replace; in its sandbox the page has no other window to get the browser's own ones from.
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
