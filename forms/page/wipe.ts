/** Forgetting what was typed or shown: when the page goes away, and when nobody has touched it for ten minutes. */

const IDLE_MS = 600_000;
const SIGNS_OF_LIFE = ['input', 'keydown', 'pointerdown'] as const;

/** Calls `wipe` at each such moment; `idle` tells which of them it was. */
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
