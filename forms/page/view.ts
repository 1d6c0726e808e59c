/** The states of a form: to be filled in, in flight, rejected, or done. */
import { ALERT, h, icon, RING, TICK } from '../base/dom.ts';
import type { FormField } from '../fields/field.ts';
import { createFoot, createHead, type PageContext } from './shell.ts';

/** The elements of the form, and the changes between its states. */
export interface FormView {
  readonly element: HTMLElement;
  readonly form: HTMLFormElement;
  /** While busy, nothing can be typed or sent. */
  busy(now: boolean): void;
  /** Shows an error text above the button, or none; `again` offers a retry. */
  alert(message: string | undefined, again: boolean): void;
  /** Announces a text to screen readers. */
  announce(message: string): void;
  /** Moves the focus to the next step: to "Try again", otherwise to the button. */
  focusNext(): void;
  showDone(): void;
  /** Shows an error text in place of the form. */
  showEnded(message: string): void;
  showForm(): void;
}

/** Creates the elements. */
export function createFormView(
  context: PageContext,
  fields: readonly FormField[],
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
    alert: (message, again) => alert.replaceChildren(...alertParts(message, again ? texts.again : undefined)),
    announce: (message) => {
      status.textContent = message;
    },
    focusNext: () => (alert.querySelector('button') ?? button).focus(),
    showDone: () => {
      const heading = h('h1', { class: 'vf-done', tabindex: -1 }, texts[`done_${config.form_type}`]);
      const mark = h('div', { class: 'vf-tick' }, icon(TICK));
      const said = h('p', {}, texts.done);
      body.replaceChildren(h('div', { class: 'vf-success', role: 'status' }, mark, heading, said));
      heading.focus();
    },
    showEnded: (message) =>
      body.replaceChildren(h('div', { class: 'vf-alert', role: 'alert' }, ...alertParts(message, undefined))),
    showForm: () => body.replaceChildren(form),
  };
}

/** The content of an alert: icon, text, and optionally a button that sends the surrounding form. */
export function alertParts(message: string | undefined, again: string | undefined): Element[] {
  if (message === undefined) {
    return [];
  }
  const parts = [icon(ALERT), h('p', {}, message)];
  return again === undefined ? parts : [...parts, h('button', { type: 'submit', class: 'vf-again' }, again)];
}
