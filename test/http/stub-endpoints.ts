import type { Credentials } from '../../server/account/credential/credentials.ts';
import type { Credential } from '../../server/account/credential/schema.ts';
import type { Persons } from '../../server/account/person/persons.ts';
import type { PersonRecord } from '../../server/account/person/records.ts';
import type { Person } from '../../server/account/person/schema.ts';
import type { Platform } from '../../server/account/platform.ts';
import type { Account } from '../../server/account/platform-schema.ts';
import type { AppDeps } from '../../server/boot/app.ts';
import type { Certificates } from '../../server/certificate/certificates.ts';
import type { Connections } from '../../server/connection/connections.ts';
import type { Connection } from '../../server/connection/schema.ts';
import { VaultError } from '../../server/core/errors.ts';
import { Secret, type SecretBytes } from '../../server/core/secret.ts';
import type { EndpointAddress } from '../../server/endpoint/auth.ts';
import type { Captures } from '../../server/endpoint/captures.ts';
import type { Endpoints, EndpointWithSecret } from '../../server/endpoint/endpoints.ts';
import type { Retrievals } from '../../server/endpoint/retrievals.ts';
import type { SealingKey } from '../../server/endpoint/schema.ts';
import type { SealingKeys } from '../../server/endpoint/sealing-keys.ts';
import type { Subscription } from '../../server/event/schema.ts';
import type { Subscriptions } from '../../server/event/subscriptions.ts';
import type { HostedForm, HostedForms } from '../../server/form/forms.ts';
import { FormPages } from '../../server/form/pages/render.ts';
import type { Inbounds } from '../../server/inbound/inbounds.ts';
import type { Inbound } from '../../server/inbound/schema.ts';
import type { InboundUses } from '../../server/inbound/uses.ts';
import type { JobListing } from '../../server/job/listing.ts';
import type { Job } from '../../server/job/schema.ts';
import type { ProxyService } from '../../server/proxy/proxy.ts';
import type { Relay } from '../../server/relay/relay.ts';
import type { RequestContext } from '../../server/request/context.ts';
import type { Rules } from '../../server/rule/rules.ts';
import type { Rule } from '../../server/rule/schema.ts';
import { SMALL_BUNDLES } from '../helpers/forms.ts';
import type { Note } from './stub-parts.ts';

/** The one endpoint that there is, of both kinds. */
export const ENDPOINT = { id: 'shop', secret: 'vcs1_the-right-one' };

/** The one rule that there is. */
export const RULE: Rule = { id: 'short-year', operations: [{ name: 'substr', input_field: 'expiry_year' }] };

/** The text of a secret that a route was given. */
export function textOf(secret: SecretBytes): string {
  return new TextDecoder().decode(secret.expose());
}

const CSR = { id: 'csr-1', cn: 'shop.example', data: 'PEM' };
const CERTIFICATE = { id: 'cert-1', csr_id: CSR.id, data: 'PEM', expiry: '2030-01-01T00:00:00.000Z' };

const CONNECTION: Connection = {
  id: 'pay',
  base_url: 'https://api.pay.example/v1',
  headers: ['Authorization'],
  created_at: '2026-01-31T12:00:00.000Z',
  updated_at: '2026-01-31T12:00:00.000Z',
};

const NEW_ENDPOINT: EndpointWithSecret = {
  url: '/v1/capture/shop',
  unique_id: 'shop',
  secret: new Secret(ENDPOINT.secret),
  expires_at: '2026-02-01T12:00:00Z',
};

function refuseOthers({ unique_id, secret }: EndpointAddress): void {
  if (unique_id !== ENDPOINT.id || textOf(secret) !== ENDPOINT.secret) {
    throw new VaultError('endpoint_refused');
  }
}

const SEALING_KEY: SealingKey = {
  ...{ kid: '20484-9f86d081884c7d65', suite: 'P256-HKDF-SHA256-AES256GCM' },
  ...{ public_key: 'B'.repeat(87), expires_at: '2026-02-02T00:00:00Z' },
};

