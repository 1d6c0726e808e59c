/** A form in a page: its frame, what it reports, and what it can be told. */

import type { FormPlan } from '../base/options.ts';
import { checkEvent, createWait } from './events.ts';
import { frameHeight, messageFrom } from './heard.ts';
import type { FrameMessage, ParentMessage } from './messages.ts';

type Told<Type extends FrameMessage['type']> = Omit<Extract<FrameMessage, { type: Type }>, 'type'>;

/** What a form reports. None of it ever holds what was typed or shown. */
export interface FormEvents {
  /** The form can be used. */
  readonly ready: Told<'vault.ready'>;
  /** The form's height in CSS pixels has changed; its frame already follows. */
  readonly height: Told<'vault.height'>;
  /** Stored, under this token and reference. */
  readonly success: Told<'vault.success'>;
  /** Not stored or not shown, with the status and code of the service; status 0 when there was no answer from it. */
  readonly error: Told<'vault.error'>;
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

/** Puts the form into the container, as its last child. */
export function mountPlan(container: Element, plan: FormPlan): FormHandle {
  const view = container.ownerDocument.defaultView ?? window;
  const iframe = frameOf(container.ownerDocument, plan);
  const events = new EventTarget();
  let pending: ParentMessage | undefined;
  let isReady = false;
  let shown: Window | null = null;

  const report = ({ type, ...detail }: FrameMessage): boolean =>
    events.dispatchEvent(new CustomEvent(type.slice('vault.'.length), { detail }));
  const wait = createWait(view, () => report({ type: 'vault.error', status: 0, code: 'form_unavailable' }));
  const tell = (message: ParentMessage): void =>
    // An opaque origin cannot be named; what is told says nothing but what to do.
    iframe.contentWindow?.postMessage(message, plan.origin === 'null' ? '*' : plan.origin);
  const ask = (message: ParentMessage): void => {
    if (isReady) {
      tell(message);
    } else {
      pending = message;
    }
  };
  const begin = (): void => {
    isReady = true;
    wait.end();
    tell({ type: 'vault.hello' });
    if (pending !== undefined) {
      tell(pending);
      pending = undefined;
    }
  };
  const hear = (event: MessageEvent): void => {
    const message = messageFrom(event, iframe.contentWindow, plan.origin);
    if (message === undefined) {
      return;
    }
    if (message.type === 'vault.ready') {
      begin();
    } else if (message.type === 'vault.height') {
      iframe.style.height = `${frameHeight(message.height)}px`;
    }
    report(message);
  };
  // Whoever records the page would record the attribute src, and so the secret: the frame is led there instead. A
  // frame gets a new window whenever it is put into the page, and then loads an empty page first.
  const lead = (): void => {
    if (iframe.contentWindow !== shown) {
      shown = iframe.contentWindow;
      isReady = false;
      // Only now: with its own origin the empty page would be one with this page, of which browsers warn.
      iframe.setAttribute('sandbox', plan.sandbox);
      shown?.location.replace(plan.src);
      wait.begin();
    }
  };

  view.addEventListener('message', hear);
  iframe.addEventListener('load', lead);
  container.append(iframe);

  return Object.freeze({
    iframe,
    submit: () => ask({ type: 'vault.submit' }),
    reset: () => ask({ type: 'vault.reset' }),
    destroy: () => {
      wait.end();
      view.removeEventListener('message', hear);
      iframe.removeEventListener('load', lead);
      iframe.remove();
    },
    on: (event, listener) => {
      checkEvent(event);
      const forward = (told: Event): void => listener((told as CustomEvent).detail);
      events.addEventListener(event, forward);
      return () => events.removeEventListener(event, forward);
    },
  } satisfies FormHandle);
}

/** Between two schemes browsers put a background. The form has none, so the frame must not take the page's either. */
const STYLE = { display: 'block', width: '100%', border: '0', colorScheme: 'normal' };

function frameOf(page: Document, { origin, label }: FormPlan): HTMLIFrameElement {
  const iframe = page.createElement('iframe');
  iframe.setAttribute('sandbox', '');
  iframe.allow = origin === 'null' ? 'clipboard-write' : `clipboard-write ${origin}`;
  iframe.title = label;
  // Styles set one by one pass a page's policy; a style attribute would not.
  Object.assign(iframe.style, STYLE);
  return iframe;
}
