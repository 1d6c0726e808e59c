/** A form in a page: its frame, what it reports, and what it can be asked. */

import type { FormPlan } from '../base/options.ts';
import { checkEvent, createWait, EVENTS } from './events.ts';
import { frameHeight, messageFrom } from './heard.ts';
import type { FormMessage, ParentMessage } from './messages.ts';

type Reported<Type extends FormMessage['type']> = Omit<Extract<FormMessage, { type: Type }>, 'type'>;

/** What a form reports. None of it ever holds what was typed or shown. */
export interface FormEvents {
  /** The form can be used. */
  readonly ready: Reported<'vault.ready'>;
  /** The form's height in CSS pixels has changed; its frame already follows. */
  readonly height: Reported<'vault.height'>;
  /** Stored, under this token and reference. */
  readonly success: Reported<'vault.success'>;
  /** Not stored or not shown, with the status and code of the service; status 0 when there was no answer from it. */
  readonly error: Reported<'vault.error'>;
}

/** A mounted form. */
export interface FormHandle {
  /** The frame, for its size and place in the page. */
  readonly iframe: HTMLIFrameElement;
  /** Sends the form, or reports `form_invalid`. Before the form is ready, it waits for that. */
  submit(): void;
  /** Empties the form. */
  reset(): void;
  /** Takes the form out of the page. Nothing is reported from then on. */
  destroy(): void;
  /**
   * Calls the listener at every such event, until the function that is returned is called. Throws a TypeError for any
   * other name.
   */
  on<Name extends keyof FormEvents>(event: Name, listener: (detail: FormEvents[Name]) => void): () => void;
}

/** What a single field reports besides. */
export interface FieldEvents extends FormEvents {
  readonly change: Reported<'vault.change'>;
  readonly focus: Reported<'vault.focus'>;
  readonly blur: Reported<'vault.blur'>;
  readonly enter: Reported<'vault.enter'>;
}

/** A mounted frame, as the parts of this script use it. */
export interface FrameHandle extends Omit<FormHandle, 'on'> {
  ask(message: ParentMessage): void;
  /** Whether its page can be asked, or is still to come; `gone` without a window, or when it has not come in time. */
  state(): 'ready' | 'waiting' | 'gone';
  on<Name extends keyof FieldEvents>(event: Name, listener: (detail: FieldEvents[Name]) => void): () => void;
}

/** A form in a page, and what it waits for. */
interface Mounted {
  readonly iframe: HTMLIFrameElement;
  readonly plan: FormPlan;
  readonly events: EventTarget;
  readonly wait: ReturnType<typeof createWait>;
  /** What was asked for before the form was ready. */
  pending: ParentMessage | undefined;
  isReady: boolean;
  /** Whether it was not ready in time. */
  isLate: boolean;
  /** Whether the window has loaded what it was led to. */
  isLoaded: boolean;
  /** The window that was led to the form. */
  shown: Window | null;
}

/** Puts a form into the container, as its last child. */
export function mountPlan(container: Element, plan: FormPlan): FormHandle {
  const { iframe, submit, reset, destroy, on } = mountFrame(container, plan, EVENTS);
  return Object.freeze({ iframe, submit, reset, destroy, on });
}

/** Puts any page of the vault there that says what forms say, with these events. */
export function mountFrame(container: Element, plan: FormPlan, names: readonly string[]): FrameHandle {
  const view = container.ownerDocument.defaultView ?? window;
  const iframe = frameOf(container.ownerDocument, plan);
  const events = new EventTarget();
  const wait = createWait(view, () => {
    form.isLate = true;
    report(events, { type: 'vault.error', status: 0, code: 'form_unavailable' });
  });
  const form: Mounted = {
    ...{ iframe, plan, events, wait, pending: undefined },
    ...{ isReady: false, isLate: false, isLoaded: false, shown: null },
  };
  const onMessage = (event: MessageEvent): void => hear(form, event);
  const onLoad = (): void => lead(form);
  view.addEventListener('message', onMessage);
  iframe.addEventListener('load', onLoad);
  container.append(iframe);
  return {
    iframe,
    ask: (message) => ask(form, message),
    state: () => stateOf(form),
    submit: () => ask(form, { type: 'vault.submit' }),
    reset: () => ask(form, { type: 'vault.reset' }),
    destroy: () => {
      wait.end();
      view.removeEventListener('message', onMessage);
      iframe.removeEventListener('load', onLoad);
      iframe.remove();
    },
    on: (name, listener) => {
      checkEvent(name, names);
      const forward = (event: Event): void => listener((event as CustomEvent).detail);
      events.addEventListener(name, forward);
      return () => events.removeEventListener(name, forward);
    },
  };
}

