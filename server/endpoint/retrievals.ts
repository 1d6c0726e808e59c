import { preferredLimit } from '../account/preference-values.ts';
import { bindParts } from '../core/bind.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import { type AccountContext, actFor, type RequestContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Rules } from '../rule/rules.ts';
import type { TreeStream, VaultTrees } from '../vault/list/list.ts';
import type { ItemReader } from '../vault/reader.ts';
import type { Rejections } from '../vault/rejections.ts';
import type { EndpointAddress, EndpointAuth, OpenEndpoint } from './auth.ts';
import type { CreateEndpointInput, Endpoints, EndpointWithSecret } from './endpoints.ts';

interface RetrieveInput extends EndpointAddress {
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
  readonly reference_prefix?: string | undefined;
  readonly decrypt_all: boolean;
  readonly limit?: number | undefined;
  readonly next_token?: string | undefined;
  /** The hosted form that shows the data, when one does. */
  readonly form_type?: string | undefined;
}

/** What is asked for, within what the endpoint reaches. */
interface Scope {
  readonly token: string | undefined;
  readonly reference: string | undefined;
}

/** Entries of a tree whose caller and owner say nothing of it. */
const LIMIT = 1_024;

interface RetrieveParts {
  readonly metering: Pick<MeteringService, 'countAhead' | 'count'>;
  readonly rules: Pick<Rules, 'find'>;
  readonly reading: ItemReader;
  readonly trees: VaultTrees;
  readonly endpoints: Pick<Endpoints, 'create'>;
  readonly endpointAuth: EndpointAuth;
  readonly rejections: Pick<Rejections, 'record'>;
}

/** Retrieval endpoints: a caller with the secret can read what the endpoint reaches, and do nothing else. */
export type Retrievals = ReturnType<typeof createRetrievals>;

/** Makes the retrieval endpoints of a server. */
export function createRetrievals(parts: RetrieveParts) {
  return bindParts(parts, { create, use });
}

/** Creates an endpoint. Without `mask_fields` the account's preference at each use decides. Rejects as `Endpoints` do. */
function create(
  { endpoints }: RetrieveParts,
  ctx: AccountContext,
  {
    token,
    reference,
    mask_fields: maskFields,
    ...input
  }: CreateEndpointInput & Partial<Scope> & { readonly mask_fields?: readonly string[] | undefined },
): Promise<EndpointWithSecret> {
  return endpoints.create(ctx, 'retrieve', input, { token, reference, maskFields });
}

/** Narrows what is asked for to what the endpoint reaches; rejects with `endpoint_out_of_scope` what lies outside. */
function withinLock({ policy }: OpenEndpoint, { token, reference }: RetrieveInput): Scope {
  const isOutside =
    (policy.token !== undefined && token !== undefined && token !== policy.token) ||
    (policy.reference !== undefined && reference !== undefined && reference !== policy.reference);
  if (isOutside) {
    throw new VaultError('endpoint_out_of_scope');
  }
  return { token, reference: policy.reference ?? reference };
}

async function viewOf({ rules }: RetrieveParts, { account }: AccountContext, { key, policy }: OpenEndpoint) {
  return {
    rules: await rules.find(key.aid, policy.rules),
    forcedMask: !account.unmasked,
    maskFields: policy.maskFields ?? account.preferences.mask_fields,
    wantsCard: policy.wantsCard,
  };
}

function openingOf({ id, key, records }: OpenEndpoint, { secret }: RetrieveInput) {
  return { kind: 'endpoint', use: { id, gen: key.gen }, ...records, secret } as const;
}

async function readOne(
  parts: RetrieveParts,
  ctx: AccountContext,
  endpoint: OpenEndpoint,
  input: RetrieveInput,
  item: Scope & { readonly token: string },
): Promise<Uint8Array> {
  const view = await viewOf(parts, ctx, endpoint);
  const opening = openingOf(endpoint, input);
  const onOpened = (): void => parts.metering.countAhead(ctx, 'retrieve');
  const opened = await parts.endpointAuth.whileLive(endpoint, () =>
    parts.reading.openOne(ctx, endpoint.key, opening, { ...item, view, onOpened }),
  );
  if (opened === undefined) {
    throw new VaultError('token_not_found');
  }
  return opened;
}

async function readTree(
  parts: RetrieveParts,
  ctx: AccountContext,
  endpoint: OpenEndpoint,
  input: RetrieveInput,
  reference: string | undefined,
): Promise<TreeStream> {
  const { key, nonce, policy } = endpoint;
  const { reference_prefix, next_token, decrypt_all } = input;
  const limit = preferredLimit(ctx.account.preferences, input.limit, LIMIT);
  const filter = { user: key.user, token: policy.token, reference, reference_prefix, limit, next_token };
  const request = { ctx, route: `GET /v1/retrieve ${nonce} ${decrypt_all}`, filter, only: key };
  if (!decrypt_all) {
    const tree = await parts.trees.listTree(request);
    parts.metering.count(ctx, 'retrieve');
    return tree;
  }
  const view = await viewOf(parts, ctx, endpoint);
  const opening = openingOf(endpoint, input);
  return parts.trees.openTree({ ...request, opening, view, operation: 'retrieve' });
}

/**
 * With a token the object as JSON bytes, otherwise the tree of what the endpoint reaches. Rejects as the authentication of the
 * endpoint does, with `endpoint_out_of_scope`, and with `token_not_found`.
 */
async function use(
  parts: RetrieveParts,
  ctx: RequestContext,
  input: RetrieveInput,
): Promise<Uint8Array | TreeStream> {
  const endpoint = await parts.endpointAuth.admit(ctx, 'retrieve', input);
  const owner = actFor(ctx, endpoint.account);
  owner.endpointId = endpoint.id;
  owner.source = input.form_type === undefined ? 'retrieve' : 'form';
  const read = async (): Promise<Uint8Array | TreeStream> => {
    const { token, reference } = withinLock(endpoint, input);
    if (token !== undefined) {
      return readOne(parts, owner, endpoint, input, { token, reference });
    }
    const tree = await recover(readTree(parts, owner, endpoint, input, reference), 'key_changed', undefined);
    if (tree === undefined) {
      // A new passphrase ends all endpoints of the key.
      throw new VaultError('endpoint_gone');
    }
    return tree;
  };
  const token = input.token ?? endpoint.policy.token;
  return parts.endpointAuth.recordFailure(owner, endpoint, read, (error) => {
    if (token !== undefined) {
      parts.rejections.record(owner, { kid: endpoint.key.kid, token }, 'decrypt', error);
    }
  });
}
