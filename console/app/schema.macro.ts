/** Lists of the API's schema, as literals. Macros run when the console is built. */

import { COLORS } from '../../forms/base/color.ts';
import { pageStyles } from '../../forms/styles/styles.macro.ts';
import { AUDIT_ACTIONS } from '../../server/audit/schema.ts';
import { EVENT_TYPES, EVENT_WILDCARDS } from '../../server/core/event-types.ts';
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
/** The colours of a form without a theme, read from its styles: those of light ones come first. */
export function formColours() {
  const styles = pageStyles();
  const found = Object.entries(COLORS).map(([name, property]) => {
    const [light = '', dark = light] = [
      ...styles.matchAll(new RegExp(`${property}:(#[0-9a-f]{6})`, 'g')),
    ].map(([, value = '']) => value);
    return [name, light, dark] as const;
  });
  type Colours = Readonly<Record<keyof typeof COLORS, string>>;
  return {
    light: Object.fromEntries(found.map(([name, light]) => [name, light])) as Colours, // One for each name.
    dark: Object.fromEntries(found.map(([name, , dark]) => [name, dark])) as Colours,
  };
}
/** What subscriptions name, each noun's own after all of it. */
export const eventTypes = () =>
  EVENT_WILDCARDS.flatMap((all) => [all, ...EVENT_TYPES.filter((type) => type.startsWith(all.slice(0, -1)))]);
export const jobKinds = () => JOB_KINDS;
export const jobStatuses = () => JOB_STATUSES;
