import type { Static } from '@sinclair/typebox';
import type { FillRequest, JobFacts, JobPlace, OrderFacts } from '../../workers/jobs/proxy/jobs.ts';
import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import type { OpenedJob } from '../call/send.ts';
import type { Connections } from '../connection/connections.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { Secret, type SecretBytes } from '../core/secret.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { type Showing, STATUS_ONLY } from '../domain/relay/sight.ts';
import { done, type KeyOpener, type KeyRef, provenMissing } from '../key/opener.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import { type Account, type AccountContext, actorNameOf, actorOf } from '../request/context.ts';
import { mayReveal, sightOf, vetTarget } from '../request/permission.ts';
import type { Rules } from '../rule/rules.ts';
import type { ItemAddress, ItemReader, ReadParts } from '../vault/reader.ts';
import type { Rejections } from '../vault/rejections.ts';
import type { ItemParts, ItemStore } from '../vault/store/items.ts';
import type { NetworkTokenQuery, ProxyPostQuery } from './schema.ts';

interface ProxyInput {
  readonly passphrase: SecretBytes;
  /** The order as JSON text, not parsed yet. */
  readonly body: Uint8Array;
}

/** A request that is filled from an item. */
export type ProxyPostInput = ProxyInput &
  Static<typeof ProxyPostQuery> & { readonly rules: readonly string[] };

/** A request whose reply is stored. */
export interface ProxyGetInput extends ProxyInput {
  readonly user: string;
  readonly attempts: number;
  readonly rules: readonly string[];
  readonly algorithm: string | undefined;
  readonly smart_parse: boolean;
}

export type NetworkTokenInput = ProxyInput & Static<typeof NetworkTokenQuery>;

/** A filled request, whose log entry must be written first. */
type Filled = Extract<Awaited<ReturnType<Crypto['fillProxy']>>, { readonly logEntry: Uint8Array }>;

/** An unsent request, and the part that `debug` shows. */
export interface PreparedJob {
  /** The encrypted job; empty where its reply is handled without it. */
  readonly job: Uint8Array;
  readonly opened: OpenedJob;
  readonly shown: Uint8Array;
  /** Settings for showing the reply to a waiting caller. */
  readonly showing: Secret<Showing>;
}

export interface CheckedOrder {
  readonly facts: OrderFacts;
  readonly bytes: Uint8Array;
  /** The connection that it goes through, sealed. */
  readonly connection?: Uint8Array | undefined;
  readonly rules?: readonly string[] | undefined;
}

const NO_BYTES = new Uint8Array(0);
/** The showing of a job is sealed in its record. */
const NO_SHOWING = new Secret(STATUS_ONLY);

/** Prepares calls: checks their orders, and fills or seals their requests. */
export class CallPreparer {
  constructor(
    private readonly itemStore: ItemStore,
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly keys: KeyOpener,
    private readonly rules: Rules,
    private readonly connections: Connections,
    private readonly reader: ItemReader,
    private readonly rejections: Rejections,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
  ) {}

  /** Parses and checks the order of a request body. Rejects with the place of an invalid member. */
  async checkOrder(
    { aid, preferences }: Account,
    what: JobFacts['what'] | 'capture',
    body: Uint8Array,
  ): Promise<CheckedOrder> {
    const { refuseUnknown } = this.settings;
    const params = { what, webhookAttempts: preferences.webhook_max_attempts, refuseUnknown };
    const { facts, order } = await this.crypto.readProxyOrder({ aid, params, body });
    return { facts, bytes: order };
  }

  /** Adds the connection to an order that names one, with its host as the target. Rejects with `connection_not_found`. */
  async connectOrder({ aid }: Account, order: CheckedOrder): Promise<CheckedOrder> {
    const { facts } = order;
    if (facts.connection === undefined) {
      return order;
    }
    const { record, shown } = await this.connections.find(aid, facts.connection);
    return { ...order, facts: { ...facts, origin: shown.base_url }, connection: record, rules: shown.rules };
  }

  /** Rejects destinations that are certain to be rejected later, before anything is decrypted for them. */
  async vetOrder(account: Account, { facts: { origin, webhook } }: CheckedOrder): Promise<void> {
    const { thirdParties } = this;
    await Promise.all([
      origin === undefined ? undefined : vetTarget(thirdParties, account, origin, 'body.request.url'),
      webhook && thirdParties.vet(webhook.url, account.hosts, webhook.field),
    ]);
  }

