import type { Connections } from '../connection/connections.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { encodeSecret, Secret, type SecretBytes } from '../core/secret.ts';
import { checkInboundRules, type InboundRules } from '../domain/inbound/rules.ts';
import { type ItemMetadata, readMetadata } from '../domain/mask/metadata.ts';
import { normalRange } from '../domain/text/network.ts';
import { DURATION_EXPECTED, endOf } from '../domain/text/time.ts';
import { type DescribedEndpoint, type Endpoints, expiryText, urlOf } from '../endpoint/endpoints.ts';
import { namedInBody } from '../key/opener.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import type { AccountContext } from '../request/context.ts';
import { requireAlgorithm, requireKey, requireScope, vetTarget } from '../request/permission.ts';
import type { CreateInbound, Inbound } from './schema.ts';
import { DEFAULT_ALGORITHM, inboundOf } from './settings.ts';

/** The settings of a new inbound, with the passphrase of its key. */
interface CreateInboundInput extends CreateInbound {
  readonly passphrase: SecretBytes;
}

const NEVER = 'P0D';
/** Makes a new token each time. */
const RANDOM_ALGORITHM = 'uuid';

/** Inbounds, from creation to removal: endpoints that take requests for a connection. `InboundUses` uses them. */
export class Inbounds {
  constructor(
    private readonly thirdParties: ThirdParties,
    private readonly connections: Connections,
    private readonly endpoints: Endpoints,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /**
   * Creates an inbound, or makes it again with the secret that it had. Rejects with `connection_not_found`, `not_allowed`,
   * `destination_refused`, at an invalid setting, and as endpoints do.
   */
  async create(ctx: AccountContext, input: CreateInboundInput) {
    const { account } = ctx;
    const { id = this.randomId(), user, connection, extract, allow, strict, rate, ips, ttl } = input;
    requireScope(account, 'proxy:send');
    requireKey(account, user);
    requireAlgorithm(account, input.algorithm, 'body.algorithm');
    const createdAt = this.now();
    const expiresAt = endAt(input.expires_in ?? NEVER, createdAt, 'body.expires_in');
    if (ttl !== undefined) {
      endAt(ttl, createdAt, 'body.ttl');
    }
    const rules: InboundRules = { extract, allow, strict };
    checkInboundRules(rules);
    await this.requireConnection(ctx, connection);
    const making = this.endpoints.make(ctx, {
      id,
      passphrase: input.passphrase,
      given: input.secret === undefined ? undefined : encodeSecret(new Secret(input.secret)),
      field: 'body.id',
      policy: {
        ...{
          kind: 'inbound',
          account: account.name,
          user,
          createdAt,
          expiresAt,
          rules: [],
          wantsCard: false,
        },
        ...{ algorithm: algorithmOf(input.algorithm, account.preferences.default_algorithm), rate },
        inbound: { ...rules, connection, ttl, metadata: metadataOf(input.metadata), ips: ips?.map(rangeAt) },
      },
    });
    const made = await namedInBody(making);
    return { id, url: made.url, secret: made.secret, expires_at: made.expires_at };
  }

  /** Returns the inbounds of the account by key and id. */
  async list(ctx: AccountContext): Promise<Inbound[]> {
    return (await this.endpoints.find(ctx, 'inbound', undefined)).map(shown);
  }

  /** Returns an inbound. Rejects with `endpoint_not_found`. */
  async read({ account }: AccountContext, id: string): Promise<Inbound> {
    const found = await this.endpoints.read(account.aid, 'inbound', id);
    requireKey(account, found.policy.user);
    return shown(found);
  }

  /** Deletes an inbound at once. Rejects with `endpoint_not_found`. */
  async remove(ctx: AccountContext, id: string): Promise<void> {
    await this.endpoints.read(ctx.account.aid, 'inbound', id);
    await this.endpoints.remove(ctx, id);
  }

  /** Rejects a connection that the caller may not send to, and one that takes no requests of inbounds. */
  private async requireConnection({ account }: AccountContext, id: string): Promise<void> {
    const field = 'body.connection';
    const { shown: connection } = await this.connections.find(account.aid, id).catch((error: unknown) => {
      const isUnknown = error instanceof VaultError && error.code === 'connection_not_found';
      throw isUnknown ? new VaultError(error.code, { field }) : error;
    });
    if (connection.inbound !== true) {
      throw new VaultError('not_allowed', {
        field,
        expected: 'must be a connection with `inbound` set to `true`',
      });
    }
    await vetTarget(this.thirdParties, account, connection.base_url, field);
  }
}

function invalidAt(field: string, expected: string): VaultError {
  return new VaultError('invalid_request', { field, expected });
}

/** The end of a duration that begins at a time, in ms since 1970; null for none. */
function endAt(duration: string, from: number, field: string): number | null {
  const end = endOf(duration, from);
  if (end === undefined) {
    throw invalidAt(field, DURATION_EXPECTED);
  }
  return end;
}

/** The algorithm of the tokens: a repeated request gets the same ones. */
function algorithmOf(given: string | undefined, preferred: string): string {
  if (given === RANDOM_ALGORITHM) {
    throw invalidAt('body.algorithm', 'must make the same token of the same number: not `uuid`');
  }
  return given ?? (preferred === RANDOM_ALGORITHM ? DEFAULT_ALGORITHM : preferred);
}

function metadataOf(given: CreateInbound['metadata']): ItemMetadata | undefined {
  const texts =
    given &&
    Object.entries(given).map(([name, text]) => [name, typeof text === 'string' ? text : null] as const);
  return texts && readMetadata(new Map(texts), 'body.metadata');
}

function rangeAt(text: string, at: number): string {
  const range = normalRange(text);
  if (range === undefined) {
    throw invalidAt(`body.ips[${at}]`, 'must be an address or a CIDR');
  }
  return range;
}

/** An inbound as its owner sees it. */
function shown({ id, policy, isOver }: DescribedEndpoint): Inbound {
  const { user, rate, expiresAt, inbound } = policy;
  const { connection, rules, algorithm, ttl, metadata } = inboundOf({ id, policy });
  const { extract, allow, strict = true } = rules;
  // Written from a checked body, by `create`.
  const settings = { connection, extract, strict } as Pick<Inbound, 'connection' | 'extract' | 'strict'>;
  return {
    id,
    url: urlOf('inbound', id),
    user,
    ...settings,
    algorithm,
    ...(allow === undefined ? {} : { allow: [...allow] }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
    ...(rate === undefined ? {} : { rate }),
    ...(inbound?.ips === undefined ? {} : { ips: [...inbound.ips] }),
    expires_at: expiryText(expiresAt),
    expired: isOver,
  };
}
