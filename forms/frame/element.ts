/** The element `<vault-card-form>`: a form that is mounted by attributes alone. */

import type { FormOptions } from '../base/options.ts';
import { ATTRIBUTES, adviceFor, optionsOf } from './attributes.ts';
import { EVENTS } from './events.ts';
import type { FormEvents, FormHandle } from './handle.ts';

/** A form in markup. Its events `vault-ready`, `vault-height`, `vault-success`, `vault-error` do not bubble. */
export interface VaultCardFormElement extends HTMLElement {
  /** Sends the form, or reports `form_invalid`. */
  submit(): void;
  /** Empties the form. */
  reset(): void;
}

/** How long the attributes may be set one after another before advice about missing ones. */
const ADVICE_MS = 1000;

/** On a server, where pages are rendered, there is no HTMLElement: the script can be imported there and does nothing. */
const Base: typeof HTMLElement = globalThis.HTMLElement ?? class {};

/** Advice about missing attributes, or undefined. */
function adviceOf(element: Element, secret: string | undefined): string | undefined {
  const missing = [element.getAttribute('url') ? '' : 'url', secret ? '' : 'secret'].filter(Boolean);
  return adviceFor(element.getAttributeNames(), missing);
}

/** Dispatches the events of a form on the element. */
function forwardEvents(handle: FormHandle, element: Element): void {
  for (const name of EVENTS) {
    handle.on(name, (detail) => element.dispatchEvent(new CustomEvent(`vault-${name}`, { detail })));
  }
}

/** Runs a callback in a microtask, once for all calls before it. */
function inMicrotask(run: () => void): () => void {
  let isPending = false;
  return () => {
    if (!isPending) {
      isPending = true;
      queueMicrotask(() => {
        isPending = false;
        run();
      });
    }
  };
}

/** Creates the class of the element; `mount` puts a form into it. */
export function createElementClass(
  mount: (container: Element, options: FormOptions) => FormHandle,
): new () => VaultCardFormElement {
  return class VaultCardForm extends Base {
    static observedAttributes = [...ATTRIBUTES, 'secret'];
    #secret: string | undefined;
    #handle: FormHandle | undefined;
    /** Several attributes that are set together lead to one form. */
    #remount = inMicrotask(() => this.#mount());
    #isAdvised = false;

    connectedCallback(): void {
      this.#remount();
      setTimeout(() => this.#advise(), ADVICE_MS);
    }

    disconnectedCallback(): void {
      this.#destroy();
    }

    attributeChangedCallback(name: string, before: string | null, now: string | null): void {
      if (name !== 'secret') {
        if (before !== now) {
          this.#remount();
        }
      } else if (now !== null) {
        this.removeAttribute(name);
        if (now !== this.#secret) {
          this.#secret = now;
          this.#remount();
        }
      }
    }

    submit(): void {
      this.#handle?.submit();
    }

    reset(): void {
      this.#handle?.reset();
    }

    #mount(): void {
      this.#destroy();
      const options = optionsOf((name) => this.getAttribute(name));
      if (!this.isConnected || !options.url || !this.#secret) {
        return;
      }
      this.#handle = mount(this, { ...options, secret: this.#secret });
      forwardEvents(this.#handle, this);
    }

    #advise(): void {
      const advice = adviceOf(this, this.#secret);
      if (this.isConnected && !this.#isAdvised && advice !== undefined) {
        this.#isAdvised = true;
        console.warn(advice);
      }
    }

    #destroy(): void {
      this.#handle?.destroy();
      this.#handle = undefined;
    }
  };
}

declare global {
  interface HTMLElementTagNameMap {
    'vault-card-form': VaultCardFormElement;
  }
  interface HTMLElementEventMap {
    'vault-ready': CustomEvent<FormEvents['ready']>;
    'vault-height': CustomEvent<FormEvents['height']>;
    'vault-success': CustomEvent<FormEvents['success']>;
    'vault-error': CustomEvent<FormEvents['error']>;
  }
}
