/** Discards typed and shown values: when the page is left, and after ten minutes without any input. */

const IDLE_MS = 600_000;
/** Events that restart the ten minutes. */
const SIGNS_OF_LIFE = ['input', 'keydown', 'pointerdown'] as const;

/** Calls `wipe` in both cases; `idle` is true after ten minutes. */
export function wipeWhenLeft(wipe: (idle: boolean) => void): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => wipe(true), IDLE_MS);
  };
  for (const sign of SIGNS_OF_LIFE) {
    addEventListener(sign, wait, { capture: true, passive: true });
  }
  wait();
  addEventListener('pagehide', () => wipe(false));
}
