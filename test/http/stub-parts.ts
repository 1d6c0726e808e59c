import type { Accounts } from '../../server/account/accounts.ts';
import { readCredentials } from '../../server/account/authorization.ts';
import { OPERATOR } from '../../server/account/credential/records.ts';
import type { Passkeys } from '../../server/account/passkey/passkeys.ts';
import type { Passphrases } from '../../server/account/passkey/passphrases.ts';
import type { AccountPreferences } from '../../server/account/preferences.ts';
import type { WhoAmI } from '../../server/account/schema.ts';
import type { Sessions } from '../../server/account/session/sessions.ts';
import type { SignIns } from '../../server/account/sign-in.ts';
import type { Audit, SecurityEvent } from '../../server/audit/audit.ts';
import type { AuditListing } from '../../server/audit/listing.ts';
import type { AppDeps } from '../../server/boot/app.ts';
import type { Compliance } from '../../server/compliance/compliance.ts';
import { VaultError } from '../../server/core/errors.ts';
import { Secret } from '../../server/core/secret.ts';
import { parseJson, toPlain } from '../../server/domain/json/json.ts';
import type { ExpiringThings } from '../../server/expiring/expiring.ts';
import type { Exports } from '../../server/export/exports.ts';
import type { Health } from '../../server/http/health.ts';
import type { Keys } from '../../server/key/keys.ts';
import type { Recoveries } from '../../server/key/recoveries.ts';
import { Limiter } from '../../server/limits/limiter.ts';
import type { Rates } from '../../server/limits/rates.ts';
import {
  type Account,
  actFor,
  type CredentialRights,
  type RequestContext,
} from '../../server/request/context.ts';
import type { Metering } from '../../server/request/metering.ts';
import type { LogLine } from '../../server/telemetry/log-sink.ts';
import { Metrics } from '../../server/telemetry/metrics.ts';
import type { UsageReports } from '../../server/usage/usage.ts';
import type { Utility } from '../../server/utility/utility.ts';
import type { AccessListing } from '../../server/vault/access.ts';
import type { Batches } from '../../server/vault/batch/batches.ts';
import type { StoreBatches } from '../../server/vault/batch/store-batch.ts';
import type { VaultTrees } from '../../server/vault/list/list.ts';
import type { ItemRemover } from '../../server/vault/remover.ts';
import type { Reseals } from '../../server/vault/reseals.ts';
import type { Vault } from '../../server/vault/vault.ts';
import {
  CREDENTIAL_SECRET,
  createStubEndpoints,
  stub,
  stubCredentials,
  stubJobs,
  stubPersons,
  stubPlatform,
  stubSubscriptions,
} from './stub-endpoints.ts';

/** What the stub services were asked, in order. */
export interface Asked {
  readonly operation: string;
  readonly ctx?: RequestContext;
  readonly input: unknown;
}

/** Makes an operation of a service that gives the same result to all and remembers who asked. */
export type Note = <Result>(
  operation: string,
  result: () => Result,
) => (ctx: RequestContext, input?: unknown) => Promise<Result>;

export interface StubParts extends AppDeps {
  readonly asked: Asked[];
  readonly lines: LogLine[];
  /** The internal ids of the accounts whose requests were counted. */
  readonly metered: string[];
  /** What was noted in security logs. */
  readonly recorded: SecurityEvent[];
}

const PREFERENCES = {
  default_algorithm: 'full',
  default_limit: undefined,
  mask_fields: [],
  return_card_metadata: false,
  webhook_max_attempts: 8,
};

/** What a person may do that has just signed in. */
const PERSON_RIGHTS: CredentialRights = {
  ...{ id: 'person/pers_Zm9vYmFyYmF6cXV4cXV1eA', name: 'Ada', scopes: new Set(['vault:list'] as const) },
  ...{ keys: undefined, ips: undefined, hosts: undefined, expiresAtMs: Number.POSITIVE_INFINITY },
  person: {
    ...{ id: 'pers_Zm9vYmFyYmF6cXV4cXV1eA', role: 'support', session: '', passkeyId: undefined },
    ...{ signedInMs: 1_800_000_000_000, expiresAtMs: 1_800_000_000_000 },
  },
};
const ACCOUNT: Account = {
  aid: 'a1',
  name: 'shop',
  unmasked: false,
  paying: false,
  hosts: [],
  preferences: PREFERENCES,
};

