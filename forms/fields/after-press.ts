/**
 * Delays changes until a press has ended. A press removes the focus from a field when it starts. If the page changed its
 * height then, the button would move away from the pointer, and the press would not become a click.
 */
let pressed = false;
for (const type of ['pointerdown', 'pointerup', 'pointercancel']) {
  const follow = (): void => {
    pressed = type === 'pointerdown';
  };
  addEventListener(type, follow, true);
}

/** Calls `act` when no pointer is down and the click of the press, if any, has been handled. */
export function afterPress(act: () => void): void {
  if (pressed) {
    addEventListener('pointerup', () => setTimeout(act), { once: true, capture: true });
  } else {
    setTimeout(act);
  }
}
