/** The form: it checks the typed values, sends them once, and shows the result. */

import { members } from '../base/config.ts';
import { createAch } from '../card/ach.ts';
import { createAdditional } from '../card/additional.ts';
import { createCard } from '../card/card.ts';
import type { CardPart } from '../card/faces.ts';
import type { FormPart, FormPartContext } from '../card/parts.ts';
import { afterPress } from '../fields/after-press.ts';
import type { FormField } from '../fields/field.ts';
import { createKeypad, isInKeypad } from '../fields/keypad.ts';
import type { FormMessage } from '../frame/messages.ts';
import type { Texts } from '../messages/en.ts';
import { fillText } from '../messages/messages.ts';
import { type Admission, ORIGIN_NOT_ALLOWED } from './admission.ts';
import { addressOf, storeBody } from './endpoint.ts';
import { failureText, mayPass } from './failure-text.ts';
import { createNetworkLookup } from './networks.ts';
import type { PageContext } from './shell.ts';
import { bodyOf, type CallDeps, type CallFailure, createAttemptKeys, type Outcome } from './submit.ts';
import { createFormView, type FormView } from './view.ts';

declare global {
  interface Window {
    /** The owner's functions, which the service writes into the page. */
    vaultCallbacks?: unknown;
  }
}

/** Calls a function of the form's owner, if it exists. Its errors are reported to the console and have no other effect. */
export function callBack(name: 'success' | 'error', value: unknown): void {
  const callbacks = window.vaultCallbacks;
  const callback: unknown =
    typeof callbacks === 'object' && callbacks !== null && name in callbacks
      ? (callbacks as Readonly<Record<string, unknown>>)[name]
      : undefined;
  try {
    if (typeof callback === 'function') {
      callback(value);
    }
  } catch (error) {
    reportError(error);
  }
}

export interface FormContext extends PageContext, CallDeps, Admission {
  readonly now: () => Date;
  readonly send: (message: FormMessage) => void;
}

/** The form as the page uses it. */
export interface CaptureForm {
  readonly element: HTMLElement;
  /** Sends the form for the parent page, which also receives validation errors. */
  submit(): void;
  /** Clears the form and shows it again, also after a success. */
  reset(): void;
  /** Clears the form for safety; `idle` shows why. */
  wipe(idle: boolean): void;
}

/** All fields, with operations on all of them. */
interface Fields {
  readonly list: readonly FormField[];
  readonly art: HTMLElement | undefined;
  posted(): Record<string, string>;
  clear(): void;
}

/** A custom form has only additional fields. */
const NOTHING: FormPart = { fields: [], posted: () => ({}) };
const MAKE = { pcd: createCard, ach: createAch, custom: () => NOTHING };

function createFields(context: FormPartContext): Fields {
  const { settings, form_type } = context.config;
  const own = MAKE[form_type](context);
  const added = createAdditional(context);
  const list = [...own.fields, ...added.fields];
  for (const field of list) {
    watchField(field, own);
  }
  const digits = list.filter(({ plan }) => plan.digits);
  const keypad = settings.force_keypad ? createKeypad(digits, context.texts) : undefined;
  return {
    list,
    art: own.art?.element,
    posted: () => ({ ...own.posted(), ...added.posted() }),
    clear: () => {
      keypad?.close();
      for (const field of list) {
        field.clear();
        field.showError(undefined);
      }
    },
  };
}

/** Checks a field when the focus leaves it, except for its own keypad and before anything was typed. */
function watchField(field: FormField, { art }: FormPart): void {
  field.element.addEventListener('focusin', () => art?.focus(field.plan.name as CardPart));
  field.element.addEventListener('focusout', ({ relatedTarget }) => {
    const within = relatedTarget instanceof Node && field.element.contains(relatedTarget);
    if (within || isInKeypad(relatedTarget)) {
      return;
    }
    art?.focus(undefined);
    afterPress(() => {
      if (!field.element.contains(document.activeElement)) {
        field.leave();
      }
    });
  });
}

type Stored = Extract<FormMessage, { type: 'vault.success' }>;

/** The members of the reply that the parent page may receive. */
export function successMessage(reply: unknown): Stored {
  const { token, reference, user } = members(reply);
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return { type: 'vault.success', token: text(token), reference: text(reference), user: text(user) };
}

/** True for a form that shows an error because it has no endpoint: neither a preview nor embedded. */
function isStray(context: FormContext): boolean {
  const { display_mode } = context.config.settings;
  return (
    addressOf(context) === undefined && display_mode === 'standalone' && context.visit.preview === undefined
  );
}

