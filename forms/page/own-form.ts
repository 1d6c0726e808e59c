/** A custom form that the owner's own script draws, as `window.custom_form(element, options)`. */
import type { PageSettings } from '../../server/form/schema.ts';
import { h } from '../base/dom.ts';
import type { ParentMessage } from '../frame/messages.ts';
import { readItem, storeBody } from './endpoint.ts';
import { callBack, type FormContext, report, successMessage } from './form.ts';
import { createHead } from './shell.ts';
import { type CallFailure, createAttemptKeys, type Outcome } from './submit.ts';
import { isRetrieval, type Visit } from './visit.ts';

declare global {
  interface Window {
    custom_form?: unknown;
  }
}

/** Settings of the form that its script applies. */
type OwnFormSettings = Pick<
  PageSettings,
  'force_keypad' | 'hide_card' | 'disable_luhn' | 'strip_spaces' | 'field_options'
>;

/** Options of the owner's function: the visit, the form's settings, and the two calls of the endpoint. */
interface OwnFormOptions extends Omit<Visit, 'extra'>, OwnFormSettings {
  /** The URL and the secret of the endpoint, for scripts that send by themselves; not of a visit that shows an item. */
  readonly submit_url?: string;
  readonly submit_secret?: string;
  /** True if the form uses the staging environment. */
  readonly testing: boolean;
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
  const { api, testing, settings } = context.config;
  const { force_keypad, hide_card, disable_luhn, strip_spaces, field_options } = settings;
  const { unique_id, secret } = visit;
  const attempts = createAttemptKeys();
  return {
    ...visit,
    ...(unique_id && secret && !isRetrieval(context.visit)
      ? { submit_url: `${api}/v1/capture/${unique_id}`, submit_secret: secret }
      : {}),
    ...{ testing, force_keypad, hide_card, disable_luhn, strip_spaces, field_options },
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
