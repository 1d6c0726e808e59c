/** Hosted forms: pages of the service that store typed values through an endpoint, or show an item of one. */

import type { CallOptions } from '../transport/call.ts';
import { get, readJson, readOne, remove, sendJson } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type { CreateForm, DeleteForm, Form, Message, ReadForm, ReplaceForm } from '../transport/types.ts';

/**
 * Hosted forms. Every form serves capture and retrieval endpoints alike.
 * @see /guide/forms
 */
export interface FormCalls {
  /**
   * Creates a form; all settings are optional, and code and images in them are base64. `invalid_request` names the
   * place of the first error in `field`, such as `body.css_links[0]`. Throws `form_exists` if the id is in use, by any
   * account; so would a retry after a lost reply, and the call is retried only if the service has rejected the request
   * without any effect.
   * @see /guide/forms
   * @throws `form_exists`, `forms_full`
   * @example
   * const { url } = await client.forms.create({ form_type: 'pcd', form_id: 'checkout', hide_card: true });
   */
  readonly create: (form?: CreateForm, options?: CallOptions) => Promise<Form>;
  /**
   * One form with its settings. Throws `form_not_found`, also for a form of another account.
   * @see /guide/forms
   * @throws `form_not_found`
   * @example
   * const { url, theme } = await client.forms.get({ form_id: 'checkout' });
   */
  readonly get: (form: ReadForm, options?: CallOptions) => Promise<Form>;
  /**
   * All forms of the account, by id.
   * @see /guide/forms
   * @example
   * const ids = (await client.forms.list()).map(({ id }) => id);
   */
  readonly list: (options?: CallOptions) => Promise<Form[]>;
  /**
   * Replaces all settings of a form: those that are left out go back to their defaults. Its type, id and URL stay.
   * Throws `form_not_found`.
   * @see /guide/forms
   * @throws `form_not_found`
   * @example
   * await client.forms.replace({ form_id: 'checkout', hide_card: true, locale: 'fr' });
   */
  readonly replace: (form: ReplaceForm, options?: CallOptions) => Promise<Form>;
  /**
   * Deletes a form, at once. Throws `form_not_found`, also when an earlier attempt, whose reply was lost, had
   * succeeded.
   * @see /guide/forms
   * @throws `form_not_found`
   * @example
   * await client.forms.delete({ form_id: 'checkout' });
   */
  readonly delete: (form: DeleteForm, options?: CallOptions) => Promise<Message>;
}

const path = ['retrieve', 'iframe'] as const;

/** The calls of hosted forms. */
export function createFormCalls(transport: Transport): FormCalls {
  return {
    create: ({ form_type, form_id, ...settings } = {}, options) =>
      readJson(transport, {
        method: 'POST',
        path,
        repeat: 'when_rejected',
        query: { form_type, form_id },
        body: JSON.stringify(settings),
        options,
      }),
    get: ({ form_id }, options) => readOne(transport, path, { form_id }, options),
    list: (options) => get(transport, path, {}, options),
    replace: ({ form_id, ...settings }, options) =>
      sendJson(transport, 'PUT', [...path, form_id], 'always', settings, options),
    delete: ({ form_id }, options) => remove(transport, [...path, form_id], {}, options),
  };
}
