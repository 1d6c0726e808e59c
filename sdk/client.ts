import { type AccountCalls, createAccountCalls } from './calls/account.ts';
import { type AdminCalls, createAdminCalls } from './calls/admin.ts';
import { type AuditCalls, createAuditCalls } from './calls/audit.ts';
import { type CaptureCalls, createCaptureCalls } from './calls/capture.ts';
import { type CertificateCalls, createCertificateCalls } from './calls/certificate.ts';
import { type ConnectionCalls, createConnectionCalls } from './calls/connection.ts';
import { type CredentialCalls, createCredentialCalls } from './calls/credential.ts';
import { createEventCalls, type EventCalls } from './calls/event.ts';
import { createFormCalls, type FormCalls } from './calls/form.ts';
import { createInboundCalls, type InboundCalls } from './calls/inbound.ts';
import { createJobCalls, type JobCalls } from './calls/job.ts';
import { createKeyCalls, type KeyCalls } from './calls/key.ts';
import { createPersonCalls, type PersonCalls } from './calls/person.ts';
import { createProxyCalls, type ProxyCalls } from './calls/proxy.ts';
import { createRelay, type Relay, type RelayOptions } from './calls/relay.ts';
import { createRetrieveCalls, type RetrieveCalls } from './calls/retrieve.ts';
import { createRuleCalls, type RuleCalls } from './calls/rule.ts';
import { createUtilityCalls, type UtilityCalls } from './calls/utility.ts';
import { createVaultCalls, type VaultCalls } from './calls/vault.ts';
import type { VaultOptions } from './transport/call.ts';
import { authorizationOf } from './transport/headers.ts';
import { CONNECTION, checkNames } from './transport/needed.ts';
import { createTransport } from './transport/transport.ts';

/**
 * A client of one account, with its name and password, or with an API credential of it. Members of the options objects have their names on the wire (snake_case), the
 * options of the calls themselves are camelCase. Passphrases and secrets travel in a header, never in a URL.
 *
 * Attempts that fail with 429, 503 or a broken connection are repeated with growing pauses, as `Retry-After`
 * asks, within `timeoutMs`; calls that write do so under an idempotency key, so that none writes twice.
 *
 * Every call throws `VaultApiError` if the service rejects it (also with `unauthenticated` and
 * `invalid_request`), `VaultConnectionError`, `VaultTimeoutError`, or the reason of its aborted `signal`.
 * @see /guide/quick-start
 * @example
 * const client = new Vault({
 *   baseUrl: 'https://vault.example',
 *   username: 'shop',
 *   password: 'the-password-of-the-account',
 *   passphrase: 'correct-horse-battery-staple',
 * });
 */
export class Vault {
  /** Vault keys, to which items belong. */
  readonly keys: KeyCalls;
  /** Stored items: store, decrypt, list, update, delete, and the log of each. */
  readonly vault: VaultCalls;
  /** Capture endpoints, through which others store. */
  readonly capture: CaptureCalls;
  /** Retrieval endpoints, through which others read. */
  readonly retrieve: RetrieveCalls;
  /** Inbounds, through which others send requests whose cards become tokens. */
  readonly inbound: InboundCalls;
  /** Hosted forms, in which people type and read. */
  readonly forms: FormCalls;
  /** Rules, which change data on its way in or out. */
  readonly rules: RuleCalls;
  /** Requests to third parties: with stored data, or for data to store. */
  readonly proxy: ProxyCalls;
  /** Asynchronous requests to third parties, and webhooks of captures: how far they are. */
  readonly jobs: JobCalls;
  /** Event subscriptions: where the vault tells what has happened. */
  readonly events: EventCalls;
  /** Client certificates, for third parties that want to see one. */
  readonly certificates: CertificateCalls;
  /** Addresses and credentials of third parties, which are stored encrypted and never shown. */
  readonly connections: ConnectionCalls;
  /** Luhn check and passphrase generator. */
  readonly utility: UtilityCalls;
  /** The account itself: bills, usage, preferences, password. */
  readonly admin: AdminCalls;
  /** Accounts of the vault, for platforms; with an operator credential, which does nothing else. */
  readonly accounts: AccountCalls;
  /** API credentials: a part of the rights of the account, for one purpose each. */
  readonly credentials: CredentialCalls;
  /** People of the account, who sign in at the console. */
  readonly person: PersonCalls;
  /** The security log of the account. */
  readonly audit: AuditCalls;

  /**
   * A connection as a payment service's own SDK uses it: with a `fetch` that sends through the vault.
   * @see /guide/relay
   * @example
   * const { fetch } = client.relay('psp', { key: 'customers' });
   */
  readonly relay: (connection: string, options?: RelayOptions) => Relay;

  /** Throws `VaultError` for options that cannot work; sends nothing yet. */
  constructor(options: VaultOptions) {
    checkNames(options, ['baseUrl', 'username', 'password', 'credential', 'passphrase', ...CONNECTION]);
    const { username, password, credential, passphrase, ...connection } = options;
    const authorization = authorizationOf(options);
    const transport = createTransport({ ...connection, authorization });
    const { baseUrl, fetch } = connection;
    this.relay = (id, own) => createRelay({ baseUrl, fetch, authorization, passphrase }, id, own);
    this.keys = createKeyCalls(transport);
    this.vault = createVaultCalls(transport, passphrase);
    this.capture = createCaptureCalls(transport, passphrase);
    this.retrieve = createRetrieveCalls(transport, passphrase);
    this.inbound = createInboundCalls(transport, passphrase, { baseUrl, fetch });
    this.forms = createFormCalls(transport);
    this.rules = createRuleCalls(transport);
    this.proxy = createProxyCalls(transport, passphrase);
    this.jobs = createJobCalls(transport);
    this.events = createEventCalls(transport);
    this.certificates = createCertificateCalls(transport);
    this.connections = createConnectionCalls(transport);
    this.utility = createUtilityCalls(transport);
    this.admin = createAdminCalls(transport);
    this.accounts = createAccountCalls(transport);
    this.credentials = createCredentialCalls(transport);
    this.person = createPersonCalls(transport);
    this.audit = createAuditCalls(transport);
  }
}
