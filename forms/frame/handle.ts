import { advise } from '../base/advise.ts';
import type { FormPlan } from '../base/options.ts';
import { checkEvent, createWait, EVENTS } from './events.ts';
import { frameHeight, messageFrom } from './heard.ts';
import type { FormMessage, ParentMessage } from './messages.ts';

type Reported<Type extends FormMessage['type']> = Omit<Extract<FormMessage, { type: Type }>, 'type'>;

/** Reports of a form. None contains a typed or shown value. */
export interface FormEvents {
  /** The form can be used. */
  readonly ready: Reported<'vault.ready'>;
  /** The form's height in CSS pixels has changed; its frame already follows. */
  readonly height: Reported<'vault.height'>;
  /** Stored, under this token and reference. */
  readonly success: Reported<'vault.success'>;
  /** Not stored or not shown, with the status and code of the service; status 0 without a reply. */
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

/** Reports of a single field. */
export interface FieldEvents extends FormEvents {
  readonly change: Reported<'vault.change'>;
  readonly focus: Reported<'vault.focus'>;
  readonly blur: Reported<'vault.blur'>;
  readonly enter: Reported<'vault.enter'>;
}

/** A mounted frame, as the parts of this script use it. */
export interface FrameHandle extends Omit<FormHandle, 'on'> {
  ask(message: ParentMessage): void;
  /** The state of the frame's page; `gone` without a window, or if the page was not ready in time. */
  state(): 'ready' | 'waiting' | 'gone';
  on<Name extends keyof FieldEvents>(event: Name, listener: (detail: FieldEvents[Name]) => void): () => void;
}

/** The state of a frame. */
interface Mounted {
  readonly iframe: HTMLIFrameElement;
  readonly plan: FormPlan;
  readonly events: EventTarget;
  readonly wait: ReturnType<typeof createWait>;
  /** The last message before the form was ready. */
  pending: ParentMessage | undefined;
  isReady: boolean;
  /** True after the time in which it had to be ready. */
  isLate: boolean;
  /** True once the window has loaded the page. */
  isLoaded: boolean;
  /** The window that was navigated to the form. */
  shown: Window | null;
}

/** Puts a form into the container, as its last child. */
export function mountPlan(container: Element, plan: FormPlan): FormHandle {
  const { iframe, submit, reset, destroy, on } = mountFrame(container, plan, EVENTS);
  return Object.freeze({ iframe, submit, reset, destroy, on });
}

/** Puts a page of the vault into the container, with these events. */
export function mountFrame(container: Element, plan: FormPlan, names: readonly string[]): FrameHandle {
  const view = container.ownerDocument.defaultView ?? window;
  const iframe = frameOf(container.ownerDocument, plan);
  const events = new EventTarget();
  const wait = createWait(view, () => {
    form.isLate = true;
    advise(
      `No form came from ${new URL(plan.src).origin}: it must be the VAULT_PUBLIC_URL of the vault, in frame-src of this page's policy.`,
    );
    report(events, { type: 'vault.error', status: 0, code: 'form_unavailable' });
  });
  const form: Mounted = {
    ...{ iframe, plan, events, wait, pending: undefined },
    ...{ isReady: false, isLate: false, isLoaded: false, shown: null },
  };
  const onMessage = (event: MessageEvent): void => hear(form, event);
  const onLoad = (): void => navigate(form);
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
  // An opaque origin cannot be named; the message contains no data.
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
  } else if (message.type === 'vault.error' && !form.isReady) {
    // The page could not load its script, and will not be ready.
    form.wait.end();
    form.isLate = true;
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
 * Navigates the frame to the form. A recording of the page would contain the attribute `src`, and so the secret, so the
 * window is navigated instead. A frame gets a new window whenever it is inserted into the page, and then loads an empty
 * page first. A field is navigated again after its window has loaded another page, or itself without its address.
 */
function navigate(form: Mounted): void {
  const { iframe, plan, wait } = form;
  if (iframe.contentWindow === form.shown && !(form.isLoaded && plan.isKept)) {
    form.isLoaded = true;
    return;
  }
  form.shown = iframe.contentWindow;
  form.isReady = false;
  form.isLate = false;
  form.isLoaded = false;
  // Only now: browsers warn of an empty page that shares the origin of this page.
  iframe.setAttribute('sandbox', plan.sandbox);
  form.shown?.location.replace(plan.src);
  wait.start();
}

const STYLE = { display: 'block', width: '100%', border: '0' };

/**
 * The frame's colour scheme. If it differs from that of the form's document, which has none, browsers give the frame an
 * opaque background. `normal` lets the form use the user's preference, unless a `<meta>` of the page changes `normal`.
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
