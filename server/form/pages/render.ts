import type { FormBundles } from '../../../forms/build.ts';
import type { HostedForm } from '../forms.ts';
import { type FormPageParts, renderFormPage } from '../html.ts';
import { filePolicy, formHeaders } from '../policy.ts';
import type { PageVisit } from '../schema.ts';

/** What differs from visit to visit of a form. */
export interface FormVisit {
  /** Whether the request came in on the host that is for forms alone. */
  readonly onFormsHost: boolean;
  readonly testing: boolean;
  readonly title?: string | undefined;
  /** The endpoint that the page is made for, where it is made together with one. */
  readonly visit?: PageVisit | undefined;
}

/** Forms as pages. */
export interface FormPages {
  readonly render: (
    form: Pick<HostedForm, 'form_type' | 'settings'>,
    visit: FormVisit,
  ) => { readonly html: string; readonly headers: Readonly<Record<string, string>> };
  readonly bundles: FormBundles;
  /** Fresh each time and not to be guessed: what the gallery's policy knows its script and styles by. */
  readonly newNonce: () => string;
  /** Whether there are pages for trying out what forms look like. */
  readonly gallery: boolean;
}

/** What form pages are made with. */
export interface FormPagesOptions {
  readonly bundles: FormBundles;
  /** Base URLs without a slash at their ends. */
  readonly publicUrl: string;
  readonly formsUrl?: string | undefined;
  readonly stagingUrl?: string | undefined;
  readonly gallery: boolean;
  readonly newNonce: () => string;
}

const SCRIPT = 'vault-form-page.js';

/** The path of a bundle, which never changes what it holds. */
export function bundlePath({ version }: FormBundles, name: string): string {
  return `/forms/${version}/${name}`;
}

function digestOf(html: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name.toLowerCase()}: ${value}\n`);
  const hasher = new Bun.CryptoHasher('sha384');
  return `sha384-${hasher.update(`${lines.sort().join('')}\n${html}`).digest('base64')}`;
}

/**
 * Makes pages of forms. Each page comes with a digest over itself and its headers, taken without what differs from
 * visit to visit: title, and the endpoint that it was made for.
 */
export function createFormPages(options: FormPagesOptions): FormPages {
  const { bundles, publicUrl, formsUrl, stagingUrl = publicUrl, gallery, newNonce } = options;
  const integrity = bundles.files.find(({ name }) => name === SCRIPT)?.integrity;
  if (integrity === undefined) {
    throw new TypeError(`there is no ${SCRIPT} among the bundles`);
  }

  return {
    bundles,
    gallery,
    newNonce,
    render: ({ form_type, settings }, { onFormsHost, testing, title, visit }) => {
      const assets = (onFormsHost ? formsUrl : undefined) ?? publicUrl;
      const api = testing ? stagingUrl : publicUrl;
      const script = { src: `${assets}${bundlePath(bundles, SCRIPT)}`, integrity };
      const connect = [publicUrl, api];
      const files = filePolicy({ settings, script: script.src });
      const page: FormPageParts = { form_type, settings, script, files, api, testing };
      const policy = { settings, connect, script: script.src, styles: bundles.styles };
      const headers = formHeaders({ ...policy, sandboxed: !onFormsHost });
      const plain = renderFormPage(page);
      const isPlain = title === undefined && visit === undefined;
      return {
        html: isPlain ? plain : renderFormPage({ ...page, title, visit }),
        headers: { ...headers, 'X-Vault-Form-Digest': digestOf(plain, headers) },
      };
    },
  };
}
