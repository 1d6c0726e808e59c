import type { FillProxyParams, JobFacts, JobPlace, OrderFacts } from '../../workers/jobs/proxy/jobs.ts';
import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import type { Connections } from '../connection/connections.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { Secret, type SecretBytes } from '../core/secret.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Showing } from '../domain/relay/sight.ts';
import type { ProxyJobs } from '../job/jobs.ts';
import type { JobStore } from '../job/store/jobs.ts';
import { done, type KeyOpener, type KeyRef, provenMissing } from '../key/opener.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import { type Account, type AccountContext, actorNameOf, actorOf } from '../request/context.ts';
import type { IdempotencyService } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import { mayReveal, sightOf, vetTarget } from '../request/permission.ts';
import type { Rules } from '../rule/rules.ts';
import type { RecordEvent } from '../telemetry/events.ts';
import type { ItemAddress, ItemReader, ReadParts } from '../vault/reader.ts';
import type { Rejections } from '../vault/rejections.ts';
import type { ItemParts, ItemStore } from '../vault/store/items.ts';
import type { CallBounds } from './bounds.ts';
import type { ProxySending } from './send.ts';

/** What all three kinds of proxied request have. */
interface ProxyInput {
  readonly passphrase: SecretBytes;
  /** The order as JSON text, not parsed yet. */
  readonly body: Uint8Array;
}

/** How often a request may be sent, and which rules run over what goes out or comes in. */
interface AttemptsInput {
  /** 1 to 16. */
  readonly attempts: number;
  readonly rules: readonly string[];
}

/** A request that is filled from an item. */
export interface ProxyPostInput extends ItemAddress, ProxyInput, AttemptsInput {
  /** Whether the reply shows the request as it was filled. */
  readonly debug: boolean;
  /** Whether a name that the data does not have gives an empty text. */
  readonly allow_missing: boolean;
}

/** A request whose reply is stored. */
export interface ProxyGetInput extends ProxyInput, AttemptsInput {
  readonly user: string;
  /** How the token is made; `full` when omitted. */
  readonly algorithm?: string | undefined;
  readonly smart_parse: boolean;
}

/** A request for a network token of an item. */
export interface NetworkTokenInput extends ItemAddress, ProxyInput {
  readonly requester_id: string;
}

/** What an encrypted job holds for its sending. */
type OpenedJob = Awaited<ReturnType<Crypto['openJob']>>;

/** What filling a request gives that its log entry must precede. */
type Filled = Extract<Awaited<ReturnType<Crypto['fillProxy']>>, { readonly logEntry: Uint8Array }>;

/** A request that has not been sent, and what `debug` shows of it. */
export interface PreparedJob {
  /** Encrypted, for what is made of its reply; empty where that takes nothing of it. */
  readonly job: Uint8Array;
  readonly opened: OpenedJob;
  readonly shown: Uint8Array;
  /** What the reply to a waiting caller is shown by. */
  readonly showing: Secret<Showing>;
}

/** One order, parsed and checked. */
export interface CheckedOrder {
  readonly facts: OrderFacts;
  readonly bytes: Uint8Array;
  /** The connection that it goes through, sealed. */
  readonly connection?: Uint8Array | undefined;
  /** The rules of the connection. */
  readonly rules?: readonly string[] | undefined;
}

/** What the proxy works with. */
export interface ProxyParts {
  readonly crypto: Crypto;
  readonly connections: Pick<Connections, 'find'>;
  readonly itemStore: ItemStore;
  readonly reading: ItemReader;
  readonly jobStore: Pick<JobStore, 'create'>;
  readonly thirdParties: ThirdParties;
  readonly idempotency: IdempotencyService;
  readonly keys: KeyOpener;
  readonly metering: MeteringService;
  readonly rules: Pick<Rules, 'find'>;
  readonly rejections: Rejections;
  readonly sending: ProxySending;
  readonly jobs: Pick<ProxyJobs, 'wake'>;
  readonly calls: CallBounds;
  readonly recordEvent: RecordEvent;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'refuseUnknown'>;
}

const NO_BYTES = new Uint8Array(0);
/** Of a job, which shows its reply itself. */
const NO_SHOWING = new Secret<Showing>({ sight: 'named', numbers: [], sent: [], paths: [], secrets: [] });

/** Parses and checks the order of a request body. Rejects with the place of what is wrong. */
export async function checkOrder(
  { crypto, settings }: Pick<ProxyParts, 'crypto' | 'settings'>,
  { aid, preferences }: Account,
  what: JobFacts['what'] | 'capture',
  body: Uint8Array,
): Promise<CheckedOrder> {
  const params = {
    what,
    webhookAttempts: preferences.webhook_max_attempts,
    refuseUnknown: settings.refuseUnknown,
  };
  const { facts, order } = await crypto.readProxyOrder({ aid, params, body });
  return { facts, bytes: order };
}

/** An order with its connection, if it has one, whose host is then that of the target. Rejects with `connection_not_found`. */
export async function connectOrder(
  { connections }: ProxyParts,
  { aid }: Account,
  order: CheckedOrder,
): Promise<CheckedOrder> {
  const { facts } = order;
  if (facts.connection === undefined) {
    return order;
  }
  const { record, shown } = await connections.find(aid, facts.connection);
  return { ...order, facts: { ...facts, origin: shown.base_url }, connection: record, rules: shown.rules };
}

