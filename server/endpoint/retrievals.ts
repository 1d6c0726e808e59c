import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { RULE_LIMITS } from '../domain/rule/budget.ts';
import { type AccountContext, actFor, type RequestContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { Rules } from '../rule/rules.ts';
import type { TreeStream, VaultTrees } from '../vault/list/list.ts';
import type { ItemReader } from '../vault/reader.ts';
import type { EndpointAddress, EndpointAuth, OpenEndpoint } from './auth.ts';
import type { CreateEndpointInput, Endpoints, EndpointWithSecret } from './endpoints.ts';
import type { CreateRetrieveQuery, RetrieveQuery } from './schema.ts';

type RetrieveInput = EndpointAddress & RetrieveQuery;

type CreateRetrieveInput = CreateEndpointInput & CreateRetrieveQuery;

/** A sealed page, and the most bytes of an item in it, with its data, with what rules make of that, and without. */
const PAGE_BYTES_MAX = 4 * 1_048_576;
const OPENED_BYTES_MAX = 300_000;
const LISTED_BYTES_MAX = 20_000;
const RULED_BYTES_MAX = RULE_LIMITS.bytesMax + LISTED_BYTES_MAX;
const COMMA = Buffer.from(',');
const END = Buffer.from(']}');

/** A reply that only its reader can open. */
interface SealedReply {
  readonly enc: Uint8Array;
  readonly ct: Uint8Array;
  readonly nextToken: string | undefined;
}

/** Entries of a tree if neither the caller nor the owner sets a limit. */
const LIMIT = 1_024;

/** Retrieval endpoints: a caller with the secret reads items within the scope of the endpoint. */
export class Retrievals {
  constructor(
    private readonly crypto: Crypto,
    private readonly rules: Rules,
    private readonly reader: ItemReader,
    private readonly trees: VaultTrees,
    private readonly endpoints: Endpoints,
    private readonly auth: EndpointAuth,
    private readonly metering: Metering,
  ) {}

  /** Creates an endpoint. Without `mask_fields`, the account's preference at each use applies. Rejects as `Endpoints` does. */
  create(ctx: AccountContext, input: CreateRetrieveInput): Promise<EndpointWithSecret> {
    const { token, reference, mask_fields: maskFields, require_sealed } = input;
    const requiresSealed = require_sealed === true ? true : undefined;
    return this.endpoints.create(ctx, 'retrieve', input, { token, reference, maskFields, requiresSealed });
  }

  /** Returns the object of a token as JSON bytes, or a tree. Rejects with `endpoint_out_of_scope` or `token_not_found`. */
  use(ctx: RequestContext, input: RetrieveInput): Promise<Uint8Array | TreeStream> {
    return this.admitAndRead<Uint8Array | TreeStream>(ctx, input, (owner, endpoint, reference) =>
      input.token === undefined
        ? this.readTree(owner, endpoint, input, reference)
        : this.readOne(owner, endpoint, input, input.token, reference),
    );
  }

  /** Does the same, with the reply sealed to a point of the reader. A page ends before it is too long to be sealed whole. */
  async useSealed(ctx: RequestContext, input: RetrieveInput, to: Uint8Array): Promise<SealedReply> {
    const { unique_id: id, token, reference } = input;
    const { body, nextToken } = await this.admitAndRead(
      ctx,
      input,
      async (owner, endpoint, within) =>
        token === undefined
          ? this.readPage(owner, endpoint, input, within)
          : { body: await this.readOne(owner, endpoint, input, token, within), nextToken: undefined },
      to,
    );
    return { ...(await this.crypto.sealRetrieval({ names: { id, token, reference }, to, body })), nextToken };
  }

  private async admitAndRead<T>(
    ctx: RequestContext,
    input: RetrieveInput,
    read: (owner: AccountContext, endpoint: OpenEndpoint, reference: string | undefined) => Promise<T>,
    to?: Uint8Array,
  ): Promise<T> {
    const endpoint = await this.auth.admit(ctx, 'retrieve', input);
    const owner = actFor(ctx, endpoint.account);
    owner.endpointId = endpoint.id;
    owner.source = input.form_type === undefined ? 'retrieve' : 'form';
    try {
      const reference = referenceWithin(endpoint, input);
      if (endpoint.policy.requiresSealed === true && to === undefined) {
        throw new VaultError('sealing_required');
      }
      const showsData = input.token !== undefined || input.decrypt_all;
      const act = () => read(owner, endpoint, reference);
      return await (showsData
        ? this.auth.use(owner, endpoint, (take) => (take === undefined ? act() : take().then(act)))
        : act());
    } catch (error) {
      const token = input.token ?? endpoint.policy.token;
      await this.auth.recordFailure(owner, endpoint, 'decrypt', token, error);
      throw error;
    }
  }

  private async readOne(
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    input: RetrieveInput,
    token: string,
    reference: string | undefined,
  ): Promise<Uint8Array> {
    const view = await this.viewOf(ctx, endpoint);
    const opening = openingOf(endpoint, input);
    const request = { token, reference, view, operation: 'retrieve' } as const;
    const opened = await this.auth.whileLive(endpoint, () =>
      this.reader.openOne(ctx, endpoint.key, opening, request),
    );
    if (opened === undefined) {
      throw new VaultError('token_not_found');
    }
    return opened;
  }

  private async readTree(
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    input: RetrieveInput,
    reference: string | undefined,
  ): Promise<TreeStream> {
    const { key, nonce, policy } = endpoint;
    const { reference_prefix, next_token, decrypt_all } = input;
    const limit = input.limit ?? ctx.account.preferences.default_limit ?? LIMIT;
    const filter = { user: key.user, token: policy.token, reference, reference_prefix, limit, next_token };
    const request = { ctx, route: `GET /v1/retrieve ${nonce} ${decrypt_all}`, filter };
    const opening = openingOf(endpoint, input);
    const view = decrypt_all ? await this.viewOf(ctx, endpoint) : undefined;
    const reading = view
      ? this.trees.openTree({ ...request, key, opening, view, operation: 'retrieve' })
      : this.trees.listTree({ ...request, only: key });
    const tree = await recover(reading, 'key_changed', undefined);
    if (tree === undefined) {
      // A new passphrase ends all endpoints of the key.
      throw new VaultError('endpoint_gone');
    }
    if (!decrypt_all) {
      this.metering.count(ctx, 'retrieve');
    }
    return tree;
  }

  /** Reads a page of a tree whole, in parts that certainly fit. */
  private async readPage(
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    input: RetrieveInput,
    reference: string | undefined,
  ): Promise<{ readonly body: Uint8Array; readonly nextToken: string | undefined }> {
    const wanted = input.limit ?? ctx.account.preferences.default_limit ?? LIMIT;
    if (wanted < 0) {
      throw new VaultError('invalid_request', {
        field: 'query.limit',
        expected: 'must be positive: a sealed reply is a page',
      });
    }
    const openedBytes = endpoint.policy.rules.length > 0 ? RULED_BYTES_MAX : OPENED_BYTES_MAX;
    const itemBytes = input.decrypt_all ? openedBytes : LISTED_BYTES_MAX;
    const parts: Uint8Array[] = [];
    let next_token = input.next_token;
    let bytes = 0;
    for (let items = 0; items < wanted; ) {
      const limit = Math.min(wanted - items, Math.floor((PAGE_BYTES_MAX - bytes) / itemBytes));
      if (limit <= 0) {
        break;
      }
      const from = next_token === undefined ? {} : { next_token };
      const part = await this.readTree(ctx, endpoint, { ...input, limit, ...from }, reference);
      const text = new Uint8Array(await new Response(part.stream).arrayBuffer());
      parts.push(text);
      bytes += text.length;
      items += limit;
      next_token = part.nextToken;
      if (next_token === undefined) {
        break;
      }
    }
    return { body: joinTrees(endpoint.key.user, parts), nextToken: next_token };
  }

  private async viewOf({ account }: AccountContext, { key, policy }: OpenEndpoint) {
    return {
      rules: await this.rules.find(key.aid, policy.rules),
      forcedMask: !account.unmasked,
      maskFields: policy.maskFields ?? account.preferences.mask_fields,
      wantsCard: policy.wantsCard,
    };
  }
}

/** Joins trees of one key, whose texts are `{"user":[…]}`, to one; wipes them. */
function joinTrees(user: string, trees: readonly Uint8Array[]): Uint8Array {
  const head = Buffer.from(`{${JSON.stringify(user)}:[`);
  const lists = trees.map((tree) => tree.subarray(head.length, -2)).filter((list) => list.length > 0);
  const joined = Buffer.concat([
    head,
    ...lists.flatMap((list, at) => (at === 0 ? [list] : [COMMA, list])),
    END,
  ]);
  for (const tree of trees) {
    tree.fill(0);
  }
  return joined;
}

/** Returns the reference that the endpoint or the caller names. Throws `endpoint_out_of_scope` outside the endpoint's scope. */
function referenceWithin({ policy }: OpenEndpoint, { token, reference }: RetrieveInput): string | undefined {
  const isOutside =
    (policy.token !== undefined && token !== undefined && token !== policy.token) ||
    (policy.reference !== undefined && reference !== undefined && reference !== policy.reference);
  if (isOutside) {
    throw new VaultError('endpoint_out_of_scope');
  }
  return policy.reference ?? reference;
}

function openingOf({ id, key, records }: OpenEndpoint, { secret }: RetrieveInput) {
  return { kind: 'endpoint', use: { id, gen: key.gen }, ...records, secret } as const;
}
