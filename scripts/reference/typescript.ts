/** How an operation is called from TypeScript: the examples of the SDK's own comments. */
import type { Call } from './document.ts';

/** The calls of the SDK that send each operation, by their names in its reference. */
const SDK_CALLS: Readonly<Record<string, readonly string[]>> = {
  checkLuhn: ['utility.luhn'],
  generatePassphrase: ['utility.passphrase'],
  storeItem: ['vault.store'],
  readItems: ['vault.decrypt', 'vault.decryptVersioned', 'vault.list'],
  deleteItem: ['vault.delete', 'vault.eraseReference'],
  updateItem: ['vault.update'],
  readLog: ['vault.log'],
  readAccess: ['vault.access'],
  storeItems: ['vault.storeMany'],
  decryptItems: ['vault.decryptMany'],
  deleteItems: ['vault.deleteMany'],
  exportItems: ['vault.export'],
  createCaptureEndpoint: ['capture.create'],
  listCaptureEndpoints: ['capture.list'],
  capture: ['captureClient.submit'],
  checkCaptureEndpoint: ['captureClient.check'],
  readNetworks: ['capture.networks'],
  deleteCaptureEndpoint: ['capture.delete'],
  getSealingKey: ['captureClient.sealingKey'],
  createRetrieveEndpoint: ['retrieve.create'],
  listRetrieveEndpoints: ['retrieve.list'],
  retrieve: ['retrieveClient.decrypt', 'retrieveClient.list'],
  deleteRetrieveEndpoint: ['retrieve.delete'],
  createForm: ['forms.create'],
  listForms: ['forms.list'],
  showForm: ['forms.get'],
  replaceForm: ['forms.replace'],
  deleteForm: ['forms.delete'],
  createCaptureForm: ['forms.create'],
  listCaptureForms: ['forms.list'],
  showCaptureForm: ['forms.get'],
  replaceCaptureForm: ['forms.replace'],
  deleteCaptureForm: ['forms.delete'],
  createKey: ['keys.create'],
  listKeys: ['keys.list'],
  changePassphrase: ['keys.changePassphrase', 'keys.setSummary'],
  deleteKey: ['keys.delete'],
  resealKey: ['keys.reseal'],
  readReseal: ['keys.resealProgress'],
  createRecovery: ['keys.recovery.create'],
  readRecovery: ['keys.recovery.read'],
  deleteRecovery: ['keys.recovery.remove'],
  recoverKey: ['keys.recover'],
  createInbound: ['inbound.create'],
  listInbounds: ['inbound.list'],
  readInbound: ['inbound.get'],
  deleteInbound: ['inbound.delete'],
  createRule: ['rules.create'],
  readRules: ['rules.get', 'rules.list'],
  deleteRule: ['rules.delete'],
  listOperations: ['rules.operations'],
  testRule: ['rules.test'],
  proxyPost: ['proxy.post'],
  proxyGet: ['proxy.fetch'],
  requestNetworkToken: ['proxy.networkToken'],
  listJobs: ['jobs.list'],
  readJob: ['jobs.get'],
  cancelJob: ['jobs.cancel'],
  redeliverJobs: ['jobs.redeliverMany'],
  redeliverJob: ['jobs.redeliver'],
  createConnection: ['connections.create'],
  listConnections: ['connections.list'],
  readConnection: ['connections.get'],
  replaceConnection: ['connections.replace'],
  deleteConnection: ['connections.delete'],
  createCsr: ['certificates.createCsr'],
  readCsrs: ['certificates.getCsr', 'certificates.listCsrs'],
  deleteCsr: ['certificates.deleteCsr'],
  createCertificate: ['certificates.create'],
  readCertificates: ['certificates.get', 'certificates.list'],
  deleteCertificate: ['certificates.delete'],
  whoami: ['admin.whoami'],
  changePassword: ['admin.changePassword'],
  setPreference: ['admin.setPreference'],
  readPreferences: ['admin.getPreference', 'admin.listPreferences'],
  deletePreference: ['admin.deletePreference'],
  readBilling: ['admin.billing'],
  readUsage: ['admin.usage'],
  listExpiring: ['admin.expiring'],
  readComplianceCertificate: ['admin.certificate'],
  createCredential: ['credentials.create'],
  listCredentials: ['credentials.list'],
  readCredential: ['credentials.get'],
  deleteCredential: ['credentials.delete'],
  rollCredential: ['credentials.roll'],
  createPerson: ['person.create'],
  listPeople: ['person.list'],
  listRoles: ['person.roles'],
  readPerson: ['person.get'],
  changePerson: ['person.change'],
  deletePerson: ['person.delete'],
  invitePerson: ['person.invite'],
  deletePasskey: ['person.deletePasskey'],
  createAccount: ['accounts.create'],
  listAccounts: ['accounts.list'],
  readAccount: ['accounts.get'],
  changeAccount: ['accounts.change'],
  deleteAccount: ['accounts.delete'],
  replaceAccountPassword: ['accounts.newPassword'],
  suspendAccount: ['accounts.suspend'],
  resumeAccount: ['accounts.resume'],
  readAudit: ['audit.list'],
  createSubscription: ['events.create'],
  listSubscriptions: ['events.list'],
  readSubscription: ['events.get'],
  replaceSubscription: ['events.replace'],
  deleteSubscription: ['events.delete'],
  testSubscription: ['events.test'],
};

/** The example of each call of the SDK, by its name. */
export type SdkExamples = ReadonlyMap<string, string>;

/** Reads the examples out of the SDK's reference, which is made of its comments. */
export async function readExamples(file: URL): Promise<SdkExamples> {
  const sections = (await Bun.file(file).text()).split(/^### /m);
  return new Map(
    sections.flatMap((section) => {
      const [, name = '', code] = /^(\S+)\n.*?^```ts\n(.*?)\n```$/ms.exec(section) ?? [];
      return code === undefined ? [] : [[name, code] as const];
    }),
  );
}

/** The calls of the SDK that send an operation; none for the relay, which takes any request. */
export function sdkCallsOf({ operationId, path }: Call): readonly string[] {
  return path === undefined ? ['webhooks.verify'] : (SDK_CALLS[operationId] ?? []);
}

/** True for the routes that people sign in and out by, which only the console calls. */
export function isOfConsole(path: string): boolean {
  return /^\/v1\/person\/(?:self|signin|invitation)(?:\/|$)/.test(path);
}

/** The code that calls an operation, or takes a call of the vault. Throws for an operation that has none. */
export function programOf(call: Call, examples: SdkExamples): string {
  const { method, path } = call;
  if (path?.startsWith('/v1/relay/')) {
    return `const relay = client.relay('psp', { key: 'customers' });\nconst reply = await relay.fetch('/payments', { method: '${method}' });`;
  }
  if (path === '/v1/inbound/{id}/{path}') {
    return `const sender = client.inbound.sender({ id: 'marketplace', secret });\nconst reply = await sender.fetch('/orders', { method: '${method}' });`;
  }
  if (path !== undefined && isOfConsole(path)) {
    return '// The console sends this with the cookie of a person; the SDK has no call.';
  }
  const parts = sdkCallsOf(call).flatMap((name) => examples.get(name) ?? []);
  if (parts.length === 0 || parts.length < sdkCallsOf(call).length) {
    throw new Error(`The SDK has no example for ${call.operationId}.`);
  }
  return parts.join('\n\n');
}
