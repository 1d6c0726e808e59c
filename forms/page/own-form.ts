/** A custom form that the owner's own script draws, as `window.custom_form(element, options)`. */
import { h } from '../base/dom.ts';
import type { ParentMessage } from '../frame/messages.ts';
import { readItem, storeBody } from './endpoint.ts';
import { callBack, type FormContext, report, successMessage } from './form.ts';
import { createHead } from './shell.ts';
import { type CallFailure, createAttemptKeys, type Outcome } from './submit.ts';
import type { Visit } from './visit.ts';

declare global {
  interface Window {
    custom_form?: unknown;
  }
}

/** Options of the owner's function: the visit, and the two calls of the endpoint. */
interface OwnFormOptions extends Omit<Visit, 'extra'> {
  readonly extra_data: Visit['extra'];
  /**
   * Stores an object together with `extra_data`. The callbacks and the page around get the outcome, as with built-in forms.
   * Rejects with `{ status, code, error }`.
   */
  readonly submit: (data: object) => Promise<unknown>;
  /** Reads the item, all numbers as texts. Rejects as `submit`. */
  readonly read: () => Promise<unknown>;
}

/** The owner's form as the page uses it. */
export interface OwnForm {
  readonly element: HTMLElement;
  /** Notifies the owner's script that the form is to be sent or cleared. */
  act(type: ParentMessage['type']): void;
  wipe(): void;
}

/** True if the owner's scripts draw the form. */
export function hasOwnForm({ config }: FormContext): boolean {
  return config.form_type === 'custom' && typeof window.custom_form === 'function';
}

function settle(context: FormContext, outcome: Outcome, message: (reply: unknown) => void): unknown {
  if ('failure' in outcome) {
    const { status, code, error } = outcome.failure;
    report(outcome.failure, context);
    throw { status, code, error } satisfies CallFailure;
  }
  message(outcome.reply);
  return outcome.reply;
}

function optionsOf(context: FormContext): OwnFormOptions {
  const { extra: extra_data, ...visit } = context.visit;
  const attempts = createAttemptKeys();
  return {
    ...visit,
    extra_data,
    submit: async (data) => {
      const outcome = await storeBody(context, JSON.stringify({ ...extra_data, ...data }), attempts);
      return settle(context, outcome, (reply) => {
        callBack('success', reply);
        context.send(successMessage(reply));
      });
    },
    read: async () => settle(context, await readItem(context), () => undefined),
  };
}

/** Clears all inputs, even if the owner's script does not. */
function clear(element: HTMLElement): void {
  for (const input of element.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea')) {
    input.value = '';
  }
}

/** Draws the form with the owner's function. An error of it is reported, also to the page around. */
export function createOwnForm(context: FormContext): OwnForm {
  const body = h('div', { class: 'vf-body' });
  const act: OwnForm['act'] = (type) => {
    body.dispatchEvent(new CustomEvent(type.replace('.', '-')));
  };
  try {
    (window.custom_form as (element: HTMLElement, options: OwnFormOptions) => void)(body, optionsOf(context));
  } catch (error) {
    reportError(error);
    context.send({ type: 'vault.error', status: 0, code: 'custom_form_failed' });
  }
  return {
    element: h('div', { class: 'vf-panel' }, createHead(context), body),
    act,
    wipe: () => {
      act('vault.reset');
      clear(body);
    },
  };
}