function report(events: EventTarget, { type, ...detail }: FormMessage): void {
  events.dispatchEvent(new CustomEvent(type.slice('vault.'.length), { detail }));
}

function post({ iframe, plan }: Mounted, message: ParentMessage): void {
  // An opaque origin cannot be named; the message says nothing but what to do.
  iframe.contentWindow?.postMessage(message, plan.origin === 'null' ? '*' : plan.origin);
}

function stateOf({ iframe, shown, isReady, isLate }: Mounted): 'ready' | 'waiting' | 'gone' {
  const { contentWindow } = iframe;
  if (contentWindow !== null && contentWindow === shown && isReady) {
    return 'ready';
  }
  return contentWindow === null || isLate ? 'gone' : 'waiting';
}

function ask(form: Mounted, message: ParentMessage): void {
  if (stateOf(form) === 'ready') {
    post(form, message);
  } else {
    form.pending = message;
  }
}

function hear(form: Mounted, event: MessageEvent): void {
  const { iframe, plan, events } = form;
  const message = messageFrom(event, iframe.contentWindow, plan.origin);
  if (message === undefined) {
    return;
  }
  if (message.type === 'vault.ready') {
    start(form);
  } else if (message.type === 'vault.height') {
    iframe.style.height = `${frameHeight(message.height)}px`;
  }
  report(events, message);
}

function start(form: Mounted): void {
  form.isReady = true;
  form.isLate = false;
  form.wait.end();
  post(form, { type: 'vault.hello' });
  if (form.pending !== undefined) {
    post(form, form.pending);
    form.pending = undefined;
  }
}

/**
 * Leads the frame to the form. A recording of the page would contain the attribute src, and so the secret: the window is led
 * there instead. A frame gets a new window whenever it is put into the page, and then loads an empty page first. A field is
 * led there again when its window has loaded another page, or itself without its address, by whatever hand.
 */
function lead(form: Mounted): void {
  const { iframe, plan, wait } = form;
  if (iframe.contentWindow === form.shown && !(form.isLoaded && plan.isKept)) {
    form.isLoaded = true;
    return;
  }
  form.shown = iframe.contentWindow;
  form.isReady = false;
  form.isLate = false;
  form.isLoaded = false;
  // Only now: with its own origin the empty page would be one with this page, of which browsers warn.
  iframe.setAttribute('sandbox', plan.sandbox);
  form.shown?.location.replace(plan.src);
  wait.start();
}

const STYLE = { display: 'block', width: '100%', border: '0' };

/**
 * The frame's own colour scheme. Where it differs from the form's document, which has none, browsers put an opaque
 * background behind the form. `normal` lets the form ask for the user's preference, unless a page's `<meta>` changes what
 * `normal` is.
 */
function schemeIn(page: Document): string {
  return page.querySelector('meta[name="color-scheme" i]') === null ? 'normal' : 'light';
}

function frameOf(page: Document, { origin, label }: FormPlan): HTMLIFrameElement {
  const iframe = page.createElement('iframe');
  iframe.setAttribute('sandbox', '');
  iframe.allow = origin === 'null' ? 'clipboard-write' : `clipboard-write ${origin}`;
  iframe.title = label;
  // Styles set one by one pass a page's policy; a style attribute would not.
  Object.assign(iframe.style, STYLE, { colorScheme: schemeIn(page) });
  return iframe;
}
