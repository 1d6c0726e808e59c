/** Lists of the API's schema, as literals. Macros run when the console is built. */

import { AUDIT_ACTIONS } from '../../server/audit/schema.ts';
import { SCOPES } from '../../server/core/scopes.ts';
import { PROXY_METHODS } from '../../server/core/third-party.ts';
import { FORM_FIELDS, FORM_LOCALES } from '../../server/form/schema.ts';
import { JOB_KINDS, JOB_STATUSES } from '../../server/job/schema.ts';

/** Actions of the log of an account, without those of the operator's log alone. */
export const accountActions = () => AUDIT_ACTIONS.slice(0, AUDIT_ACTIONS.indexOf('server.start'));
export const proxyMethods = () => PROXY_METHODS;
export const scopes = () => SCOPES;
export const formFields = () => FORM_FIELDS;
export const formLocales = () => FORM_LOCALES;
export const jobKinds = () => JOB_KINDS;
export const jobStatuses = () => JOB_STATUSES;
