/** What browsers need of the service's schema, as a literal: macros run while the script is built. */
import { FORM_FIELDS } from '../../server/http/schema/form.ts';

/** The names of the fields of each type of form, in their order. */
export function formFields(): typeof FORM_FIELDS {
  return FORM_FIELDS;
}
