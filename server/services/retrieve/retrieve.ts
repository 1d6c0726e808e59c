import { VaultError } from '../../core/errors.ts';
import { preferredLimit } from '../../domain/account/preference.ts';
import type { Caller, Visitor } from '../common/caller.ts';
import type { CreateEndpointInput, Endpoints, NewEndpoint } from '../endpoint/endpoint.ts';
import type { EndpointAddress, EndpointUse, OpenEndpoint } from '../endpoint/use.ts';
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
    caller: Caller,
    input: CreateEndpointInput & {
      readonly token?: string | undefined;
      readonly reference?: string | undefined;
      /** Left out: what the account's preference is at each use. */
      readonly mask_fields?: readonly string[] | undefined;
    },
  ) => Promise<NewEndpoint>;
  /** With a token the object as JSON bytes, otherwise the tree of what the endpoint reaches. */
  readonly use: (visitor: Visitor, input: RetrieveInput) => Promise<Uint8Array | TreeStream>;
}

/** Entries of a tree whose caller and owner say nothing of it. */
const LIMIT = 1_024;

/** What retrieving is built from. */
interface RetrieveDependencies {
  readonly metering: Pick<MeteringService, 'begin' | 'count' | 'request' | 'wholly'>;
  readonly rules: Pick<Rules, 'find'>;
  readonly reading: Reading;
  readonly trees: VaultTrees;
  readonly endpoints: Pick<Endpoints, 'create'>;
  readonly endpointUse: EndpointUse;
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
  const { metering, rules, reading, trees, endpoints, endpointUse } = dependencies;

  const viewOf = async ({ account }: Caller, { key, policy }: OpenEndpoint) => ({
    rules: await rules.find(key.aid, policy.rules),
    forcedMask: !account.unmasked,
    maskFields: policy.maskFields ?? account.preferences.mask_fields,
    wantsCard: policy.wantsCard,
  });

  const openingOf = ({ id, key, records }: OpenEndpoint, { secret }: RetrieveInput) => ({
    endpoint: { id, gen: key.gen },
    records,
    secret,
  });

  const readOne = async (
    caller: Caller,
    endpoint: OpenEndpoint,
    input: RetrieveInput,
    item: { readonly token: string; readonly reference: string | undefined },
  ): Promise<Uint8Array> => {
    const view = await viewOf(caller, endpoint);
    const opening = openingOf(endpoint, input);
    const onOpened = (): void => metering.begin(endpoint.key, 'retrieve');
    const opened = await endpointUse.whileLive(endpoint, () =>
      reading.openOne(caller, endpoint.key, opening, { ...item, view, onOpened }),
    );
    if (opened === 'missing') {
      throw new VaultError('token_not_found');
    }
    return opened;
  };

  const readTree = async (
    caller: Caller,
    endpoint: OpenEndpoint,
    input: RetrieveInput,
    reference: string | undefined,
  ): Promise<TreeStream> => {
    const { key, nonce, policy } = endpoint;
    const { reference_prefix, next_token, decrypt_all } = input;
    const limit = preferredLimit(caller.account.preferences, input.limit, LIMIT);
    const filter = { user: key.user, token: policy.token, reference, reference_prefix, limit, next_token };
    const request = { account: key, route: `GET /v1/retrieve ${nonce} ${decrypt_all}`, filter, only: key };
    if (!decrypt_all) {
      const tree = await trees.listTree(request);
      metering.count(key, 'retrieve');
      return tree;
    }
    const view = await viewOf(caller, endpoint);
    const opening = openingOf(endpoint, input);
    return trees.openTree({ ...request, caller, opening, view, operation: 'retrieve' });
  };

  const useOpen = async (
    visitor: Visitor,
    endpoint: OpenEndpoint,
    input: RetrieveInput,
  ): ReturnType<RetrieveService['use']> => {
    const source = input.form_type === undefined ? 'retrieve' : 'form';
    const caller: Caller = { ...visitor, account: endpoint.account, source };
    const reply = await endpointUse.noting(endpoint, visitor, async () => {
      const { token, reference } = withinLock(endpoint, input);
      return token === undefined
        ? readTree(caller, endpoint, input, reference)
        : readOne(caller, endpoint, input, { token, reference });
    });
    try {
      await metering.request(endpoint.key);
    } catch (error) {
      if (!(reply instanceof Uint8Array)) {
        await reply.stream.cancel();
      }
      throw error;
    }
    return reply;
  };

  const use: RetrieveService['use'] = async (visitor, input) => {
    const endpoint = await endpointUse.admit('retrieve', input, visitor);
    return metering.wholly(endpoint.key, () => useOpen(visitor, endpoint, input));
  };

  return {
    create: (caller, { token, reference, mask_fields: maskFields, ...input }) =>
      endpoints.create(caller, 'retrieve', input, { token, reference, maskFields }),
    use,
  };
}
