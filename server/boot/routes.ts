import { Type } from '@sinclair/typebox';
import type { Accounts } from '../account/accounts.ts';
import type { Credentials } from '../account/credential/credentials.ts';
import { CREDENTIAL_ROUTES } from '../account/credential/routes.ts';
import type { OidcSignIns } from '../account/oidc/oidc-sign-ins.ts';
import { OIDC_ROUTES } from '../account/oidc/routes.ts';
import type { Passkeys } from '../account/passkey/passkeys.ts';
import type { Passphrases } from '../account/passkey/passphrases.ts';
import { PASSKEY_ROUTES } from '../account/passkey/routes.ts';
import type { Persons } from '../account/person/persons.ts';
import { PERSON_ROUTES } from '../account/person/routes.ts';
import type { Platform } from '../account/platform.ts';
import { PLATFORM_ROUTES } from '../account/platform-routes.ts';
import type { AccountPreferences } from '../account/preferences.ts';
import { ACCOUNT_ROUTES } from '../account/routes.ts';
import { SESSION_ROUTES } from '../account/session/routes.ts';
import type { Sessions } from '../account/session/sessions.ts';
import type { Audit } from '../audit/audit.ts';
import type { AuditListing } from '../audit/listing.ts';
import { AUDIT_ROUTES } from '../audit/routes.ts';
import type { Certificates } from '../certificate/certificates.ts';
import { CERTIFICATE_ROUTES } from '../certificate/routes.ts';
import type { Compliance } from '../compliance/compliance.ts';
import { COMPLIANCE_ROUTES } from '../compliance/routes.ts';
import type { Connections } from '../connection/connections.ts';
import { CONNECTION_ROUTES } from '../connection/routes.ts';
import type { Captures } from '../endpoint/captures.ts';
import type { Endpoints } from '../endpoint/endpoints.ts';
import type { Retrievals } from '../endpoint/retrievals.ts';
import { CAPTURE_ROUTES, RETRIEVE_ROUTES } from '../endpoint/routes.ts';
import { CaptureWebhook } from '../endpoint/schema.ts';
import type { SealingKeys } from '../endpoint/sealing-keys.ts';
import { EVENT_ROUTES } from '../event/routes.ts';
import { EventWebhook } from '../event/schema.ts';
import type { Subscriptions } from '../event/subscriptions.ts';
import type { ExpiringThings } from '../expiring/expiring.ts';
import { EXPIRING_ROUTES } from '../expiring/routes.ts';
import type { Exports } from '../export/exports.ts';
import { EXPORT_ROUTES } from '../export/routes.ts';
import type { HostedForms } from '../form/forms.ts';
import type { FormPages } from '../form/pages/render.ts';
import { FORM_ROUTES } from '../form/routes.ts';
import type { HttpConfig } from '../http/deps.ts';
import type { Api } from '../http/openapi/document.ts';
import type { Route, RouteShape } from '../http/route.ts';
import type { Inbounds } from '../inbound/inbounds.ts';
import { INBOUND_ROUTES } from '../inbound/routes.ts';
import type { InboundUses } from '../inbound/uses.ts';
import type { JobListing } from '../job/listing.ts';
import { JOB_ROUTES } from '../job/routes.ts';
import type { Keys } from '../key/keys.ts';
import type { Recoveries } from '../key/recoveries.ts';
import { KEY_ROUTES } from '../key/routes.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { ProxyService } from '../proxy/proxy.ts';
import { PROXY_ROUTES } from '../proxy/routes.ts';
import { FailureWebhook, GetWebhook, NetworkTokenWebhook, PostWebhook } from '../proxy/webhook-schema.ts';
import type { Relay } from '../relay/relay.ts';
import { RELAY_ROUTES } from '../relay/routes.ts';
import { RULE_ROUTES } from '../rule/routes.ts';
import type { Rules } from '../rule/rules.ts';
import { USAGE_ROUTES } from '../usage/routes.ts';
import type { UsageReports } from '../usage/usage.ts';
import { UTILITY_ROUTES } from '../utility/routes.ts';
import type { Utility } from '../utility/utility.ts';
import type { AccessListing } from '../vault/access.ts';
import type { Batches } from '../vault/batch/batches.ts';
import { BATCH_ROUTES } from '../vault/batch/routes.ts';
import type { StoreBatches } from '../vault/batch/store-batch.ts';
import type { VaultTrees } from '../vault/list/list.ts';
import type { ItemRemover } from '../vault/remover.ts';
import { RESEAL_ROUTES } from '../vault/reseal-routes.ts';
import type { Reseals } from '../vault/reseals.ts';
import { VAULT_ROUTES } from '../vault/routes.ts';
import { Tree } from '../vault/schema.ts';
import type { Vault } from '../vault/vault.ts';

