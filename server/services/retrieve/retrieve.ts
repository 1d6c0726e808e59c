import { VaultError } from '../../core/errors.ts';
import { preferredLimit } from '../../domain/account/preference.ts';
import { type AccountContext, actFor, type RequestContext } from '../common/request-context.ts';
import type { EndpointAccess, EndpointAddress, OpenEndpoint } from '../endpoint/access.ts';
import type { CreateEndpointInput, Endpoints, EndpointWithSecret } from '../endpoint/endpoint.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Rules } from '../rule/rule.ts';
import type { VaultTrees } from '../vault/list.ts';
import type { Reading } from '../vault/read.ts';
import type { TreeStream } from '../vault/tree.ts';

export interface RetrieveInput extends EndpointAddress {
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly reference_prefix?: string | undefined;
  readonly decrypt_all: boolean;
  readonly limit?: number | undefined;
  readonly next_token?: string | undefined;
  /** The hosted form that shows the data, when one does. */
  readonly form_type?: string | undefined;
}

export interface RetrieveService {
  readonly create: (
    ctx: AccountContext,
    input: CreateEndpointInput & {
      readonly token?: string | undefined;
      readonly reference?: string | undefined;
      /** Left out: what the account's preference is at each use. */
      readonly mask_fields?: readonly string[] | undefined;
    },
  ) => Promise<EndpointWithSecret>;
  /** With a token the object as JSON bytes, otherwise the tree of what the endpoint reaches. */
  readonly use: (ctx: RequestContext, input: RetrieveInput) => Promise<Uint8Array | TreeStream>;
}

/** Entries of a tree whose caller and owner say nothing of it. */
const LIMIT = 1_024;

/** What retrieving is built from. */
interface RetrieveDependencies {
  readonly metering: Pick<MeteringService, 'countAhead' | 'count'>;
  readonly rules: Pick<Rules, 'find'>;
  readonly reading: Reading;
  readonly trees: VaultTrees;
  readonly endpoints: Pick<Endpoints, 'create'>;
  readonly endpointAccess: EndpointAccess;
}

/** What is asked for, narrowed to what the endpoint reaches; refuses what lies outside. */
function withinLock(
  { policy }: OpenEndpoint,
  { token, reference }: Pick<RetrieveInput, 'token' | 'reference'>,
): { readonly token: string | undefined; readonly reference: string | undefined } {
  const isOutside =
    (policy.token !== undefined && token !== undefined && token !== policy.token) ||
    (policy.reference !== undefined && reference !== undefined && reference !== policy.reference);
  if (isOutside) {
    throw new VaultError('endpoint_out_of_scope');
  }
  return { token, reference: policy.reference ?? reference };
}

/** Retrieval endpoints: whoever has the secret can read what the endpoint reaches, and do nothing else. */
export function createRetrievals(dependencies: RetrieveDependencies): RetrieveService {
  const { metering, rules, reading, trees, endpoints, endpointAccess } = dependencies;

  const viewOf = async ({ account }: AccountContext, { key, policy }: OpenEndpoint) => ({
    rules: await rules.find(key.aid, policy.rules),
    forcedMask: !account.unmasked,
    maskFields: policy.maskFields ?? account.preferences.mask_fields,
    wantsCard: policy.wantsCard,
  });

  const openingOf = ({ id, key, records }: OpenEndpoint, { secret }: RetrieveInput) =>
    ({ kind: 'endpoint', use: { id, gen: key.gen }, ...records, secret }) as const;

  const readOne = async (
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    input: RetrieveInput,
    item: { readonly token: string; readonly reference: string | undefined },
  ): Promise<Uint8Array> => {
    const view = await viewOf(ctx, endpoint);
    const opening = openingOf(endpoint, input);
    const onOpened = (): void => metering.countAhead(ctx, 'retrieve');
    const opened = await endpointAccess.whileLive(endpoint, () =>
      reading.openOne(ctx, endpoint.key, opening, { ...item, view, onOpened }),
    );
    if (opened === 'missing') {
      throw new VaultError('token_not_found');
    }
    return opened;
  };

  const readTree = async (
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    input: RetrieveInput,
    reference: string | undefined,
  ): Promise<TreeStream> => {
    const { key, nonce, policy } = endpoint;
    const { reference_prefix, next_token, decrypt_all } = input;
    const limit = preferredLimit(ctx.account.preferences, input.limit, LIMIT);
    const filter = { user: key.user, token: policy.token, reference, reference_prefix, limit, next_token };
    const request = { ctx, route: `GET /v1/retrieve ${nonce} ${decrypt_all}`, filter, only: key };
    if (!decrypt_all) {
      const tree = await trees.listTree(request);
      metering.count(ctx, 'retrieve');
      return tree;
    }
    const view = await viewOf(ctx, endpoint);
    const opening = openingOf(endpoint, input);
    return trees.openTree({ ...request, opening, view, operation: 'retrieve' });
  };

  const use: RetrieveService['use'] = async (ctx, input) => {
    const endpoint = await endpointAccess.admit(ctx, 'retrieve', input);
    const owner = actFor(ctx, endpoint.account);
    owner.source = input.form_type === undefined ? 'retrieve' : 'form';
    return endpointAccess.recordFailure(owner, endpoint, async () => {
      const { token, reference } = withinLock(endpoint, input);
      return token === undefined
        ? readTree(owner, endpoint, input, reference)
        : readOne(owner, endpoint, input, { token, reference });
    });
  };

  return {
    create: (ctx, { token, reference, mask_fields: maskFields, ...input }) =>
      endpoints.create(ctx, 'retrieve', input, { token, reference, maskFields }),
    use,
  };
}
