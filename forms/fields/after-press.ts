/**
 * Delays changes until a press has ended. A press removes the focus from a field when it starts. If the page changed its
 * height then, the button would move away from the pointer, and the press would not become a click.
 */
// Whether a pointer is down, anywhere in the page.
let pressed = false;

function watchPresses(): void {
  addEventListener(
    'pointerdown',
    () => {
      pressed = true;
    },
    true,
  );
  for (const end of ['pointerup', 'pointercancel'] as const) {
    addEventListener(
      end,
      () => {
        pressed = false;
      },
      true,
    );
  }
}

watchPresses();

/** Calls `act` when no pointer is down and the click of the press, if any, has been handled. */
export function afterPress(act: () => void): void {
  if (pressed) {
    addEventListener('pointerup', () => setTimeout(act), { once: true, capture: true });
  } else {
    setTimeout(act);
  }
}
