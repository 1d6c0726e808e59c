/** What the console shows of the API's schema, as literals. Macros run when the console is built. */

import { AUDIT_ACTIONS } from '../../server/audit/schema.ts';
import { SCOPES } from '../../server/core/scopes.ts';
import { FORM_FIELDS, FORM_LOCALES } from '../../server/form/schema.ts';
import { JOB_KINDS, JOB_STATUSES } from '../../server/job/schema.ts';

/** The actions that the log of an account has, without those of the operator's log alone. */
export function accountActions() {
  return AUDIT_ACTIONS.slice(0, AUDIT_ACTIONS.indexOf('server.start'));
}

/** What credentials can be allowed. */
export function scopes(): typeof SCOPES {
  return SCOPES;
}

/** The fields of each type of form. */
export function formFields(): typeof FORM_FIELDS {
  return FORM_FIELDS;
}

/** The languages of forms. */
export function formLocales(): typeof FORM_LOCALES {
  return FORM_LOCALES;
}

/** What jobs do. */
export function jobKinds(): typeof JOB_KINDS {
  return JOB_KINDS;
}

/** How far jobs are. */
export function jobStatuses(): typeof JOB_STATUSES {
  return JOB_STATUSES;
}
