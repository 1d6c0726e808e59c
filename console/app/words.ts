/** Codes of the API in words, the same on all screens. The codes themselves are in titles and exported files. */
import type { Subscription } from '../../sdk/calls/event.ts';
import type { AuditEntry, Billing, Job, LogEntry, Scope } from '../../sdk/transport/types.ts';

type Words<Code extends string> = Readonly<Record<Code, string>>;

/** Actions of security logs; an entry can also be of an attempt. */
export const ACTIONS: Words<AuditEntry['action']> = {
  sign_in: 'Sign in',
  'key.create': 'Create a key',
  'key.change': 'Change a passphrase',
  'key.delete': 'Delete a key',
  'key.recovery.create': 'Make a recovery of a key',
  'key.recovery.remove': 'Remove the recovery of a key',
  'key.recover': 'Recover a key',
  'account.suspend': 'Suspend an account',
  'account.resume': 'Resume an account',
  'key.reseal': 'Seal the items of a key again',
  'item.store': 'Store an item',
  'item.decrypt': 'Show an item',
  'item.update': 'Change an item',
  'item.delete': 'Delete items',
  'item.expire': 'End of an item',
  'item.log': 'Read the log of an item',
  'vault.export': 'Export items',
  'vault.import': 'Import items',
  'endpoint.create': 'Create an endpoint',
  'endpoint.delete': 'Stop an endpoint',
  'endpoint.expire': 'End of an endpoint',
  'endpoint.use': 'Use an endpoint',
  'subscription.create': 'Subscribe to events',
  'subscription.change': 'Change a subscription',
  'subscription.delete': 'Delete a subscription',
  'subscription.test': 'Test a subscription',
  'rule.create': 'Create a rule',
  'rule.delete': 'Delete a rule',
  'form.create': 'Create a form',
  'form.change': 'Change a form',
  'form.delete': 'Delete a form',
  'connection.create': 'Create a connection',
  'connection.change': 'Change a connection',
  'connection.delete': 'Delete a connection',
  'csr.create': 'Make a signing request',
  'csr.delete': 'Delete a signing request',
  'certificate.create': 'Upload a certificate',
  'certificate.delete': 'Delete a certificate',
  'preference.set': 'Set a preference',
  'preference.delete': 'Reset a preference',
  'proxy.send': 'Send to a third party',
  'job.redeliver': 'Deliver a report again',
  'job.cancel': 'Cancel a job',
  'compliance_certificate.read': 'Read the compliance certificate',
  'password.change': 'Change the password',
  'credential.create': 'Create a credential',
  'credential.delete': 'Delete a credential',
  'credential.roll': 'New secret of a credential',
  'credential.use': 'Use a credential',
  'person.create': 'Invite a person',
  'person.change': 'Change a person',
  'person.invite': 'Invite a person again',
  'person.delete': 'Delete a person',
  'person.signin': 'Sign in as a person',
  'person.passkey.add': 'Add a passkey',
  'person.passkey.delete': 'Remove a passkey',
  'audit.read': 'Read the security log',
  'account.create': 'Create an account',
  'account.change': 'Change an account',
  'account.delete': 'Delete an account',
  'server.start': 'Start of a server',
  'server.stop': 'Stop of a server',
  'bins.load': 'Load the BIN table',
  'compliance_certificate.load': 'Load the compliance certificate',
  'backup.create': 'Make a backup',
  'backup.restore': 'Restore a backup',
  'store.compact': 'Compact the store',
  'master_key.rotate': 'Change the master key',
  'root.rotate': 'Change the root key',
  'audit.expire': 'End of old entries',
};

/** Actions of the logs of items. */
export const ITEM_ACTIONS: Words<LogEntry['action']> = { encrypt: 'Store or change', decrypt: 'Show' };

/** The ways by which items are used. */
export const SOURCES: Words<LogEntry['source']> = {
  vault: 'API',
  capture: 'Capture endpoint',
  retrieve: 'Retrieval endpoint',
  inbound: 'Inbound',
  proxy: 'To a third party',
  form: 'Hosted form',
};

export const STATUSES: Words<Job['status']> = {
  waiting: 'Waiting',
  sending: 'Sending',
  reporting: 'Calling the webhook',
  done: 'Done',
  failed: 'Failed',
  unknown: 'Unknown',
  cancelled: 'Cancelled',
};

export const KINDS: Words<Job['kind']> = {
  post: 'Request with a card',
  get: 'Fetch of a card',
  network_token: 'Network token',
  capture: 'Capture',
  event: 'Event',
};

