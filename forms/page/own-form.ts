/** A custom form that the owner's own script draws, as `window.custom_form(element, options)`. */
import { h } from '../base/dom.ts';
import type { ParentMessage } from '../frame/messages.ts';
import { callBack } from './callbacks.ts';
import { readItem, storeBody } from './endpoint.ts';
import { type FormContext, report, successMessage } from './form.ts';
import { createHead } from './shell.ts';
import { type CallFailure, createAttemptKeys, type Outcome } from './submit.ts';
import type { Visit } from './visit.ts';

declare global {
  interface Window {
    custom_form?: unknown;
  }
}

/** What the owner's function gets: who visits, and the two ways to the endpoint. */
interface OwnFormOptions extends Omit<Visit, 'extra'> {
  readonly extra_data: Visit['extra'];
  /**
   * Stores an object, with `extra_data` beside its members. The callbacks and the page around get the outcome, as of the built-in
   * forms. Rejects with `{ status, code, error }`.
   */
  readonly submit: (data: object) => Promise<unknown>;
  /** Reads the item, all numbers as texts. Rejects as `submit`. */
  readonly read: () => Promise<unknown>;
}

/** The owner's form as the page uses it. */
export interface OwnForm {
  readonly element: HTMLElement;
  /** Tells the owner's script that the page around wants the form sent or cleared. */
  act(type: ParentMessage['type']): void;
  wipe(): void;
}

/** Whether the owner's scripts draw the form. */
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

/** Empties what was typed, also where the owner's script does not. */
function clear(element: HTMLElement): void {
  for (const input of element.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea')) {
    input.value = '';
  }
}

/** Has the owner's function draw the form. What it throws is reported, and the page around is told. */
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
