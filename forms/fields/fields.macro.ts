/** The part of the service's schema that browsers need, as a literal. Macros run when the script is built. */
import { FORM_FIELDS } from '../../server/form/schema.ts';

/** The names of the fields of each type of form, in their order. */
export function formFields(): typeof FORM_FIELDS {
  return FORM_FIELDS;
}