/** Checks every field, and moves the focus to the first invalid one. */
function checkAll({ list }: Fields, view: FormView, texts: Texts): boolean {
  const wrong = list.filter((field) => !field.check());
  const labels = wrong.map(({ plan }) => plan.label).join(', ');
  view.announce(wrong.length === 0 ? '' : fillText(texts.check, { list: labels }));
  wrong[0]?.focus();
  return wrong.length === 0;
}

/** Reports an error to the owner's function and to the page around. */
export function report({ status, code, error }: CallFailure, { send }: FormContext): void {
  callBack('error', { status, code, error });
  send({ type: 'vault.error', status, code });
}

/** Errors that no later attempt can change. */
const ENDED = ['endpoint_gone', 'endpoint_refused', 'endpoint_used_up', ORIGIN_NOT_ALLOWED];

/**
 * Checks the endpoint, so that no card is typed into a form that cannot store it. A final error is shown in place of the
 * form, and a missing reply in the form, unless the form is being sent. The returned function gives the final error.
 */
function watchEnd(
  context: FormContext,
  view: FormView,
  clear: () => void,
  isSending: () => boolean,
): () => CallFailure | undefined {
  let ended: CallFailure | undefined;
  const end = (outcome: Outcome): void => {
    if (!('failure' in outcome) || isSending()) {
      return;
    }
    const { failure } = outcome;
    const text = context.texts[failureText(failure)];
    if (ENDED.includes(failure.code)) {
      clear();
      ended = failure;
      view.showEnded(text);
      report(failure, context);
    } else if (failure.code === 'network') {
      view.alert(text, false);
      report(failure, context);
    }
  };
  void context.admit().then(end);
  return () => ended;
}

/** Shows an error in the page, and reports it to the owner's function and the page around. */
function showFailure(failure: CallFailure, context: FormContext, fields: Fields, view: FormView): void {
  const { field } = failure;
  const { texts } = context;
  view.alert(texts[failureText(failure)], mayPass(failure));
  const named = fields.list.find(({ plan }) => field === `body.${plan.name}`);
  named?.showError(texts.refused);
  (named?.focus ?? view.focusNext)();
  report(failure, context);
}

/** Navigates a form without a page around to its owner's page, with token and reference. */
function goOn({ config, isFramed }: FormContext, { token, reference }: Stored): void {
  const { success_url: next } = config.settings;
  if (next !== '' && !isFramed) {
    const url = new URL(next);
    url.searchParams.set('token', token);
    url.searchParams.set('reference', reference);
    location.assign(url);
  }
}

/** Shows and reports that the item is stored. */
function showStored(reply: unknown, context: FormContext, view: FormView): void {
  view.showDone();
  callBack('success', reply);
  const message = successMessage(reply);
  context.send(message);
  goOn(context, message);
}

/** Creates the form. */
export function createForm(context: FormContext): CaptureForm {
  const { texts } = context;
  const fields = createFields({
    ...context,
    announce: (message) => view.announce(message),
    lookUp: (offer) => {
      const to = context.visit.networks === 'true' ? addressOf(context) : undefined;
      return createNetworkLookup(to, context, offer);
    },
  });
  const view: FormView = createFormView(context, fields.list, fields.art);
  const attempts = createAttemptKeys();
  // One request at a time: a second click does nothing.
  let sending = false;
  const clear = (): void => {
    attempts.forget();
    fields.clear();
  };
  const settle = (outcome: Outcome): void => {
    sending = false;
    view.busy(false);
    if ('failure' in outcome) {
      showFailure(outcome.failure, context, fields, view);
      return;
    }
    clear();
    showStored(outcome.reply, context, view);
  };
  const endedBy = watchEnd(context, view, clear, () => sending);
  const submit = (asked: boolean): void => {
    const ended = endedBy();
    if (asked && ended !== undefined) {
      report(ended, context);
    }
    if (sending || !view.form.isConnected) {
      return;
    }
    view.alert(undefined, false);
    if (!checkAll(fields, view, texts)) {
      if (asked) {
        context.send({ type: 'vault.error', status: 0, code: 'form_invalid' });
      }
      return;
    }
    sending = true;
    view.busy(true);
    void storeBody(context, bodyOf(context.visit.extra, fields.posted()), attempts).then(settle);
  };
  view.form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit(false);
  });
  if (isStray(context)) {
    view.alert(texts.e_unconnected, false);
  }
  return {
    element: view.element,
    submit: () => submit(true),
    reset: () => {
      if (!sending && endedBy() === undefined) {
        clear();
        view.alert(undefined, false);
        view.announce('');
        view.showForm();
      }
    },
    wipe: (idle) => {
      const typed = fields.list.some((field) => field.value() !== '');
      clear();
      view.alert(idle && typed ? texts.idle : undefined, false);
    },
  };
}