/** Services of all routes. */
export interface RouteServices {
  readonly audit: Audit;
  readonly http: HttpConfig;
  readonly vault: Vault;
  readonly accessListing: AccessListing;
  readonly trees: VaultTrees;
  readonly storeBatches: StoreBatches;
  readonly batches: Batches;
  readonly exports: Exports;
  readonly remover: ItemRemover;
  readonly keys: Keys;
  readonly recoveries: Recoveries;
  readonly reseals: Reseals;
  readonly endpoints: Endpoints;
  readonly captures: Captures;
  readonly sealingKeys: SealingKeys;
  readonly retrievals: Retrievals;
  readonly inbounds: Inbounds;
  readonly inboundUses: InboundUses;
  readonly rules: Rules;
  readonly certificates: Certificates;
  readonly connections: Connections;
  readonly relay: Relay;
  readonly forms: HostedForms;
  readonly formPages: FormPages;
  readonly proxy: ProxyService;
  readonly jobListing: JobListing;
  readonly utility: Utility;
  readonly usage: UsageReports;
  readonly expiring: ExpiringThings;
  readonly subscriptions: Subscriptions;
  readonly accounts: Accounts;
  readonly credentials: Credentials;
  readonly passkeys: Passkeys;
  readonly passphrases: Passphrases;
  /** Undefined without a provider. */
  readonly oidcSignIns?: OidcSignIns | undefined;
  readonly persons: Persons;
  readonly sessions: Sessions;
  readonly platform: Platform;
  readonly limiter: Limiter;
  readonly auditListing: AuditListing;
  readonly preferences: AccountPreferences;
  readonly compliance: Compliance;
}

/** Every route under `/v1`: what is mounted, published and tested. */
export const ROUTES: readonly Route<RouteServices>[] = [
  ...UTILITY_ROUTES,
  ...VAULT_ROUTES,
  ...BATCH_ROUTES,
  ...EXPORT_ROUTES,
  ...CAPTURE_ROUTES,
  ...RETRIEVE_ROUTES,
  ...INBOUND_ROUTES,
  ...FORM_ROUTES,
  ...KEY_ROUTES,
  ...RESEAL_ROUTES,
  ...RULE_ROUTES,
  ...PROXY_ROUTES,
  ...RELAY_ROUTES,
  ...JOB_ROUTES,
  ...EVENT_ROUTES,
  ...CONNECTION_ROUTES,
  ...CERTIFICATE_ROUTES,
  ...ACCOUNT_ROUTES,
  ...USAGE_ROUTES,
  ...EXPIRING_ROUTES,
  ...COMPLIANCE_ROUTES,
  ...CREDENTIAL_ROUTES,
  ...PERSON_ROUTES,
  ...SESSION_ROUTES,
  ...PASSKEY_ROUTES,
  ...OIDC_ROUTES,
  ...PLATFORM_ROUTES,
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
  event: { summary: 'Something has happened in the vault', body: EventWebhook },
};

/** The interface as it is published. */
export const API: Api = { routes: ROUTES, webhooks: WEBHOOKS, schemas: [Tree] };

/**
 * Returns true for a route that needs no account, and is not for the console alone. If there are two listeners, the public one has
 * these routes, and the other has all.
 */
export function isPublic({ auth }: Pick<RouteShape, 'auth'>): boolean {
  return auth !== 'basic' && auth !== 'console';
}
