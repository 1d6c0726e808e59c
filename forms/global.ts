/** The classic script, `vault-forms.global.js`: the same as the module, as the global `VaultForms`. */
import { createVaultForms } from './host.ts';

// Only available while the script itself runs.
const { currentScript } = document;

Object.assign(globalThis, {
  VaultForms: Object.freeze(
    createVaultForms(currentScript instanceof HTMLScriptElement ? currentScript.src : undefined),
  ),
});