/** Rejects destinations that are certain to be rejected later, before anything is decrypted for them. */
export async function vetOrder(
  { thirdParties }: Pick<ProxyParts, 'thirdParties'>,
  account: Account,
  { facts: { origin, webhook } }: CheckedOrder,
): Promise<void> {
  await Promise.all([
    origin === undefined ? undefined : vetTarget(thirdParties, account, origin, 'body.request.url'),
    webhook && thirdParties.vet(webhook.url, account.hosts, webhook.field),
  ]);
}

/** Whose request it is, and under which key. */
function ownerOf(ctx: AccountContext, { aid, kid, summary, user }: KeyRef, nowMs: number) {
  const { account } = ctx;
  const owner = { aid, kid, summary, user, account: account.name, actor: actorNameOf(account) };
  return { ...actorOf(ctx, nowMs), ...owner };
}

/**
 * Fills a request from an item, whose use is logged before the request can be sent; a first attempt that follows at once is
 * counted meanwhile. Rejects with `token_not_found`, and with the error of a template or a rule.
 */
export async function fillJob(
  { crypto, itemStore, reading, keys, metering, rejections, now }: ProxyParts,
  ctx: AccountContext,
  input: ItemAddress & { readonly passphrase: SecretBytes },
  rules: RuleSet,
  order: CheckedOrder,
  own: Pick<FillProxyParams, 'id' | 'what' | 'attempts' | 'debug' | 'allowMissing' | 'requesterId'>,
  readParts?: ReadParts,
): Promise<PreparedJob> {
  const { account } = ctx;
  const { token, reference, passphrase } = input;
  const filled = await keys.withUnlocked(ctx, input.user, passphrase, async (key, blob) => {
    const { aid, kid } = key;
    const { hasSections } = order.facts;
    const forcedMask = sightOf(account) !== 'all';
    // A network token is none of the numbers that an account without unmasked output does not see.
    const sight = own.what === 'network_token' && mayReveal(account) ? 'all' : sightOf(account);
    const named = { hasSections, token, reference, forcedMask, sight };
    const opening = { kind: 'warm', blob, secret: passphrase } as const;
    const fill = (item: ItemParts) => {
      const params = { ...ownerOf(ctx, key, now()), ...own, ...named, seen: item.logLength };
      return crypto.fillProxy({
        params,
        opening,
        rules,
        item,
        order: order.bytes,
        connection: order.connection,
      });
    };
    const made = await reading.readAndOpen(key, token, fill, readParts);
    if (made.kind === 'done') {
      return provenMissing(crypto, key, blob, passphrase);
    }
    if (!('logEntry' in made)) {
      return made;
    }
    const append = itemStore.appendLog(itemStore.bucketOf(kid, token), [token], [made.logEntry], key.gen);
    if (made.kind === 'ready') {
      metering.countAhead(ctx, 'proxy_attempt');
    }
    const [logged, job] = await Promise.all([append, preparedOf({ crypto }, { aid, id: own.id }, made)]);
    if (logged.kind !== 'appended') {
      return logged;
    }
    return done(logged.present[0] ? job : undefined);
  });
  if (filled === undefined) {
    throw new VaultError('token_not_found');
  }
  if (filled instanceof VaultError) {
    rejections.ignore(filled);
    throw filled;
  }
  return filled;
}

/** What follows from a filled request, before its item's use is logged: nothing is sent, and no error thrown, until then. */
async function preparedOf(
  { crypto }: Pick<ProxyParts, 'crypto'>,
  place: JobPlace,
  made: Filled,
): Promise<PreparedJob | VaultError> {
  switch (made.kind) {
    case 'rejected':
      return made.error;
    case 'ready':
      return { job: NO_BYTES, opened: made, shown: made.shown, showing: made.showing };
    case 'filled': {
      const opened = await crypto.openJob({ place, job: made.job });
      return { job: made.job, opened, shown: made.shown, showing: NO_SHOWING };
    }
  }
}

/** Prepares a request whose reply is to be stored. Rejects a rule that does not exist at `query.rules`. */
export async function prepareFetch(
  { crypto, keys, rules, now }: ProxyParts,
  ctx: AccountContext,
  input: ProxyGetInput,
  order: CheckedOrder,
  id: string,
): Promise<PreparedJob> {
  const { account } = ctx;
  const { passphrase, attempts, smart_parse: smartParse } = input;
  const algorithm = input.algorithm ?? account.preferences.default_algorithm;
  // Otherwise a missing rule is found only when the reply has arrived.
  await rules.find(account.aid, input.rules, 'query.rules');
  const { job } = await keys.withUnlocked(ctx, input.user, passphrase, async (key, blob) => {
    const sight = sightOf(account);
    const own = {
      id,
      attempts,
      algorithm,
      smartParse,
      rules: input.rules,
      forcedMask: sight !== 'all',
      sight,
    };
    const params = { ...ownerOf(ctx, key, now()), ...own };
    const made = await crypto.prepareFetch({ params, blob, passphrase, order: order.bytes });
    return made.kind === 'warm_miss' ? made : done(made);
  });
  const opened = await crypto.openJob({ place: { aid: account.aid, id }, job });
  return { job, opened, shown: NO_BYTES, showing: NO_SHOWING };
}
