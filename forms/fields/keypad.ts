/** The keypad on the screen. Its digits have a new random order each time, so the positions of presses reveal nothing. */

import { BACK, h, icon } from '../base/dom.ts';
import type { Texts } from '../messages/en.ts';
import { fillText } from '../messages/messages.ts';
import { afterPress } from './after-press.ts';
import { digitsOf } from './digits.ts';
import type { FormField } from './field.ts';
import { shuffle } from './random.ts';

const DIGITS = [...'0123456789'];

/** The keypad of a form; it opens below the field that has the focus. */
export interface Keypad {
  close(): void;
}

/** Replaces the keyboard for these fields: they become read-only, and open the keypad when they get the focus. */
export function createKeypad(fields: readonly FormField[], texts: Texts): Keypad {
  // One keypad at a time.
  let open: { readonly field: FormField; readonly element: HTMLElement } | undefined;
  const close = (): void => {
    open?.element.remove();
    open?.field.element.classList.remove('vf-keyed');
    open = undefined;
  };
  const show = (field: FormField): void => {
    if (open?.field === field) {
      return;
    }
    close();
    const element = build(field, texts, close);
    element.addEventListener('focusout', () => leave(field));
    open = { field, element };
    field.element.classList.add('vf-keyed');
    field.element.after(element);
  };
  /**
   * Closes the keypad when the focus is neither in the field nor in the keypad, but not when it is in another window.
   */
  const leave = (field: FormField): void =>
    afterPress(() => {
      const focused = document.activeElement;
      const parts = [field.element, open?.element];
      if (open?.field === field && document.hasFocus() && !parts.some((part) => part?.contains(focused))) {
        close();
        field.leave();
      }
    });
  for (const field of fields) {
    for (const input of field.inputs) {
      input.readOnly = true;
      input.inputMode = 'none';
      input.autocomplete = 'off';
      input.addEventListener('focus', () => show(field));
      input.addEventListener('click', () => show(field));
      input.addEventListener('blur', () => leave(field));
      input.addEventListener('keydown', ({ key }) => {
        if (key === 'Escape') {
          close();
        } else if (key === 'ArrowDown' || key.length === 1) {
          show(field);
        }
      });
    }
  }
  return { close };
}

/** True for an element of a keypad: a focus in it has not left the field. */
export function isInKeypad(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('.vf-keypad') !== null;
}

/** The elements of a keypad, in a new order. */
function build(field: FormField, texts: Texts, close: () => void): HTMLElement {
  const status = h('p', { class: 'vf-hidden', role: 'status' });
  // The announced number of digits, not the digits, is for screen readers.
  const press = (text: (value: string) => string, kind: string): void => {
    field.put(text(field.inputs[0]?.value ?? ''), kind);
    status.textContent = fillText(texts.entered, { n: digitsOf(field.value()).length });
  };
  const key = (name: string, act: () => void, ...children: (Node | string)[]): HTMLButtonElement => {
    const button = h('button', { type: 'button', class: `vf-key ${name}` }, ...children);
    button.addEventListener('click', act);
    return button;
  };
  const digits = shuffle(DIGITS).map((digit) =>
    key('', () => press((value) => value + digit, 'insertText'), digit),
  );
  const remove = key(
    'vf-key-delete',
    () => press((value) => value.slice(0, -1), 'deleteContentBackward'),
    icon(BACK),
  );
  remove.setAttribute('aria-label', texts.delete);
  const done = key(
    'vf-key-done',
    () => {
      field.check();
      field.inputs[0]?.focus();
      close();
    },
    texts.close,
  );
  const label = fillText(texts.keypad, { field: field.plan.label });
  const element = h(
    'div',
    { class: 'vf-keypad', role: 'group', 'aria-label': label },
    h('p', { class: 'vf-keypad-hint' }, texts.shuffled),
    h('div', { class: 'vf-keys' }, ...digits, remove, done),
    status,
  );
  // A press does not move the focus, so the field stays marked as the active one.
  element.addEventListener('pointerdown', (event) => event.preventDefault());
  element.addEventListener('mousedown', (event) => event.preventDefault());
  element.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      field.inputs[0]?.focus();
      close();
    }
  });
  return element;
}
