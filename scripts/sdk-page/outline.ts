/**
 * What the reference of the SDK says in which order, and what its comments cannot know: the operation behind each call,
 * from which its codes follow.
 */
import type { ErrorCode } from '../../server/core/errors.ts';

export interface Group {
  /** The heading; the member of the client, or the function, whose calls these are. */
  readonly name: string;
  /** What stands before the name of a call. */
  readonly from: string;
  /** The exported type that declares them. */
  readonly type: string;
  /** Each call with the operation that it asks for, if it asks the service. */
  readonly calls: Readonly<Record<string, string | undefined>>;
}

/** The groups of calls, in the order in which somebody new needs them. */
export const GROUPS: readonly Group[] = [
  {
    name: 'keys',
    from: 'client.keys',
    type: 'KeyCalls',
    calls: {
      create: 'createKey',
      list: 'listKeys',
      pages: 'listKeys',
      changePassphrase: 'changePassphrase',
      delete: 'deleteKey',
    },
  },
  {
    name: 'vault',
    from: 'client.vault',
    type: 'VaultCalls',
    calls: {
      store: 'storeItem',
      decrypt: 'readItems',
      decryptText: 'readItems',
      list: 'readItems',
      pages: 'readItems',
      decryptAll: 'readItems',
      update: 'updateItem',
      delete: 'deleteItem',
      log: 'readLog',
      logPages: 'readLog',
    },
  },
  {
    name: 'capture',
    from: 'client.capture',
    type: 'CaptureCalls',
    calls: {
      create: 'createCaptureEndpoint',
      list: 'listCaptureEndpoints',
      submit: 'capture',
      delete: 'deleteCaptureEndpoint',
    },
  },
  {
    name: 'retrieve',
    from: 'client.retrieve',
    type: 'RetrieveCalls',
    calls: {
      create: 'createRetrieveEndpoint',
      list: 'listRetrieveEndpoints',
      decrypt: 'retrieve',
      decryptText: 'retrieve',
      listItems: 'retrieve',
      itemPages: 'retrieve',
      decryptAll: 'retrieve',
      delete: 'deleteRetrieveEndpoint',
    },
  },
  {
    name: 'forms',
    from: 'client.forms',
    type: 'FormCalls',
    calls: { create: 'createForm', get: 'listForms', list: 'listForms', delete: 'deleteForm' },
  },
  {
    name: 'rules',
    from: 'client.rules',
    type: 'RuleCalls',
    calls: {
      create: 'createRule',
      get: 'readRules',
      list: 'readRules',
      delete: 'deleteRule',
      operations: 'listOperations',
    },
  },
  {
    name: 'proxy',
    from: 'client.proxy',
    type: 'ProxyCalls',
    calls: { post: 'proxyPost', fetch: 'proxyGet', networkToken: 'requestNetworkToken' },
  },
  {
    name: 'certificates',
    from: 'client.certificates',
    type: 'CertificateCalls',
    calls: {
      createCsr: 'createCsr',
      getCsr: 'readCsrs',
      listCsrs: 'readCsrs',
      deleteCsr: 'deleteCsr',
      create: 'createCertificate',
      get: 'readCertificates',
      list: 'readCertificates',
      delete: 'deleteCertificate',
    },
  },
  {
    name: 'utility',
    from: 'client.utility',
    type: 'UtilityCalls',
    calls: { luhn: 'checkLuhn', passphrase: 'generatePassphrase' },
  },
  {
    name: 'admin',
    from: 'client.admin',
    type: 'AdminCalls',
    calls: {
      whoami: 'whoami',
      billing: 'readBilling',
      usage: 'readUsage',
      certificate: 'readComplianceCertificate',
      changePassword: 'changePassword',
      setPreference: 'setPreference',
      getPreference: 'readPreferences',
      listPreferences: 'readPreferences',
      deletePreference: 'deletePreference',
    },
  },
  {
    name: 'audit',
    from: 'client.audit',
    type: 'AuditCalls',
    calls: { list: 'readAudit', pages: 'readAudit' },
  },
  {
    name: 'captureClient',
    from: 'captureClient(…)',
    type: 'CaptureClient',
    calls: { submit: 'capture' },
  },
  {
    name: 'retrieveClient',
    from: 'retrieveClient(…)',
    type: 'RetrieveClient',
    calls: {
      decrypt: 'retrieve',
      decryptText: 'retrieve',
      list: 'retrieve',
      pages: 'retrieve',
      decryptAll: 'retrieve',
    },
  },
  {
    name: 'webhooks',
    from: 'webhooks',
    type: 'Webhooks',
    calls: { verify: undefined },
  },
];

const OF_DATA: readonly ErrorCode[] = [
  'passphrase_wrong',
  'reference_required',
  'rule_not_found',
  'rule_limit',
];

/** Refusals of an operation that a call cannot meet, since it uses a part of the operation. */
export const NEVER: Readonly<Record<string, readonly ErrorCode[]>> = {
  'vault.decryptAll': ['reference_required', 'token_not_found'],
  'vault.decrypt': ['cursor_invalid'],
  'vault.decryptText': ['cursor_invalid'],
  'vault.list': OF_DATA,
  'vault.pages': OF_DATA,
  'retrieve.decrypt': ['cursor_invalid'],
  'retrieve.decryptText': ['cursor_invalid'],
  'retrieve.listItems': ['reference_required', 'rule_not_found', 'rule_limit'],
  'retrieve.itemPages': ['reference_required', 'rule_not_found', 'rule_limit'],
  'retrieveClient.decrypt': ['cursor_invalid'],
  'retrieveClient.decryptText': ['cursor_invalid'],
  'retrieveClient.list': ['reference_required', 'rule_not_found', 'rule_limit'],
  'retrieveClient.pages': ['reference_required', 'rule_not_found', 'rule_limit'],
};

/** The errors, the base of all first. */
export const ERROR_CLASSES = [
  'VaultError',
  'VaultApiError',
  'VaultConnectionError',
  'VaultTimeoutError',
  'VaultWebhookError',
] as const;
