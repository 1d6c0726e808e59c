/** The element `<vault-card-form>`: a form that is mounted by attributes alone. */

import type { FormOptions } from '../base/options.ts';
import { type Adviser, createAdviser } from './advice.ts';
import { type AttributeState, FORM_ATTRIBUTES, optionsOf } from './attributes.ts';
import { EVENTS } from './events.ts';
import type { FormEvents, FormHandle } from './handle.ts';

/** A form in markup. Its events `vault-ready`, `vault-height`, `vault-success`, `vault-error` do not bubble. */
export interface VaultCardFormElement extends HTMLElement {
  /** Sends the form, or reports `form_invalid`. */
  submit(): void;
  /** Empties the form. */
  reset(): void;
}

/** Servers that render pages have no elements: there the script does nothing. */
const Base: typeof HTMLElement = globalThis.HTMLElement ?? class {};

const ATTRIBUTES: readonly string[] = [...FORM_ATTRIBUTES, 'secret'];

type MountForm = (container: Element, options: FormOptions) => FormHandle;

/** An element that holds the form of its attributes, and makes it again when they change. */
class CardFormElement extends Base {
  static observedAttributes = ATTRIBUTES;
  #secret: string | undefined;
  #handle: FormHandle | undefined;
  #isWaiting = false;
  readonly #mountForm: MountForm;
  readonly #adviser: Adviser = createAdviser(this, () => this.#attributes());

  constructor(mountForm: MountForm) {
    super();
    this.#mountForm = mountForm;
  }

  connectedCallback(): void {
    this.#remount();
    this.#adviser.start();
  }

  disconnectedCallback(): void {
    this.#adviser.stop();
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

  /** Attributes that are set one after another make one form. */
  #remount(): void {
    if (!this.#isWaiting) {
      this.#isWaiting = true;
      queueMicrotask(() => {
        this.#isWaiting = false;
        this.#mount();
      });
    }
  }

  #mount(): void {
    this.#destroy();
    const options = optionsOf((name) => this.getAttribute(name));
    if (!this.isConnected || !options.url || !this.#secret) {
      return;
    }
    const handle = this.#mountForm(this, { ...options, secret: this.#secret });
    for (const name of EVENTS) {
      handle.on(name, (detail) => this.dispatchEvent(new CustomEvent(`vault-${name}`, { detail })));
    }
    this.#handle = handle;
  }

  #attributes(): Omit<AttributeState, 'names'> {
    const missing = [this.getAttribute('url') ? '' : 'url', this.#secret ? '' : 'secret'].filter(Boolean);
    return { known: ATTRIBUTES, missing };
  }

  #destroy(): void {
    this.#handle?.destroy();
    this.#handle = undefined;
  }
}

/** Makes the element's class with the function that mounts its form. */
export function createElementClass(mountForm: MountForm): new () => VaultCardFormElement {
  return class VaultCardForm extends CardFormElement {
    constructor() {
      super(mountForm);
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
