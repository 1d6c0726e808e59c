import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
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

/** Entries of a tree if neither the caller nor the owner sets a limit. */
const LIMIT = 1_024;

/** Retrieval endpoints: a caller with the secret reads items within the scope of the endpoint. */
export class Retrievals {
  constructor(
    private readonly rules: Rules,
    private readonly reader: ItemReader,
    private readonly trees: VaultTrees,
    private readonly endpoints: Endpoints,
    private readonly auth: EndpointAuth,
    private readonly metering: Metering,
  ) {}

  /** Creates an endpoint. Without `mask_fields`, the account's preference at each use applies. Rejects as `Endpoints` does. */
  create(ctx: AccountContext, input: CreateRetrieveInput): Promise<EndpointWithSecret> {
    const { token, reference, mask_fields: maskFields } = input;
    return this.endpoints.create(ctx, 'retrieve', input, { token, reference, maskFields });
  }

  /** Returns the object of a token as JSON bytes, or a tree. Rejects with `endpoint_out_of_scope` or `token_not_found`. */
  async use(ctx: RequestContext, input: RetrieveInput): Promise<Uint8Array | TreeStream> {
    const endpoint = await this.auth.admit(ctx, 'retrieve', input);
    const owner = actFor(ctx, endpoint.account);
    owner.endpointId = endpoint.id;
    owner.source = input.form_type === undefined ? 'retrieve' : 'form';
    try {
      const reference = referenceWithin(endpoint, input);
      const { token } = input;
      if (token !== undefined) {
        return await this.auth.use(endpoint, () => this.readOne(owner, endpoint, input, token, reference));
      }
      const read = () => this.readTree(owner, endpoint, input, reference);
      return await (input.decrypt_all ? this.auth.use(endpoint, read) : read());
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

  private async viewOf({ account }: AccountContext, { key, policy }: OpenEndpoint) {
    return {
      rules: await this.rules.find(key.aid, policy.rules),
      forcedMask: !account.unmasked,
      maskFields: policy.maskFields ?? account.preferences.mask_fields,
      wantsCard: policy.wantsCard,
    };
  }
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
