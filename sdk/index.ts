/**
 * Client of a Cardvault service.
 * @packageDocumentation
 */
export type { AdminCalls } from './admin.ts';
export type { CallOptions, KeyedCallOptions, VaultOptions } from './call.ts';
export { Vault } from './client.ts';
export { VaultApiError, VaultConnectionError, VaultError, VaultTimeoutError } from './errors.ts';
export type { KeyCalls } from './key.ts';
export type { Page, Pages } from './pages.ts';
export type * from './types.ts';
export type { UtilityCalls } from './utility.ts';
export type { VaultCalls } from './vault.ts';