/** The one form that there is. */
export const FORM: HostedForm = { id: 'shop', form_type: 'pcd', settings: { hide_card: true } };

/** Makes a service of some of its methods. Its class has private members, which no object literal has. */
export function stub<Service>(methods: Partial<Service>): Service {
  return methods as Service;
}

function textStream(text: string): ReadableStream<Uint8Array> {
  return new Response(text).body ?? new ReadableStream<Uint8Array>();
}

/** What a request to a third party was answered with. */
export const PROXY_REPLY = '{"status_code":201,"headers":[{"X-A":"b"}],"body":"1.10"}';
export const ACCEPTED = '{"message":"The request was accepted.","id":"job-1"}';

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The proxy and its certificates. */
function stubThirdParties(note: Note): Pick<AppDeps, 'proxy' | 'certificates' | 'connections' | 'relay'> {
  return {
    proxy: stub<ProxyService>({
      post: note('proxyPost', () => ({ reply: bytesOf(PROXY_REPLY), replayed: false })),
      get: note('proxyGet', () => ({ reply: bytesOf(ACCEPTED), replayed: true })),
      networkToken: note('networkToken', () => ({ reply: bytesOf(ACCEPTED), replayed: false })),
    }),
    certificates: stub<Certificates>({
      createCsr: note('createCsr', () => CSR),
      readCsr: note('readCsr', () => CSR),
      listCsrs: note('listCsrs', () => [CSR]),
      removeCsr: note('removeCsr', () => undefined),
      create: note('createCertificate', () => CERTIFICATE),
      read: note('readCertificate', () => CERTIFICATE),
      list: note('listCertificates', () => [CERTIFICATE]),
      remove: note('removeCertificate', () => undefined),
    }),
    relay: stub<Relay>({
      relay: note('relay', () => ({
        status: 402,
        headers: [['Content-Type', 'text/plain']],
        body: bytesOf('no'),
      })),
    }),
    connections: stub<Connections>({
      create: note('createConnection', () => CONNECTION),
      replace: note('replaceConnection', () => CONNECTION),
      read: note('readConnection', () => CONNECTION),
      list: note('listConnections', () => textStream(JSON.stringify([CONNECTION]))),
      remove: note('removeConnection', () => undefined),
      // Of no request of its own.
      requireRuleChange: async () => undefined,
    }),
  };
}

const INBOUND: Inbound = {
  ...{ id: ENDPOINT.id, url: '/v1/inbound/shop', user: 'u1', connection: 'shop', extract: 'cards' },
  ...{ strict: true, algorithm: 'full', expires_at: null, expired: false },
};
const NEW_INBOUND = {
  id: INBOUND.id,
  url: INBOUND.url,
  secret: new Secret(ENDPOINT.secret),
  expires_at: null,
};

type StubEndpoints = Pick<
  AppDeps,
  | 'captures'
  | 'sealingKeys'
  | 'retrievals'
  | 'inbounds'
  | 'inboundUses'
  | 'endpoints'
  | 'rules'
  | 'certificates'
  | 'relay'
  | 'connections'
  | 'forms'
  | 'formPages'
  | 'proxy'
>;

