import type { Route, RouteShape } from '../plugins/route.ts';
import { ADMIN_ROUTES } from './admin.ts';
import { AUDIT_ROUTES } from './audit.ts';
import { BATCH_ROUTES } from './batch.ts';
import { CAPTURE_ROUTES } from './capture.ts';
import { CERT_ROUTES } from './cert.ts';
import { CONNECTION_ROUTES } from './connection.ts';
import { CREDENTIAL_ROUTES } from './credential.ts';
import { EXPORT_ROUTES } from './export.ts';
import { FORM_ROUTES } from './form.ts';
import { JOB_ROUTES } from './job.ts';
import { KEY_ROUTES } from './key.ts';
import { PROXY_ROUTES } from './proxy.ts';
import { RECOVERY_ROUTES } from './recovery.ts';
import { RELAY_ROUTES } from './relay.ts';
import { RETRIEVE_ROUTES } from './retrieve.ts';
import { RULE_ROUTES } from './rule.ts';
import { UTILITY_ROUTES } from './utility.ts';
import { VAULT_ROUTES } from './vault.ts';

/** Every route under `/v1`: what is mounted, published and tested. */
export const ROUTES: readonly Route[] = [
  ...UTILITY_ROUTES,
  ...VAULT_ROUTES,
  ...BATCH_ROUTES,
  ...EXPORT_ROUTES,
  ...CAPTURE_ROUTES,
  ...RETRIEVE_ROUTES,
  ...FORM_ROUTES,
  ...KEY_ROUTES,
  ...RECOVERY_ROUTES,
  ...RULE_ROUTES,
  ...PROXY_ROUTES,
  ...RELAY_ROUTES,
  ...JOB_ROUTES,
  ...CONNECTION_ROUTES,
  ...CERT_ROUTES,
  ...ADMIN_ROUTES,
  ...CREDENTIAL_ROUTES,
  ...AUDIT_ROUTES,
];

/**
 * Whether a route is on the public listener, where there is another one: what is used without an account. The other
 * listener has every route.
 */
export function isPublic({ auth }: Pick<RouteShape, 'auth'>): boolean {
  return auth !== 'basic';
}
