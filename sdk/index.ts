/**
 * Client of a Cardvault service.
 * @packageDocumentation
 */
export type { AdminCalls } from './admin.ts';
export type { AuditCalls } from './audit.ts';
export type { Attempt, CallOptions, ConnectionOptions, KeyedCallOptions, VaultOptions } from './call.ts';
export type { CaptureCalls } from './capture.ts';
export { type CaptureClient, captureClient } from './capture-client.ts';
export type { CertificateCalls } from './certificate.ts';
export { Vault } from './client.ts';
export type { EndpointOptions } from './endpoint.ts';
export { VaultApiError, VaultConnectionError, VaultError, VaultTimeoutError } from './errors.ts';
export type { FormCalls } from './form.ts';
export type { KeyCalls } from './key.ts';
export type { Page, Pages } from './pages.ts';
export type { ProxyCalls } from './proxy.ts';
export type { RetrieveCalls } from './retrieve.ts';
export { type RetrieveClient, retrieveClient } from './retrieve-client.ts';
export type { RuleCalls } from './rule.ts';
export type * from './types.ts';
export type { UtilityCalls } from './utility.ts';
export type { VaultCalls } from './vault.ts';
export {
  VaultWebhookError,
  type VerifyOptions,
  type WebhookErrorCode,
  type WebhookPayload,
  type Webhooks,
  webhooks,
} from './webhook.ts';
export type { WebhookHeaders } from './webhook-headers.ts';
