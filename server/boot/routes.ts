import { Type } from '@sinclair/typebox';
import { CREDENTIAL_ROUTES } from '../account/credential/routes.ts';
import { ADMIN_ROUTES } from '../account/routes.ts';
import { AUDIT_ROUTES } from '../audit/routes.ts';
import { CERTIFICATE_ROUTES } from '../certificate/routes.ts';
import { CONNECTION_ROUTES } from '../connection/routes.ts';
import { CAPTURE_ROUTES, RETRIEVE_ROUTES } from '../endpoint/routes.ts';
import { CaptureWebhook } from '../endpoint/schema.ts';
import { EXPORT_ROUTES } from '../export/routes.ts';
import { FORM_ROUTES } from '../form/routes.ts';
import type { Api } from '../http/openapi/document.ts';
import type { Route, RouteShape } from '../http/route.ts';
import { JOB_ROUTES } from '../job/routes.ts';
import { KEY_ROUTES } from '../key/routes.ts';
import { PROXY_ROUTES } from '../proxy/routes.ts';
import { FailureWebhook, GetWebhook, NetworkTokenWebhook, PostWebhook } from '../proxy/webhook-schema.ts';
import { RELAY_ROUTES } from '../relay/routes.ts';
import { RULE_ROUTES } from '../rule/routes.ts';
import { UTILITY_ROUTES } from '../utility/routes.ts';
import { BATCH_ROUTES } from '../vault/batch/routes.ts';
import { VAULT_ROUTES } from '../vault/routes.ts';
import { Tree } from '../vault/schema.ts';

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
  ...RULE_ROUTES,
  ...PROXY_ROUTES,
  ...RELAY_ROUTES,
  ...JOB_ROUTES,
  ...CONNECTION_ROUTES,
  ...CERTIFICATE_ROUTES,
  ...ADMIN_ROUTES,
  ...CREDENTIAL_ROUTES,
  ...AUDIT_ROUTES,
];

/** Webhooks. The metadata of an order is added to the members of its body. */
export const WEBHOOKS = {
  proxyPost: {
    summary: 'Result of a request that was filled with stored data',
    body: Type.Union([PostWebhook, FailureWebhook]),
  },
  proxyGet: {
    summary: 'Result of a request that fetched data to store',
    body: Type.Union([GetWebhook, FailureWebhook]),
  },
  networkToken: {
    summary: 'Result of a request for a network token',
    body: Type.Union([NetworkTokenWebhook, FailureWebhook]),
  },
  capture: { summary: 'Something was sent to a capture endpoint', body: CaptureWebhook },
};

/** The interface as it is published. */
export const API: Api = { routes: ROUTES, webhooks: WEBHOOKS, schemas: [Tree] };

/**
 * Whether a route is on the public listener, where there is another one: what is used without an account. The other
 * listener has every route.
 */
export function isPublic({ auth }: Pick<RouteShape, 'auth'>): boolean {
  return auth !== 'basic';
}
