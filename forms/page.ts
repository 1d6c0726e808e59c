/** The script of a form's page: it reads the configuration and the address, and shows a form or a stored item. */

import { readConfig } from './base/config.ts';
import { openFrame } from './frame/frame.ts';
import type { FormMessage, ParentMessage } from './frame/messages.ts';
import { pickLocale, textsOf } from './messages/messages.ts';
import { clearAddress } from './page/address.ts';
import { askOnce } from './page/admission.ts';
import { admitPage } from './page/endpoint.ts';
import { createForm, type FormContext } from './page/form.ts';
import { createOwnForm, hasOwnForm } from './page/own-form.ts';
import { createItemView } from './page/retrieve.ts';
import { BROWSER } from './page/submit.ts';
import { applyTheme } from './page/theme.ts';
import { isRetrieval, readVisit } from './page/visit.ts';
import { wipeWhenLeft } from './page/wipe.ts';

const TAG = 'vault-form';

const source = document.querySelector('#vault-form');
const config = readConfig(source?.textContent ?? '');
source?.remove();
const visit = readVisit(location.search, location.hash, config);
clearAddress();

/** The content of the page: a form or a stored item. */
interface Mounted {
  readonly element: HTMLElement;
  act(type: ParentMessage['type']): void;
  wipe(idle: boolean): void;
}

/** Creates the content that the secret allows. */
function mountPart(context: FormContext): Mounted {
  if (hasOwnForm(context)) {
    return createOwnForm(context);
  }
  if (isRetrieval(visit)) {
    const view = createItemView(context);
    view.start();
    return { element: view.element, wipe: view.wipe, act: () => undefined };
  }
  const form = createForm(context);
  const act = (type: ParentMessage['type']): void => {
    if (type === 'vault.submit') {
      form.submit();
    } else if (type === 'vault.reset') {
      form.reset();
    }
  };
  return { element: form.element, wipe: form.wipe, act };
}

/** Reports the height of the form to the parent page whenever it changes. */
function reportHeight(element: HTMLElement, send: (message: FormMessage) => void): void {
  let last = 0;
  const report = (): void => {
    const height = Math.ceil(element.getBoundingClientRect().height);
    if (height !== last) {
      last = height;
      send({ type: 'vault.height', height });
    }
  };
  new ResizeObserver(report).observe(element);
}

/** The element that holds the form; there is one in a page. */
class VaultForm extends HTMLElement {
  connectedCallback(): void {
    if (this.childElementCount > 0) {
      return;
    }
    const locale = pickLocale([visit.locale, config.settings.locale, ...navigator.languages]);
    applyTheme(this, config, locale);
    let mounted: Mounted | undefined;
    const frame = openFrame(
      { own: window, ancestors: location.ancestorOrigins, allowed: config.settings.frame_ancestors },
      ({ type }) => mounted?.act(type),
    );
    document.documentElement.toggleAttribute('data-framed', frame.framed);
    document.title = visit.title ?? document.title;
    const page = { config, visit, texts: textsOf(locale, frame.framed), ...BROWSER };
    mounted = mountPart({
      ...page,
      send: frame.send,
      isFramed: frame.framed,
      admit: askOnce(() => admitPage(page, frame)),
      now: () => new Date(),
    });
    this.replaceChildren(mounted.element);
    const { element, wipe } = mounted;
    wipeWhenLeft((idle) => {
      wipe(idle);
      // Removed and added again: otherwise an undo would restore what was typed.
      this.replaceChildren(element);
    });
    reportHeight(this, frame.send);
    frame.send({ type: 'vault.ready' });
  }
}

/** Runs after the owner's scripts; the address was cleared before the first of them. */
function start(): void {
  customElements.define(TAG, VaultForm);
  (document.querySelector('#vault-form-root') ?? document.body).append(document.createElement(TAG));
}

if (document.readyState === 'loading') {
  document.addEventListener('DOMContentLoaded', start);
} else {
  start();
}
