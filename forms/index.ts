/** The module script, `vault-forms.js`: hosted forms for the pages of others. */
import { createVaultForms, type VaultForms } from './host.ts';

export type { FormOptions } from './base/options.ts';
export type {
  ElementHandle,
  Elements,
  ElementsEvents,
  ElementsFailure,
  ElementsOptions,
  ElementsReply,
  FieldChange,
  FieldOptions,
  RevealOptions,
} from './elements/host.ts';
export type { VaultFieldElement } from './elements/tags.ts';
export type { VaultCardFormElement } from './frame/element.ts';
export type { FormEvents, FormHandle } from './frame/handle.ts';
export type { RevealHandle, VaultForms } from './host.ts';

const forms = createVaultForms(import.meta.url);

/**
 * Puts a card form into an element, or into the first that a selector finds, and returns a handle to it. Throws a
 * TypeError that says which option is wrong.
 *
 * @example
 * const form = mountCardForm('#card', { url, secret, reference: 'order-1001' });
 * form.on('success', ({ token, reference }) => console.log(reference, token));
 */
export const mountCardForm: VaultForms['mountCardForm'] = forms.mountCardForm;

/**
 * The same for any form: cards (`pcd`), bank accounts (`ach`), or one that was created, by its id.
 *
 * @example
 * const form = mountForm('#account', { form: 'ach', url, secret });
 * form.on('error', ({ status, code }) => console.log(status, code));
 */
export const mountForm: VaultForms['mountForm'] = forms.mountForm;

/**
 * Makes a group of single fields for a page with its own layout and button. Values go from frame to frame in the vault's
 * origin: the page never sees a digit.
 *
 * @example
 * const card = elements({ url, secret, reference: 'order-1001' });
 * card.mount('#number', 'card-number');
 * card.mount('#expiry', 'card-expiry');
 * card.mount('#cvc', 'card-cvc');
 * button.onclick = async () => console.log((await card.submit()).token);
 */
export const elements: VaultForms['elements'] = forms.elements;

/**
 * Shows one value of a stored item in an element, hidden until its button is pressed. The page never has it.
 *
 * @example
 * reveal('#number', { url, secret, token, reference: 'order-1001' });
 */
export const reveal: VaultForms['reveal'] = forms.reveal;

/** The class of `<vault-card-form>`, for a page that makes its elements in code. */
export const VaultCardForm: VaultForms['VaultCardForm'] = forms.VaultCardForm;

/** Defines `<vault-card-form>`, unless something has. Loading the module already does it. */
export const defineVaultCardForm: VaultForms['defineVaultCardForm'] = forms.defineVaultCardForm;
