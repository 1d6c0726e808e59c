import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto, FillProxyParams, OrderFacts, Passphrase, RuleSet } from '../../crypto/client.ts';
import type { ThirdParties } from '../../outbound/third-parties.ts';
import type { ItemStore } from '../../store/item.ts';
import type { Clock } from '../common/clock.ts';
import { type Account, type AccountContext, actorOf } from '../common/request-context.ts';
import type { Keys } from '../key/key.ts';
import { provenMissing } from '../key/open.ts';
import type { Rules } from '../rule/rule.ts';
import type { ItemAddress } from '../vault/read.ts';

/** What all three kinds of proxied request bring. */
interface ProxyInput {
  readonly passphrase: SecretBytes;
  /** The order as its JSON text, not yet looked at. */
  readonly body: Uint8Array;
}

/** How often a request may be sent, and which rules run over what goes out or comes in. */
interface AttemptsInput {
  /** 1 to 16. */
  readonly attempts: number;
  readonly rules: readonly string[];
}

export interface ProxyPostInput extends ItemAddress, ProxyInput, AttemptsInput {
  /** Whether the reply shows the request as it was filled. */
  readonly debug: boolean;
}

export interface ProxyGetInput extends ProxyInput, AttemptsInput {
  readonly user: string;
  /** How the token is made; `full` when left out. */
  readonly algorithm?: string | undefined;
  readonly smart_parse: boolean;
}

export interface NetworkTokenInput extends ItemAddress, ProxyInput {
  readonly requester_id: string;
}

const NO_BYTES = new Uint8Array(0);

/** A sealed job that nobody has sent yet, and what `debug` shows of it. */
export interface Prepared {
  readonly job: Uint8Array;
  readonly shown: Uint8Array;
}

/** One call, read and vetted. */
export interface Order {
  readonly facts: OrderFacts;
  readonly bytes: Uint8Array;
}

/** From what a caller asks for to a sealed job; nothing has been sent yet. */
export interface ProxyPreparing {
  /** Reads and checks a body; refuses it at its place. */
  readonly readOrder: (account: Account, what: Kind, body: Uint8Array) => Promise<Order>;
  /** Refuses destinations that are certain to be refused, before anything is opened for them. */
  readonly vet: (account: Account, order: Order) => Promise<void>;
  /** Fills a request from an item; that it was read is logged before anything of it can leave. */
  readonly fill: (
    ctx: AccountContext,
    input: ItemAddress & { readonly passphrase: Passphrase },
    applied: RuleSet,
    order: Order,
    own: FillOptions,
  ) => Promise<Prepared>;
  /** Prepares a request whose reply is to be stored. */
  readonly prepareFetch: (
    ctx: AccountContext,
    input: ProxyGetInput,
    order: Order,
    id: string,
  ) => Promise<Prepared>;
}

interface PreparingDependencies {
  readonly crypto: Pick<Crypto, 'checkWarm' | 'fillProxy' | 'prepareFetch' | 'readProxyOrder'>;
  readonly itemStore: Pick<ItemStore, 'appendLog' | 'bucketOf' | 'read'>;
  readonly thirdParties: Pick<ThirdParties, 'vet'>;
  readonly keys: Pick<Keys, 'withUnlocked'>;
  readonly rules: Pick<Rules, 'find'>;
  readonly now: Clock;
}

type Kind = 'post' | 'get' | 'network_token';
type FillOptions = Pick<FillProxyParams, 'id' | 'what' | 'attempts' | 'debug' | 'requesterId'>;

/** Makes what turns an order into a request that can be sent, and the record of it. */
export function createProxyPreparing(dependencies: PreparingDependencies): ProxyPreparing {
  const { crypto, itemStore, thirdParties, keys, rules, now } = dependencies;

  const readOrder: ProxyPreparing['readOrder'] = async ({ aid, preferences }, what, body) => {
    const params = { what, webhookAttempts: preferences.webhook_max_attempts };
    const { facts, order } = await crypto.readProxyOrder({ aid, params, body });
    return { facts, bytes: order };
  };

  const vet: ProxyPreparing['vet'] = async ({ hosts }, { facts: { origin, webhook } }) => {
    await Promise.all([
      origin === undefined ? undefined : thirdParties.vet(origin, hosts, 'body.request.url'),
      webhook && thirdParties.vet(webhook.url, hosts, webhook.field),
    ]);
  };

  const fill: ProxyPreparing['fill'] = async (ctx, input, applied, order, own) => {
    const { account } = ctx;
    const { token, reference, passphrase } = input;
    const filled = await keys.withUnlocked(account, input.user, passphrase, async (key, blob) => {
      const read = await itemStore.read(key.kid, token, key.gen);
      if (!read) {
        return provenMissing(crypto, key, blob, passphrase);
      }
      if (read.kind !== 'item') {
        return read;
      }
      const { requestId } = ctx;
      const place = { aid: key.aid, kid: key.kid, user: key.user, account: account.name, requestId };
      const named = { token, reference, seen: read.logLength, forcedMask: !account.unmasked };
      const params = { ...actorOf(ctx, now()), ...place, ...own, ...named };
      const made = await crypto.fillProxy({
        params,
        opening: { kind: 'warm', blob, secret: passphrase },
        rules: applied,
        item: read,
        order: order.bytes,
      });
      if (made.kind === 'warm_miss') {
        return made;
      }
      const bucket = itemStore.bucketOf(key.kid, token);
      const logged = await itemStore.appendLog(bucket, [token], [made.logEntry], key.gen);
      if (logged.kind !== 'appended') {
        return logged;
      }
      return logged.present[0] ? made : 'missing';
    });
    if (filled === 'missing') {
      throw new VaultError('token_not_found');
    }
    if (filled.kind === 'rejected') {
      throw filled.error;
    }
    return filled;
  };

  const prepareFetch: ProxyPreparing['prepareFetch'] = async (ctx, input, order, id) => {
    const { account } = ctx;
    const { passphrase, attempts, smart_parse: smartParse } = input;
    const algorithm = input.algorithm ?? account.preferences.default_algorithm;
    // A rule that is missing now would otherwise be missed only when the reply is there.
    await rules.find(account.aid, input.rules, 'query.rules');
    const made = await keys.withUnlocked(account, input.user, passphrase, (key, blob) => {
      const place = { aid: key.aid, kid: key.kid, user: key.user, account: account.name, id };
      const { ip, userAgent: ua, requestId } = ctx;
      const params = { ...place, ip, ua, requestId, attempts, algorithm, smartParse, rules: input.rules };
      return crypto.prepareFetch({ params, blob, passphrase, order: order.bytes });
    });
    return { job: made.job, shown: NO_BYTES };
  };

  return { readOrder, vet, fill, prepareFetch };
}
