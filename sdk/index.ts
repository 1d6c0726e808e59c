/**
 * Client of a Cardvault service.
 * @packageDocumentation
 */
export type {
  Account,
  AccountCalls,
  ChangeAccount,
  CreateAccount,
  NamedAccount,
  NewAccount,
  ReplacedPassword,
} from './calls/account.ts';
export type { AdminCalls } from './calls/admin.ts';
export type { AuditCalls } from './calls/audit.ts';
export type { CaptureCalls, SealingKey } from './calls/capture.ts';
export {
  type CaptureClient,
  type CaptureOptions,
  captureClient,
  type Sealing,
} from './calls/capture-client.ts';
export type { CertificateCalls } from './calls/certificate.ts';
export type {
  Connection,
  ConnectionCalls,
  CreateConnection,
  DeleteConnection,
  ReadConnection,
  ReplaceConnection,
} from './calls/connection.ts';
export type { CredentialCalls } from './calls/credential.ts';
export type { EndpointOptions } from './calls/endpoint.ts';
export type {
  CreateSubscription,
  DeleteSubscription,
  EventCalls,
  EventTest,
  ReadSubscription,
  ReplaceSubscription,
  Subscription,
  TestSubscription,
} from './calls/event.ts';
export type { FormCalls } from './calls/form.ts';
export type {
  CreateInbound,
  DeleteInbound,
  Inbound,
  InboundAccess,
  InboundCalls,
  InboundSource,
  NewInbound,
  ReadInbound,
} from './calls/inbound.ts';
export type { JobCalls } from './calls/job.ts';
export type { KeyCalls, ReadReseal, ResealKey, ResealProgress } from './calls/key.ts';
export type { PersonCalls } from './calls/person.ts';
export type { ProxyCalls } from './calls/proxy.ts';
export type {
  CreateRecovery,
  DeleteRecovery,
  ReadRecovery,
  RecoverKey,
  Recovery,
  RecoveryCalls,
} from './calls/recovery.ts';
export { type Relay, type RelayOptions, type RelayTarget, vaultPlaceholder } from './calls/relay.ts';
export type { RetrieveCalls } from './calls/retrieve.ts';
export { type RetrieveClient, type RetrieveOptions, retrieveClient } from './calls/retrieve-client.ts';
export type { RuleCalls } from './calls/rule.ts';
export type { UtilityCalls } from './calls/utility.ts';
export type { VaultCalls } from './calls/vault.ts';
export { Vault } from './client.ts';
export type {
  Attempt,
  CallOptions,
  ConnectionOptions,
  KeyedCallOptions,
  Signing,
  VaultOptions,
} from './transport/call.ts';
export { VaultApiError, VaultConnectionError, VaultError, VaultTimeoutError } from './transport/errors.ts';
export type { Page, Pages } from './transport/pages.ts';
export type * from './transport/types.ts';
export {
  VaultWebhookError,
  type VerifyOptions,
  type WebhookErrorCode,
  type WebhookHeaders,
  type WebhookPayload,
  type Webhooks,
  webhooks,
} from './webhook/webhook.ts';
