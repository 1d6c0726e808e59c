import type { FormBundles } from '../../forms/build.ts';
import type { FormSettings, FormTypeName, PageVisit, ShownFormSettings } from '../http/schema/form.ts';
import type { Caller } from './common.ts';

/** Types only, a part of deps.ts: hosted forms, and the pages that they are served as. */

export type { FormBundle, FormBundles } from '../../forms/build.ts';

/** A form, as its owner has set it up. */
export interface HostedForm {
  readonly id: string;
  readonly form_type: FormTypeName;
  readonly settings: ShownFormSettings;
}

export interface FormService {
  readonly create: (
    caller: Caller,
    input: {
      readonly form_id?: string | undefined;
      readonly form_type: FormTypeName;
      readonly settings: FormSettings;
    },
  ) => Promise<HostedForm>;
  readonly read: (caller: Caller, id: string) => Promise<HostedForm>;
  /** All forms of the account as JSON text, each as `show` presents it. */
  readonly list: (caller: Caller, show: (form: HostedForm) => object) => Promise<ReadableStream<Uint8Array>>;
  readonly remove: (caller: Caller, id: string) => Promise<void>;
  /** A form of anybody, or one of the built-in ones, for whoever asks. */
  readonly open: (id: string) => Promise<HostedForm>;
}

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
