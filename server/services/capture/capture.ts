import type { Crypto } from '../../crypto/client.ts';
import type { Captured } from '../../http/schema/capture.ts';
import { STORED_BYTES_MAX } from '../../http/schema/vault.ts';
import { bindParts } from '../common/bind.ts';
import { type AccountContext, actFor, type RequestContext } from '../common/request-context.ts';
import type { EndpointAddress, EndpointAuth, OpenEndpoint } from '../endpoint/auth.ts';
import type { CreateEndpointInput, Endpoints, EndpointWithSecret } from '../endpoint/endpoint.ts';
import type { IdempotencyService, Repeatable } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Rules } from '../rule/rule.ts';
import type { Storing } from '../vault/store.ts';

/** What is sent to a capture endpoint. */
export interface CaptureInput extends EndpointAddress {
  /** The text as sent, not yet parsed. */
  readonly body: Uint8Array;
  readonly contentType?: string | undefined;
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata?: boolean | undefined;
  /** The hosted form that sends the data, when one does. */
  readonly form_type?: string | undefined;
}

/** What a capture endpoint is created with. */
export interface CreateCaptureInput extends CreateEndpointInput {
  readonly algorithm?: string | undefined;
  /** The default of its captures. */
  readonly reference?: string | undefined;
  readonly smart_parse?: boolean | undefined;
  readonly overwrite?: boolean | undefined;
}

interface CaptureParts {
  readonly crypto: Pick<Crypto, 'captureItem'>;
  readonly metering: Pick<MeteringService, 'countAhead' | 'request'>;
  readonly idempotency: IdempotencyService;
  readonly rules: Pick<Rules, 'find'>;
  readonly storing: Pick<Storing, 'storeUnder'>;
  readonly endpoints: Pick<Endpoints, 'create'>;
  readonly endpointAuth: EndpointAuth;
}

/** Capture endpoints: a caller with the secret can store items under the key, and do nothing else. */
export type Captures = ReturnType<typeof createCaptures>;

/** Makes the capture endpoints of a server. */
export function createCaptures(parts: CaptureParts) {
  return bindParts(parts, { create, use });
}

/** Creates an endpoint. Rejects as `Endpoints` do. */
function create(
  { endpoints }: CaptureParts,
  ctx: AccountContext,
  input: CreateCaptureInput,
): Promise<EndpointWithSecret> {
  // What tokens look like is settled here: the same number must not get another token when a preference changes.
  const { algorithm = ctx.account.preferences.default_algorithm, reference, ...rest } = input;
  const { smart_parse: smartParse, overwrite, ...common } = rest;
  const keeps = overwrite === false ? true : undefined;
  return endpoints.create(ctx, 'capture', common, { algorithm, reference, keeps, smartParse });
}

async function store(
  { crypto, endpointAuth, metering, rules, storing }: CaptureParts,
  ctx: AccountContext,
  endpoint: OpenEndpoint,
  input: CaptureInput,
  seed?: string,
): Promise<Captured> {
  const { id, policy, records, key } = endpoint;
  const applied = await rules.find(key.aid, policy.rules);
  const reference = input.reference ?? policy.reference ?? id;
  const request = {
    number: input.number,
    reference,
    algorithm: input.algorithm ?? policy.algorithm,
    return_card_metadata: input.return_card_metadata ?? policy.wantsCard,
    seed,
    keeps: policy.keeps,
    onSealed: () => metering.countAhead(ctx, 'capture'),
  };
  const own = {
    endpoint: { id, gen: key.gen },
    bytesMax: STORED_BYTES_MAX,
    forcedMask: !ctx.account.unmasked,
    ...(policy.smartParse ? { smartParse: { contentType: input.contentType } } : {}),
  };
  const write = () =>
    storing.storeUnder(ctx, key, request, (wanted) =>
      crypto.captureItem({
        params: { ...wanted, ...own },
        records,
        secret: input.secret,
        rules: applied,
        body: input.body,
      }),
    );
  const { token, user, card_metadata } = await endpointAuth.whileLive(endpoint, write);
  await metering.request(ctx);
  return { token, user, reference, ...(card_metadata ? { card_metadata } : {}) };
}

/** Stores an item under the endpoint's key, once for an Idempotency-Key. Rejects as the authentication does. */
async function use(
  parts: CaptureParts,
  ctx: RequestContext,
  input: CaptureInput,
): Promise<Repeatable<Captured>> {
  const { endpointAuth, idempotency } = parts;
  const endpoint = await endpointAuth.admit(ctx, 'capture', input);
  const owner = actFor(ctx, endpoint.account);
  const { number, reference, algorithm, return_card_metadata, form_type, body } = input;
  const { idempotencyKey } = owner;
  owner.endpointId = endpoint.id;
  owner.source = form_type === undefined ? 'capture' : 'form';
  const act = (seed?: string): Promise<Captured> =>
    endpointAuth.recordFailure(owner, endpoint, () => store(parts, owner, endpoint, input, seed));
  if (idempotencyKey === undefined) {
    return { reply: await act(), replayed: false };
  }
  const request = {
    key: idempotencyKey,
    // An endpoint made later under the same id is another one.
    route: `POST /v1/capture ${endpoint.nonce}`,
    parts: [number, reference, algorithm, return_card_metadata, form_type, body],
  };
  return idempotency.run(owner, request, act);
}
