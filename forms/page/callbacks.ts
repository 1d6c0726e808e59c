/** The owner's own functions, which the service has written into the page as `window.vaultCallbacks`. */

declare global {
  interface Window {
    vaultCallbacks?: unknown;
  }
}

/** Calls one of them, if it exists. Its errors are reported to the console and have no other effect. */
export function callBack(name: 'success' | 'error', value: unknown): void {
  const callbacks = window.vaultCallbacks;
  const callback: unknown =
    typeof callbacks === 'object' && callbacks !== null && name in callbacks
      ? (callbacks as Readonly<Record<string, unknown>>)[name]
      : undefined;
  try {
    if (typeof callback === 'function') {
      callback(value);
    }
  } catch (error) {
    reportError(error);
  }
}