  /** Returns the rules of an order: those of its connection, then those of the request. */
  async rulesOf({ aid }: Account, ids: readonly string[], order: CheckedOrder): Promise<RuleSet> {
    const own = await this.rules.find(aid, ids, 'query.rules');
    return order.rules === undefined
      ? own
      : [...(await this.rules.find(aid, order.rules, 'body.request.connection')), ...own];
  }

  /** Fills a request from an item, after logging its use. Rejects with `token_not_found` and errors of templates and rules. */
  async fill(
    ctx: AccountContext,
    input: ItemAddress & { readonly passphrase: SecretBytes },
    rules: RuleSet,
    order: CheckedOrder,
    own: FillRequest,
    readParts?: ReadParts,
  ): Promise<PreparedJob> {
    const { account } = ctx;
    const { token, reference, passphrase } = input;
    const filled = await this.keys.withUnlocked(ctx, input.user, passphrase, async (key, blob) => {
      const { hasSections } = order.facts;
      const forcedMask = sightOf(account) !== 'all';
      // A network token is not the stored number, which masked output hides.
      const sight = own.what === 'network_token' && mayReveal(account) ? 'all' : sightOf(account);
      const named = { hasSections, token, reference, forcedMask, sight };
      const opening = { kind: 'warm', blob, secret: passphrase } as const;
      const { bytes, connection } = order;
      const now = this.now();
      const fill = (item: ItemParts) => {
        const params = { ...ownerOf(ctx, key, now), ...own, ...named, seen: item.logLength };
        return this.crypto.fillProxy({ params, opening, rules, item, order: bytes, connection });
      };
      const made = await this.reader.readAndOpen(key, token, fill, readParts);
      if (made.kind === 'done') {
        return provenMissing(this.crypto, key, blob, passphrase);
      }
      if (!('logEntry' in made)) {
        return made;
      }
      const readAt = made.kind === 'rejected' ? undefined : now;
      const append = this.itemStore.appendOne(key.kid, token, made.logEntry, key.gen, undefined, readAt);
      const [logged, job] = await Promise.all([append, this.preparedOf({ aid: key.aid, id: own.id }, made)]);
      return logged.kind === 'appended' ? done(logged.present[0] ? job : undefined) : logged;
    });
    if (filled === undefined) {
      throw new VaultError('token_not_found');
    }
    if (filled instanceof VaultError) {
      this.rejections.ignore(filled);
      throw filled;
    }
    return filled;
  }

  /** Prepares a request whose reply is stored. Rejects an unknown rule at `query.rules`. */
  async prepareFetch(
    ctx: AccountContext,
    input: ProxyGetInput,
    order: CheckedOrder,
    id: string,
  ): Promise<PreparedJob> {
    const { account } = ctx;
    const { passphrase, attempts, smart_parse: smartParse, rules } = input;
    const algorithm = input.algorithm ?? account.preferences.default_algorithm;
    // An unknown rule must fail before the request is sent.
    await this.rules.find(account.aid, rules, 'query.rules');
    const { job } = await this.keys.withUnlocked(ctx, input.user, passphrase, async (key, blob) => {
      const sight = sightOf(account);
      const own = { id, attempts, algorithm, smartParse, rules, forcedMask: sight !== 'all', sight };
      const params = { ...ownerOf(ctx, key, this.now()), ...own };
      const made = await this.crypto.prepareFetch({ params, blob, passphrase, order: order.bytes });
      return made.kind === 'warm_miss' ? made : done(made);
    });
    const opened = await this.crypto.openJob({ place: { aid: account.aid, id }, job });
    return { job, opened, shown: NO_BYTES, showing: NO_SHOWING };
  }

  /** Makes the job of a filled request, or its error, which is thrown after the item's use is logged. */
  private async preparedOf(place: JobPlace, made: Filled): Promise<PreparedJob | VaultError> {
    switch (made.kind) {
      case 'rejected':
        return made.error;
      case 'ready':
        return { job: NO_BYTES, opened: made, shown: made.shown, showing: made.showing };
      case 'filled': {
        const opened = await this.crypto.openJob({ place, job: made.job });
        return { job: made.job, opened, shown: made.shown, showing: NO_SHOWING };
      }
    }
  }
}

function ownerOf(ctx: AccountContext, { aid, kid, user }: KeyRef, nowMs: number) {
  const { account } = ctx;
  const owner = { aid, kid, user, account: account.name, actor: actorNameOf(account) };
  return { ...actorOf(ctx, nowMs), ...owner };
}
