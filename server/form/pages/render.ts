import type { FormBundles } from '../../../forms/build.ts';
import type { FormContent } from '../forms.ts';
import { type FormPage, renderFormPage } from '../html.ts';
import { filePolicy, formHeaders } from '../policy.ts';
import type { PageVisit } from '../schema.ts';

interface FormVisit {
  /** True for a request to the host that is for forms alone. */
  readonly onFormsHost?: boolean;
  readonly testing?: boolean;
  readonly title?: string | undefined;
  /** The endpoint that the page was created together with. */
  readonly visit?: PageVisit | undefined;
}

export interface FormPagesOptions {
  readonly bundles: FormBundles;
  /** Origins. */
  readonly publicUrl: string;
  readonly formsUrl?: string | undefined;
  readonly stagingUrl?: string | undefined;
  /** True if there are pages to preview forms. */
  readonly gallery: boolean;
  /** Makes a random nonce for the policy of a preview page. */
  readonly newNonce: () => string;
}

const SCRIPT = 'vault-form-page.js';

/** The path of a bundle, whose content never changes. */
export function bundlePath({ version }: FormBundles, name: string): string {
  return `/forms/${version}/${name}`;
}

function digestOf(html: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name.toLowerCase()}: ${value}\n`);
  const hasher = new Bun.CryptoHasher('sha384');
  return `sha384-${hasher.update(`${lines.sort().join('')}\n${html}`).digest('base64')}`;
}

export class FormPages {
  /** The hash of the script of the service. */
  private readonly integrity: string;

  constructor(readonly options: FormPagesOptions) {
    const integrity = options.bundles.files.find(({ name }) => name === SCRIPT)?.integrity;
    if (integrity === undefined) {
      throw new TypeError(`there is no ${SCRIPT} among the bundles`);
    }
    this.integrity = integrity;
  }

  /** Returns the HTML of a form and its headers, with a digest of both as they are without title and endpoint. */
  render(
    { form_type, settings }: FormContent,
    { onFormsHost = false, testing = false, title, visit }: FormVisit = {},
  ): { readonly html: string; readonly headers: Readonly<Record<string, string>> } {
    const { bundles, publicUrl, formsUrl, stagingUrl = publicUrl } = this.options;
    const assets = (onFormsHost ? formsUrl : undefined) ?? publicUrl;
    const api = testing ? stagingUrl : publicUrl;
    const src = `${assets}${bundlePath(bundles, SCRIPT)}`;
    const script = { src, integrity: this.integrity };
    const files = filePolicy(settings, src);
    const page: FormPage = { form_type, settings, script, files, api, testing };
    const connect = [publicUrl, api];
    const { styles } = bundles;
    const headers = formHeaders({ settings, connect, script: src, styles, sandboxed: !onFormsHost });
    const plain = renderFormPage(page);
    const isPlain = title === undefined && visit === undefined;
    return {
      html: isPlain ? plain : renderFormPage({ ...page, title, visit }),
      headers: { ...headers, 'X-Vault-Form-Digest': digestOf(plain, headers) },
    };
  }
}