/** What bills count. */
export const OPERATIONS: Words<Billing['items'][number]['operation']> = {
  store: 'Items stored',
  decrypt: 'Items shown',
  list: 'Items listed',
  update: 'Items changed',
  delete: 'Items deleted',
  log: 'Logs read',
  capture_create: 'Capture endpoints created',
  capture: 'Captures',
  retrieve_create: 'Retrieval endpoints created',
  retrieve: 'Retrievals',
  key: 'Requests about keys',
  rule: 'Requests about rules',
  proxy_attempt: 'Requests to third parties',
  network_token: 'Network tokens',
  certificate: 'Requests about certificates',
  preference: 'Requests about preferences',
  utility: 'Other requests',
};

/** What credentials may do. */
export const SCOPES: Words<Scope> = {
  'vault:store': 'store items',
  'vault:list': 'list items',
  'vault:read': 'show items',
  'vault:update': 'change items',
  'vault:delete': 'delete items',
  'vault:log': 'read logs of items',
  'key:read': 'list keys',
  'key:write': 'create and change keys',
  'capture:write': 'make capture endpoints',
  'retrieve:write': 'make retrieval endpoints',
  'form:write': 'build forms',
  'rule:read': 'list rules',
  'rule:write': 'create rules',
  'proxy:send': 'send cards to third parties',
  'proxy:fetch': 'fetch cards from third parties',
  'cert:write': 'manage client certificates',
  'job:read': 'see jobs',
  'job:write': 'repeat and cancel jobs',
  'connection:read': 'list connections',
  'connection:write': 'make connections',
  'audit:read': 'read the security log',
  'usage:read': 'see usage and bills',
  'preference:write': 'set preferences',
  'credential:write': 'make credentials',
  'person:write': 'invite and change people',
  'vault:export': 'export all cards',
  'event:write': 'subscribe to events',
};

/** Scopes in words. */
export function scopesIn(scopes: readonly Scope[]): string {
  // A newer server can have others.
  return scopes.map((scope) => SCOPES[scope] ?? scope).join(', ');
}

/** What subscriptions name. */
export const EVENTS: Words<Subscription['types'][number]> = {
  'item.*': 'all about items',
  'item.created': 'item stored',
  'item.updated': 'item changed',
  'item.deleted': 'item deleted',
  'item.expired': 'item expired',
  'item.read': 'item decrypted',
  'key.*': 'all about keys',
  'key.created': 'key created',
  'key.changed': 'new passphrase of a key',
  'key.deleted': 'key deleted',
  'key.recovered': 'key recovered',
  'endpoint.*': 'all about endpoints',
  'endpoint.created': 'endpoint created',
  'endpoint.deleted': 'endpoint stopped',
  'endpoint.used_up': 'last use of an endpoint',
  'endpoint.expired': 'endpoint expired',
  'credential.*': 'all about credentials',
  'credential.created': 'credential created',
  'credential.rolled': 'new secret of a credential',
  'credential.deleted': 'credential deleted',
  'credential.expiring': 'credential expires soon',
  'certificate.*': 'all about certificates',
  'certificate.created': 'certificate uploaded',
  'certificate.expiring': 'certificate expires soon',
  'account.*': 'all about the account',
  'account.locked': 'sign-in locked',
  'job.*': 'all about jobs',
  'job.failed': 'job failed',
};

/** Types of events in words. */
export function eventsIn(types: Subscription['types']): string {
  // A newer server can have others.
  return types.map((type) => EVENTS[type] ?? type).join(', ');
}

/** Preferences of the vault; an account can have others. */
export const PREFERENCES: Words<string> = {
  default_algorithm: 'How tokens are made',
  default_limit: 'Length of a page of a list',
  mask_fields: 'Masked fields',
  return_card_metadata: 'Replies tell about the card',
  webhook_max_attempts: 'Calls of a webhook',
};

/** The usual members of items, which are also the fields of forms. */
export const FIELDS = {
  card_number: 'Card number',
  card_holder: 'Name on the card',
  expiry: 'Expiry date',
  expiry_month: 'Month of expiry',
  expiry_year: 'Year of expiry',
  cvv: 'Security code',
  account_number: 'Account number',
  routing_number: 'Routing number',
  account_type: 'Type of account',
  account_holder: 'Account holder',
} as const;

/** The name of a member of an item for people. */
export function fieldOf(name: string): string {
  const known: Readonly<Record<string, string>> = FIELDS;
  return Object.hasOwn(known, name) ? (known[name] ?? name) : name;
}

/** The English name of a language. */
export function languageOf(locale: string): string {
  return new Intl.DisplayNames(['en'], { type: 'language' }).of(locale) ?? locale;
}

/** An outcome: success, or the code of an error. */
export function outcomeOf(code: string): string {
  const text = code === 'ok' ? 'success' : code.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The code of a typed outcome, in words or as it is. */
export function codeOf(outcome: string): string {
  return outcome.trim().toLowerCase().replaceAll(' ', '_');
}
