/** The keypad on the screen: digits in a new random order each time, so that nothing is learnt from where one presses. */

import { BACK, h, icon } from '../base/dom.ts';
import { fill, type Texts } from '../messages/messages.ts';
import { afterPress } from './after-press.ts';
import { onlyDigits } from './digits.ts';
import type { Field } from './field.ts';
import { shuffle } from './random.ts';

const DIGITS = [...'0123456789'];

/** The form's one keypad, which opens under the field that has the focus. */
export interface Keypad {
  close(): void;
}

/** Takes the fields over: they no longer take the keyboard, and open the keypad when they get the focus. */
export function createKeypad(fields: readonly Field[], texts: Texts): Keypad {
  let open: { readonly field: Field; readonly element: HTMLElement } | undefined;
  const close = (): void => {
    open?.element.remove();
    open?.field.element.classList.remove('vf-keyed');
    open = undefined;
  };
  const show = (field: Field): void => {
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
  /** Closes the keypad once the focus is neither in the field nor in the keypad; another window is no reason. */
  const leave = (field: Field): void =>
    afterPress(() => {
      const focused = document.activeElement;
      const parts = [field.element, open?.element];
      if (open?.field === field && document.hasFocus() && !parts.some((part) => part?.contains(focused))) {
        close();
        if (field.value() !== '') {
          field.check();
        }
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

/** Whether the focus goes to the keypad, which is still the field for whoever fills it in. */
export function isInKeypad(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('.vf-keypad') !== null;
}

function build(field: Field, texts: Texts, close: () => void): HTMLElement {
  const status = h('p', { class: 'vf-hidden', role: 'status' });
  const press = (text: (value: string) => string, kind: string): void => {
    field.put(text(field.inputs[0]?.value ?? ''), kind);
    status.textContent = fill(texts.entered, { n: onlyDigits(field.value()).length });
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
      field.inputs[0]?.focus();
      field.check();
      close();
    },
    texts.close,
  );
  const label = fill(texts.keypad, { field: field.plan.label });
  const element = h(
    'div',
    { class: 'vf-keypad', role: 'group', 'aria-label': label },
    h('p', { class: 'vf-keypad-hint' }, texts.shuffled),
    h('div', { class: 'vf-keys' }, ...digits, remove, done),
    status,
  );
  // A press leaves the focus in the field, so that it still looks and reads as the one that is filled in.
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
