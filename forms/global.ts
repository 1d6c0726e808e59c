/** The classic script, `vault-forms.global.js`: the same as the module, as the global `VaultForms`. */
import { createForms } from './frame/host.ts';

// Only available while the script itself runs.
const { currentScript } = document;

Object.assign(globalThis, {
  VaultForms: Object.freeze(
    createForms(currentScript instanceof HTMLScriptElement ? currentScript.src : undefined),
  ),
});