/** The credentials that the stub account service takes: of its account, and of the operator. */
export const AUTHORIZATION = `Basic ${btoa('shop:pa:ss')}`;
export const OPERATOR_AUTHORIZATION = `Bearer ${CREDENTIAL_SECRET}`;
/** Signs in as a person, which the stub does without a cookie. */
export const PERSON_AUTHORIZATION = `Bearer vak1_${'p'.repeat(43)}`;

export const TOKEN_INFO = { token: 'tok', user: 'u1', stored_at: '2026-01-31T12:00:00.123Z', created: true };

const PREFERENCE = '{"key":"k","value":1.10,"is_default":false}';
const encoder = new TextEncoder();

function streamOf(text: string) {
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}

/** Items and keys. */
function stubVault(
  note: Note,
): Pick<
  AppDeps,
  'vault' | 'trees' | 'storeBatches' | 'batches' | 'exports' | 'remover' | 'keys' | 'recoveries' | 'reseals'
> {
  const recovery = { user: 'u1', threshold: 2, shares: [] };
  return {
    recoveries: stub<Recoveries>({
      create: note('createRecovery', () => recovery),
      read: note('readRecovery', () => recovery),
      remove: note('removeRecovery', () => undefined),
      recoverKey: note('recoverKey', () => ({
        user: 'u1',
        passphrase: new Secret('generated-passphrase'),
      })),
    }),
    reseals: stub<Reseals>({
      start: note('reseal', () => ({ total: 1, done: 0 })),
      progress: note('resealProgress', () => ({ total: 1, done: 1, finished_at: '2026-01-31T12:00:00Z' })),
    }),
    vault: stub<Vault>({
      store: note('store', () => ({ reply: TOKEN_INFO, replayed: false })),
      decrypt: note('decrypt', () => new TextEncoder().encode('{"number":"1.10"}')),
      update: note('update', () => ({ reply: TOKEN_INFO, replayed: true })),
      remove: note('remove', () => undefined),
      log: note('log', () => ({ entries: [] })),
    }),
    trees: stub<VaultTrees>({
      list: note('list', () => ({ stream: streamOf('{"u1":[]}'), nextToken: 'more' })),
      decryptAll: note('decryptAll', () => ({ stream: streamOf('{"u1":[]}') })),
    }),
    storeBatches: stub<StoreBatches>({
      storeBatch: note('storeBatch', () => ({ reply: { results: [TOKEN_INFO] }, replayed: true })),
    }),
    batches: stub<Batches>({
      decryptBatch: note('decryptBatch', () => streamOf('{"results":[]}')),
      deleteBatch: note('deleteBatch', () => ({ reply: { results: [] }, replayed: false })),
    }),
    exports: stub<Exports>({ exportItems: note('exportItems', () => streamOf('age-encryption.org/v1')) }),
    remover: stub<ItemRemover>({ erase: note('erase', () => ({ deleted: 2, nextToken: 'more' })) }),
    keys: stub<Keys>({
      create: note('createKey', () => ({
        reply: { user: 'u1', passphrase: new Secret('generated-passphrase') },
        replayed: false,
      })),
      list: note('listKeys', () => ({ keys: [{ user: 'u1' }], nextToken: 'more' })),
      change: note('changePassphrase', () => ({
        user: 'u1',
        passphrase: new Secret('generated-passphrase'),
      })),
      remove: note('removeKey', () => undefined),
    }),
  };
}

/** What an account sees and sets of its own. */
function stubAccount(
  note: Note,
): Pick<AppDeps, 'utility' | 'usage' | 'expiring' | 'compliance' | 'preferences'> {
  return {
    utility: stub<Utility>({
      luhn: note('luhn', () => ({ valid: true, brand: 'visa' })),
      passphrase: note('passphrase', () => new Secret('p'.repeat(64))),
    }),
    usage: stub<UsageReports>({
      billing: note('billing', () => ({
        currency: 'USD',
        amount: '0',
        from: '2026-01-01T00:00:00Z',
        to: '2026-01-31T12:00:00Z',
        items: [],
      })),
      usage: note('usage', () => ({ month: '2026-01', keys: 1, tokens: 2, api_requests: 3 })),
    }),
    expiring: stub<ExpiringThings>({
      list: note('listExpiring', () => ({
        found: [{ kind: 'tls', id: 'server', expires_at: '2026-01-31T12:00:00Z' }],
        nextToken: 'more',
      })),
    }),
    compliance: stub<Compliance>({
      read: note('readComplianceCertificate', () => encoder.encode('%PDF-1.7')),
    }),
    preferences: stub<AccountPreferences>({
      set: note('setPreference', () => ({ key: 'k', jsonBytes: encoder.encode(PREFERENCE) })),
      read: note('readPreference', () => encoder.encode(PREFERENCE)),
      list: note('listPreferences', () => encoder.encode(`[${PREFERENCE}]`)),
      remove: note('removePreference', () => undefined),
    }),
  };
}

