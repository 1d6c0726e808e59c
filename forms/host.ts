import { baseOfScript, type FormOptions, planForm } from './base/options.ts';
import {
  createElements,
  createReveal,
  type Elements,
  type ElementsOptions,
  type RevealOptions,
} from './elements/host.ts';
import { defineElements } from './elements/tags.ts';
import { createElementClass, type VaultCardFormElement } from './frame/element.ts';
import { type FormHandle, mountPlan } from './frame/handle.ts';

/** A value of a stored item in a page; its events are `ready` and `error`. */
export type RevealHandle = Pick<FormHandle, 'iframe' | 'on' | 'destroy'>;

/** The functions of both scripts, the module and the classic one. */
export interface VaultForms {
  /** Puts a card form into an element, or into the first that a selector finds. */
  mountCardForm(element: Element | string, options: FormOptions): FormHandle;
  /** Puts any form there: cards, bank accounts, or one that was created. */
  mountForm(element: Element | string, options: FormOptions & { readonly form: string }): FormHandle;
  /** Makes a group of single fields, one frame each, for a page with its own layout. */
  elements(options: ElementsOptions): Elements;
  /** Shows a value of a stored item, hidden until its button is pressed. */
  reveal(element: Element | string, options: RevealOptions): RevealHandle;
  /** The class of `<vault-card-form>`. */
  readonly VaultCardForm: new () => VaultCardFormElement;
  /** Defines `<vault-card-form>`, unless something has; loading the script already does it. */
  defineVaultCardForm(): void;
}

const TAG = 'vault-card-form';
/** `Node.ELEMENT_NODE`: an element of another window is an instance of no class of this one. */
const ELEMENT_NODE = 1;

function elementOf(element: Element | string): Element {
  const found = typeof element === 'string' ? document.querySelector(element) : element;
  if (found === null) {
    throw new TypeError(`The page has no element ${element}.`);
  }
  if (found?.nodeType !== ELEMENT_NODE) {
    throw new TypeError('A form is mounted into an element, or into the one that a selector finds.');
  }
  return found;
}

/** Makes the functions for a script that came from this URL, and defines the element. */
export function createVaultForms(scriptUrl: string | undefined): VaultForms {
  const base = baseOfScript(scriptUrl);
  const mountCardForm: VaultForms['mountCardForm'] = (element, options) => {
    const plan = planForm(options, base);
    return mountPlan(elementOf(element), plan);
  };
  const mountForm: VaultForms['mountForm'] = (element, options) => {
    if (!options?.form) {
      throw new TypeError('The option "form" is missing: pcd, ach or the id of a form.');
    }
    return mountCardForm(element, options);
  };
  const VaultCardForm = createElementClass(mountCardForm);
  const defineVaultCardForm = (): void => {
    if (globalThis.customElements !== undefined && customElements.get(TAG) === undefined) {
      customElements.define(TAG, VaultCardForm);
    }
  };
  defineVaultCardForm();
  const elements: VaultForms['elements'] = (options) => createElements(options, base, elementOf);
  defineElements({ elements, reveal: (options, container) => createReveal(options, base, container) });
  const reveal: VaultForms['reveal'] = (element, options) => {
    const { iframe, on, destroy } = createReveal(options, base, elementOf(element));
    return Object.freeze({ iframe, on, destroy });
  };
  return { mountCardForm, mountForm, elements, reveal, VaultCardForm, defineVaultCardForm };
}