/** Services of endpoints, rules and third parties that answer at once and remember what they were asked, if they were let to. */
export function createStubEndpoints(note: Note): StubEndpoints {
  const captured = note('capture', () => ({
    reply: { token: 'tok', user: 'u1', reference: 'shop' },
    replayed: false,
  }));
  const retrieved = note('retrieve', () => new TextEncoder().encode('{"number":"1.10"}'));
  const listed = note('listEndpoints', () => []);
  const passed = note('inbound', () => ({
    status: 200,
    headers: [['X-Vault-Stored', '1']] as const,
    body: new TextEncoder().encode('{}'),
    secrets: new Secret([]),
  }));
  return {
    captures: stub<Captures>({
      create: note('createCapture', () => NEW_ENDPOINT),
      use: async (ctx: RequestContext, input) => {
        refuseOthers(input);
        return captured(ctx, input);
      },
      check: async (_ctx: RequestContext, address) => {
        refuseOthers(address);
        return { unique_id: ENDPOINT.id, expires_at: NEW_ENDPOINT.expires_at };
      },
      networks: async (_ctx: RequestContext, address) => {
        refuseOthers(address);
        return { networks: ['visa'] };
      },
    }),
    sealingKeys: stub<SealingKeys>({ current: async () => SEALING_KEY }),
    retrievals: stub<Retrievals>({
      create: note('createRetrieve', () => NEW_ENDPOINT),
      use: async (ctx: RequestContext, input) => {
        refuseOthers(input);
        return retrieved(ctx, input);
      },
    }),
    inbounds: stub<Inbounds>({
      create: note('createInbound', () => NEW_INBOUND),
      list: note('listInbounds', () => [INBOUND]),
      read: note('readInbound', () => INBOUND),
      remove: note('removeInbound', () => undefined),
    }),
    inboundUses: stub<InboundUses>({
      use: async (ctx: RequestContext, input) => {
        refuseOthers(input);
        return passed(ctx, input);
      },
    }),
    endpoints: stub<Endpoints>({
      list: (ctx, kind, user) => listed(ctx, { kind, user }),
      remove: note('removeEndpoint', () => undefined),
    }),
    rules: stub<Rules>({
      create: note('createRule', () => RULE),
      read: note('readRule', () => RULE),
      list: note('listRules', () => textStream(JSON.stringify([RULE]))),
      remove: note('removeRule', () => undefined),
      operations: note('operations', () => ({ operations: ['noop', 'substr'] })),
      test: note('testRule', () => new TextEncoder().encode('{"output":{},"steps":[]}')),
    }),
    forms: stub<HostedForms>({
      create: note('createForm', () => FORM),
      read: note('readForm', () => FORM),
      list: (ctx, show) => note('listForms', () => textStream(JSON.stringify([show(FORM)])))(ctx),
      replace: note('replaceForm', () => FORM),
      remove: note('removeForm', () => undefined),
      open: async (id) => {
        if (id !== FORM.id) {
          throw new VaultError('form_not_found');
        }
        return FORM;
      },
    }),
    formPages: new FormPages({
      bundles: SMALL_BUNDLES,
      publicUrl: 'https://vault.test',
      gallery: true,
      newNonce: () => 'a-fresh-nonce',
    }),
    ...stubThirdParties(note),
  };
}

const JOB: Job = {
  ...{ id: 'kLTVMUsdDPoVaCqL3bPlMt', kind: 'post', status: 'done', host: 'api.payments.example' },
  ...{ attempts: [], actor: 'account/shop', created_at: '2026-01-31T12:00:00.000Z' },
};

/** What the stub says of jobs. */
export function stubJobs(note: Note) {
  return stub<JobListing>({
    list: note('listJobs', () => ({ jobs: [JOB], nextToken: undefined })),
    listAll: note(
      'listAllJobs',
      () => new Response(JSON.stringify([JOB])).body as ReadableStream<Uint8Array>,
    ),
    read: note('readJob', () => JOB),
    redeliver: note('redeliverJob', () => JOB),
    cancel: note('cancelJob', () => undefined),
  });
}

const SUBSCRIPTION: Subscription = {
  ...{ id: 'sub_kLTVMUsdDPoVaCqL3bPlMt', url: 'https://shop.example/events', types: ['item.*'] },
  ...{ max_attempts: 8, created_at: '2026-01-31T12:00:00.000Z', waiting: 0 },
};

/** What the stub says of event subscriptions. */
export function stubSubscriptions(note: Note) {
  return stub<Subscriptions>({
    create: note('createSubscription', () => SUBSCRIPTION),
    list: note('listSubscriptions', () => [SUBSCRIPTION]),
    read: note('readSubscription', () => SUBSCRIPTION),
    replace: note('replaceSubscription', () => SUBSCRIPTION),
    remove: note('deleteSubscription', () => undefined),
    test: note('testSubscription', () => 'evt_0q3vJq8nQm2dYtS1b7ZkXw'),
  });
}