const WHOAMI: WhoAmI = {
  user: 'shop',
  environment: 'staging',
  api_version: '0.1.0',
  backwards_compatibility: 'v1',
};

/** Shared, since making them takes longer than a request does; a test that reads them gives its own. */
const METRICS = new Metrics();

/** Services that answer at once and remember what they were asked: the shell is tested against them. */
export function createStubParts(override: Partial<AppDeps> = {}): StubParts {
  const asked: Asked[] = [];
  const lines: LogLine[] = [];
  const metered: string[] = [];
  const recorded: SecurityEvent[] = [];
  const note: Note = (operation, result) => (ctx, input) => {
    asked.push({ operation, ctx, input });
    return Promise.resolve(result());
  };
  return {
    asked,
    lines,
    metered,
    recorded,
    http: {
      publicUrl: 'https://vault.test',
      trustedProxies: [],
      refuseUnknown: true,
      people: { consoleUrl: undefined, flaw: undefined, hasPasswords: true },
      tls: false,
      bodyTimeoutMs: 30_000,
      checkReplies: true,
    },
    ...stubVault(note),
    ...stubAccount(note),
    ...createStubEndpoints(note),
    jobListing: stubJobs(note),
    subscriptions: stubSubscriptions(note),
    accounts: stub<Accounts>({
      whoami: note('whoami', () => WHOAMI),
      changePassword: note('changePassword', () => ({
        user: 'shop',
        password: new Secret('generated-password'),
      })),
    }),
    credentials: stubCredentials(note),
    persons: stubPersons(note),
    passkeys: stub<Passkeys>({}),
    passphrases: stub<Passphrases>({}),
    sessions: stub<Sessions>({}),
    platform: stubPlatform(note),
    signIns: stub<SignIns>({
      recall: (_ip, header) => {
        readCredentials(header.expose());
        return { kind: 'header', digest: '', header, verified: undefined };
      },
      aidOf: () => undefined,
      signIn: async (ctx, caller) => {
        const header = caller.kind === 'header' ? caller.header.expose() : '';
        const credentials = readCredentials(header);
        if (credentials.kind === 'credential') {
          if (credentials.secret.expose() === CREDENTIAL_SECRET) {
            return actFor(ctx, OPERATOR);
          }
          if (header === PERSON_AUTHORIZATION) {
            return actFor(ctx, { ...ACCOUNT, credential: PERSON_RIGHTS });
          }
          throw new VaultError('unauthenticated');
        }
        const { name, password } = credentials;
        asked.push({ operation: 'signIn', input: { name, password, ip: ctx.ip } });
        const text = new TextDecoder().decode(password.expose());
        if (name !== 'shop' || text !== 'pa:ss') {
          throw new VaultError('unauthenticated');
        }
        return actFor(ctx, ACCOUNT);
      },
    }),
    limiter: new Limiter({ threads: 1, unlocks: 1, guesses: 1 }, () => 0),
    parseBody: async ({ body, limits }) => toPlain(parseJson(body, limits)),
    rates: stub<Rates>({ source: () => undefined, account: () => undefined }),
    audit: stub<Audit>({
      record: async (noted) => {
        recorded.push(noted);
      },
    }),
    accessListing: stub<AccessListing>({
      list: note('listAccess', () => ({ entries: [], nextToken: undefined })),
      listAll: note('listAllAccess', () => streamOf('[]')),
    }),
    auditListing: stub<AuditListing>({
      list: note('listAudit', () => ({ entries: [], nextToken: 'more' })),
      listAll: note('listAllAudit', () => streamOf('[]')),
    }),
    metering: stub<Metering>({
      request: async ({ account }) => {
        metered.push(account.aid);
      },
    }),
    health: stub<Health>({ ready: async () => ({ ready: true, checks: { redis: 'ok' } }) }),
    metrics: METRICS,
    log: (line) => lines.push(line),
    now: () => 1_800_000_000_000,
    newRequestId: () => 'fresh-request-id',
    ...override,
  };
}
