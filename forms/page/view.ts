/** What a form looks like at each moment: to be filled in, being sent, refused, or done. */
import { ALERT, h, icon, RING, TICK } from '../base/dom.ts';
import type { Field } from '../fields/field.ts';
import { createFoot, createHead, type PageContext } from './shell.ts';

/** The form's elements, and the ways in which they change. */
export interface FormView {
  readonly element: HTMLElement;
  readonly form: HTMLFormElement;
  /** Busy or not: while busy nothing can be typed or sent. */
  busy(now: boolean): void;
  /** Shows a sentence above the button, or none; `again` offers to send the same once more. */
  alert(sentence: string | undefined, again: boolean): void;
  /** Tells readers of screens something that others see anyway. */
  announce(sentence: string): void;
  /** Puts the focus where the next step is: on "Try again", else on the button. */
  focusNext(): void;
  showDone(): void;
  showForm(): void;
}

/** Makes the elements. */
export function createFormView(
  context: PageContext,
  fields: readonly Field[],
  art: HTMLElement | undefined,
): FormView {
  const { config, texts } = context;
  const alert = h('div', { class: 'vf-alert', role: 'alert' });
  const status = h('p', { class: 'vf-hidden', role: 'status' });
  const label = h('span');
  const button = h('button', { class: 'vf-button', type: 'submit' }, icon(RING), label);
  const grid = h('div', { class: 'vf-fields' }, ...fields.map(({ element }) => element));
  const form = h('form', { class: 'vf-form', novalidate: true }, art, grid, alert, button, status);
  const body = h('div', { class: 'vf-body' }, form);
  const busy = (now: boolean): void => {
    button.disabled = now;
    grid.inert = now;
    button.setAttribute('aria-busy', String(now));
    label.textContent = now ? texts.sending : texts[`save_${config.form_type}`];
    status.textContent = now ? texts.sending : '';
  };
  busy(false);
  return {
    element: h('div', { class: 'vf-panel' }, createHead(context), body, createFoot(context)),
    form,
    busy,
    alert: (sentence, again) =>
      alert.replaceChildren(...alertParts(sentence, again ? texts.again : undefined)),
    announce: (sentence) => {
      status.textContent = sentence;
    },
    focusNext: () => (alert.querySelector('button') ?? button).focus(),
    showDone: () => {
      const heading = h('h1', { class: 'vf-done', tabindex: -1 }, texts[`done_${config.form_type}`]);
      const mark = h('div', { class: 'vf-tick' }, icon(TICK));
      const said = h('p', {}, texts.done);
      body.replaceChildren(h('div', { class: 'vf-success', role: 'status' }, mark, heading, said));
      heading.focus();
    },
    showForm: () => body.replaceChildren(form),
  };
}

/** The inside of an alert: sign, sentence, and a button that sends the form it is in. */
export function alertParts(sentence: string | undefined, again: string | undefined): Element[] {
  if (sentence === undefined) {
    return [];
  }
  const parts = [icon(ALERT), h('p', {}, sentence)];
  return again === undefined ? parts : [...parts, h('button', { type: 'submit', class: 'vf-again' }, again)];
}
