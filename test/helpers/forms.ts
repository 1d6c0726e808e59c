import type { FormBundle, FormBundles } from '../../forms/build.ts';

function bundle(name: string, text: string): FormBundle {
  const bytes = new TextEncoder().encode(text);
  const integrity = `sha384-${new Bun.CryptoHasher('sha384').update(bytes).digest('base64')}`;
  return { name, text, bytes, integrity };
}

/** Scripts in place of those of the build, for tests that are not about what they do. */
export const SMALL_BUNDLES: FormBundles = {
  version: '0.0.0-12345678',
  styles: "'sha256-styles'",
  files: [
    bundle('vault-forms.js', `export const mountForm = () => undefined; // ${'x'.repeat(2_000)}\n`),
    bundle('vault-forms.global.js', 'var VaultForms = {};\n'),
    bundle('vault-form-page.js', "document.getElementById('vault-form-root').textContent = 'ä form';\n"),
    bundle('vault-element.js', 'document.body.append("ä field");\n'),
  ],
};
