/**
 * Waiting until a press is over. A press takes the focus from a field as it begins; if the page changed its height
 * just then, the button under the pointer would move away and the press would never become a click.
 */
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

/** Calls `act` once no pointer is down and the click, if the press makes one, has been handled. */
export function afterPress(act: () => void): void {
  if (pressed) {
    addEventListener('pointerup', () => setTimeout(act), { once: true, capture: true });
  } else {
    setTimeout(act);
  }
}
