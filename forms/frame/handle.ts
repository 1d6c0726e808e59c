/** A form in a page: its frame, its events, and its methods. */

import type { FormPlan } from '../base/options.ts';
import { checkEvent, createWait } from './events.ts';
import { frameHeight, messageFrom } from './heard.ts';
import type { FrameMessage, ParentMessage } from './messages.ts';

type Detail<Type extends FrameMessage['type']> = Omit<Extract<FrameMessage, { type: Type }>, 'type'>;

/** The events of a form. None of them contains entered or displayed data. */
export interface FormEvents {
  /** The form is ready for use. */
  readonly ready: Detail<'vault.ready'>;
  /** The height of the form in CSS pixels has changed; its frame is already adapted. */
  readonly height: Detail<'vault.height'>;
  /** The data was stored under this token and reference. */
  readonly success: Detail<'vault.success'>;
  /** The data was not stored or not displayed: status and code of the service; status 0 without a reply from it. */
  readonly error: Detail<'vault.error'>;
}

/** A mounted form. */
export interface FormHandle {
  /** The frame, for its size and position in the page. */
  readonly iframe: HTMLIFrameElement;
  /** Sends the form, or reports `form_invalid`; waits until the form is ready. */
  submit(): void;
  /** Empties the form. */
  reset(): void;
  /** Removes the form from the page. No more events follow. */
  destroy(): void;
  /** Calls the listener for every such event; call the returned function to stop. Throws a TypeError for another name. */
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
  const send = (message: ParentMessage): void =>
    // An opaque origin cannot be named; the messages contain only commands.
    iframe.contentWindow?.postMessage(message, plan.origin === 'null' ? '*' : plan.origin);
  const ask = (message: ParentMessage): void => {
    if (isReady) {
      send(message);
    } else {
      pending = message;
    }
  };
  const start = (): void => {
    isReady = true;
    wait.end();
    send({ type: 'vault.hello' });
    if (pending !== undefined) {
      send(pending);
      pending = undefined;
    }
  };
  const receive = (event: MessageEvent): void => {
    const message = messageFrom(event, iframe.contentWindow, plan.origin);
    if (message === undefined) {
      return;
    }
    if (message.type === 'vault.ready') {
      start();
    } else if (message.type === 'vault.height') {
      iframe.style.height = `${frameHeight(message.height)}px`;
    }
    report(message);
  };
  const navigate = (): void => {
    if (iframe.contentWindow !== shown) {
      shown = iframe.contentWindow;
      isReady = false;
      openForm(iframe, plan);
      wait.begin();
    }
  };

  view.addEventListener('message', receive);
  iframe.addEventListener('load', navigate);
  container.append(iframe);

  return Object.freeze({
    iframe,
    submit: () => ask({ type: 'vault.submit' }),
    reset: () => ask({ type: 'vault.reset' }),
    destroy: () => {
      wait.end();
      view.removeEventListener('message', receive);
      iframe.removeEventListener('load', navigate);
      iframe.remove();
    },
    on: (event, listener) => listen(events, event, listener),
  } satisfies FormHandle);
}

function listen<Name extends keyof FormEvents>(
  events: EventTarget,
  event: Name,
  listener: (detail: FormEvents[Name]) => void,
): () => void {
  checkEvent(event);
  const forward = (reported: Event): void => listener((reported as CustomEvent).detail);
  events.addEventListener(event, forward);
  return () => events.removeEventListener(event, forward);
}

/**
 * Navigates the frame to the form. Its address is not set as the attribute `src`, because it contains the secret, which a
 * recording of the page would include. A frame has a new window with an empty page whenever it is put into the page.
 */
function openForm(iframe: HTMLIFrameElement, { sandbox, src }: FormPlan): void {
  // Not earlier: browsers warn if the empty page, which has this page's origin, gets its own origin by the sandbox.
  iframe.setAttribute('sandbox', sandbox);
  iframe.contentWindow?.location.replace(src);
}

/** If the color schemes differ, browsers add a background. The form has none, so the frame must not inherit the page's scheme. */
const STYLE = { display: 'block', width: '100%', border: '0', colorScheme: 'normal' };

function frameOf(page: Document, { origin, label }: FormPlan): HTMLIFrameElement {
  const iframe = page.createElement('iframe');
  iframe.setAttribute('sandbox', '');
  iframe.allow = origin === 'null' ? 'clipboard-write' : `clipboard-write ${origin}`;
  iframe.title = label;
  // A page's policy allows styles that are set one by one, but not a style attribute.
  Object.assign(iframe.style, STYLE);
  return iframe;
}