/** Every secret that a stub shows is this one. */
export const CREDENTIAL_SECRET = 'vak1_dGhpcyBpcyBhbiBleGFtcGxlLCBub3QgYSBzZWNyZXQ';
const CREDENTIAL: Credential = {
  ...{ id: 'cred_Zm9vYmFyYmF6cXV4cXV1eA', name: 'charge worker', scopes: ['proxy:send'], unmasked: false },
  created_at: '2026-01-31T12:00:00.000Z',
};

const ACCOUNT: Account = {
  ...{ name: 'shop-4711', unmasked: false, paying: false, suspended: false },
  created_at: '2026-01-31T12:00:00.000Z',
};

/** What the stub says of the accounts of a platform. */
export function stubPlatform(note: Note) {
  return stub<Platform>({
    create: note('createAccount', () => ({ account: ACCOUNT, password: new Secret('a password') })),
    list: () => note('listAccounts', () => [ACCOUNT])(Object.create(null), undefined),
    read: (name: string) => note('readAccount', () => ACCOUNT)(Object.create(null), name),
    change: note('changeAccount', () => ACCOUNT),
    remove: note('deleteAccount', () => undefined),
    replacePassword: note('replaceAccountPassword', () => new Secret('a password')),
    suspend: note('suspendAccount', () => ACCOUNT),
    resume: note('resumeAccount', () => ACCOUNT),
  });
}

const PERSON: Person = {
  ...{ id: 'pers_Zm9vYmFyYmF6cXV4cXV1eA', name: 'Ada', role: 'support', unmasked: false },
  ...{ last_seen_at: null, passkeys: [] },
};

/** What the stub says of people. Functions that read or create know the account alone, not the request. */
export function stubPersons(note: Note) {
  const noted =
    <Result>(operation: string, result: () => Result, at = 1) =>
    async (...input: readonly unknown[]): Promise<Result> => {
      await note(operation, () => undefined)(Object.create(null), input[at]);
      return result();
    };
  const name = { aid: 'aid', id: PERSON.id };
  const record: PersonRecord = {
    ...{ account: 'shop', name: 'Ada', role: 'support', unmasked: false, epoch: 1, passkeys: [] },
    created_at: '2026-01-31T12:00:00.000Z',
  };
  const invited = () => ({
    known: { name, sealed: Buffer.alloc(0), record },
    invitation: new Secret('https://vault.test/console#/join?token=a'),
    expiresAtMs: 1_800_000_000_000,
    change: { kind: 'person', id: PERSON.id, digest: '0'.repeat(32), isGone: false } as const,
  });
  return stub<Persons>({
    create: noted('createPerson', invited),
    list: noted('listPeople', () => [PERSON], 0),
    read: noted('readPerson', () => PERSON),
    change: noted('changePerson', () => PERSON, 2),
    remove: noted('deletePerson', () => undefined, 2),
    invite: noted('invitePerson', invited, 2),
    removePasskey: noted('deletePasskey', () => undefined, 2),
  });
}

/** What the stub says of credentials. Their functions know the account alone, not the request. */
export function stubCredentials(note: Note) {
  const asAccount =
    <Result>(operation: string, result: () => Result) =>
    async (_account: unknown, ...input: readonly unknown[]): Promise<Result> => {
      await note(operation, () => undefined)(Object.create(null), input[0]);
      return result();
    };
  const change = { kind: 'credential', id: CREDENTIAL.id, digest: '0'.repeat(32), isGone: false } as const;
  const made = () => ({ credential: CREDENTIAL, secret: new Secret(CREDENTIAL_SECRET), change });
  return stub<Credentials>({
    create: asAccount('createCredential', made),
    list: asAccount('listCredentials', () => [CREDENTIAL]),
    read: asAccount('showCredential', () => CREDENTIAL),
    remove: asAccount('removeCredential', () => ({ change: undefined })),
    roll: asAccount('rollCredential', made),
  });
}
