import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { keepsDigits } from '../domain/card/token-format.ts';
import type { Keys } from '../key/keys.ts';
import { type Done, done, type Retry } from '../key/opener.ts';
import {
  type Account,
  type AccountContext,
  actFor,
  actorOf,
  confirmAccount,
  type RequestContext,
} from '../request/context.ts';
import type { IdempotencyService, Repeatable } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import { mayReveal, requireAlgorithm } from '../request/permission.ts';
import type { Rules } from '../rule/rules.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import type { ItemReader } from '../vault/reader.ts';
import type { Rejections } from '../vault/rejections.ts';
import type { ItemReplacer, Replaced } from '../vault/replacer.ts';
import type { TokenInfo } from '../vault/schema.ts';
import type { ItemStore } from '../vault/store/items.ts';
import type { ItemWriter } from '../vault/writer.ts';
import type { EndpointAddress, EndpointAuth, OpenEndpoint } from './auth.ts';
import type { Captured, CaptureState, ToldCapture } from './capture-schema.ts';
import {
  type CreateEndpointInput,
  type Endpoints,
  type EndpointWithSecret,
  expiryText,
} from './endpoints.ts';
import type { Sealing } from './sealing-keys.ts';

/** What is sent to a capture endpoint. */
export interface CaptureInput extends EndpointAddress {
  /** The text as sent, not yet parsed; its ciphertext where it is sealed. */
  readonly body: Uint8Array;
  /** Of a sealed body: its key, and the sender's half of the key agreement. */
  readonly sealed?: { readonly kid: string; readonly enc: Uint8Array } | undefined;
  readonly contentType?: string | undefined;
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata?: boolean | undefined;
  readonly ttl?: string | undefined;
  /** JSON text. */
  readonly metadata?: string | undefined;
  /** The hosted form that sends the data, when one does. */
  readonly form_type?: string | undefined;
}

/** What a capture endpoint is created with. */
export interface CreateCaptureInput extends CreateEndpointInput {
  readonly algorithm?: string | undefined;
  /** The only item that it updates, where it does not store. */
  readonly token?: string | undefined;
  /** That of this item; without a token the default of its captures. */
  readonly reference?: string | undefined;
  readonly smart_parse?: boolean | undefined;
  readonly overwrite?: boolean | undefined;
  readonly require_sealed?: boolean | undefined;
  /** The JSON text as sent, with a webhook or without; empty without a body. */
  readonly body: Uint8Array;
}

/** Webhooks of capture endpoints. */
export interface Telling {
  /**
   * The webhook of a new endpoint for its policy, empty without one. Rejects with the place of what is wrong, and with
   * `destination_refused`.
   */
  readonly check: (account: Account, body: Uint8Array) => Promise<Uint8Array>;
  /**
   * Accepts the report of a capture, which is then delivered as those of the proxy are. With the seed of an idempotent
   * request it is accepted once. Rejects with `jobs_full`.
   */
  readonly tell: (
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    captured: ToldCapture,
    seed: string | undefined,
  ) => Promise<void>;
}

type SealedOpening = Parameters<Crypto['captureItem']>[0]['sealed'];

/** What is needed to read what was sent, beside its endpoint. */
interface Reading {
  readonly applied: RuleSet;
  readonly sealed: SealedOpening;
}

interface CaptureParts {
  readonly crypto: Pick<Crypto, 'captureItem' | 'patchItem'>;
  readonly itemStore: Pick<ItemStore, 'read'>;
  readonly metering: Pick<MeteringService, 'countAhead' | 'request'>;
  readonly idempotency: IdempotencyService;
  readonly rules: Pick<Rules, 'find'>;
  readonly storing: Pick<ItemWriter, 'sadExpiry' | 'storeUnder'>;
  readonly replacing: ItemReplacer;
  readonly reading: Pick<ItemReader, 'check'>;
  readonly telling: Telling;
  readonly keys: Pick<Keys, 'find'>;
  readonly rejections: Pick<Rejections, 'record'>;
  readonly endpoints: Pick<Endpoints, 'create'>;
  readonly endpointAuth: EndpointAuth;
  readonly sealing: Pick<Sealing, 'recordOf'>;
  readonly now: Clock;
}

/**
 * Capture endpoints: a caller with the secret can store items under the key, or change the one item that the endpoint is
 * for, and do nothing else.
 */
export type Captures = ReturnType<typeof createCaptures>;

/** Makes the capture endpoints of a server. */
export function createCaptures(parts: CaptureParts) {
  return bindParts(parts, { create, use, check });
}

/** Rejects what only makes sense where an item gets its token. */
function rejectTokenOptions(options: Readonly<Record<string, unknown>>): void {
  const field = Object.keys(options).find((name) => options[name] !== undefined);
  if (field !== undefined) {
    const expected = 'has no place where the endpoint updates one token';
    throw new VaultError('invalid_request', { field: `query.${field}`, expected });
  }
}

/**
 * Creates an endpoint. Rejects as `Endpoints` do, with `not_allowed` an algorithm that its maker may not choose, with
 * `token_not_found` and `reference_required` where it is to update an item that is not there, and as its webhook is rejected.
 */
async function create(
  parts: CaptureParts,
  ctx: AccountContext,
  input: CreateCaptureInput,
): Promise<EndpointWithSecret> {
  const {
    smart_parse: smartParse,
    token,
    reference,
    algorithm,
    overwrite,
    require_sealed,
    body,
    ...common
  } = input;
  const { account } = ctx;
  requireAlgorithm(account, algorithm, 'query.algorithm');
  const requiresSealed = require_sealed === true ? true : undefined;
  const order = body.length === 0 ? undefined : await parts.telling.check(account, body);
  if (token !== undefined) {
    rejectTokenOptions({ algorithm, overwrite: overwrite === false ? overwrite : undefined });
    await parts.reading.check(await parts.keys.find(account, input.user), { token, reference });
    return parts.endpoints.create(
      ctx,
      'capture',
      common,
      { token, reference, smartParse, requiresSealed },
      order,
    );
  }
  const keeps = overwrite === false ? true : undefined;
  // What tokens look like is settled here: the same number must not get another token when a preference changes.
  const own = {
    algorithm: algorithm ?? account.preferences.default_algorithm,
    ...{ reference, keeps, smartParse, requiresSealed, mayReveal: mayReveal(account) || undefined },
  };
  return parts.endpoints.create(ctx, 'capture', common, own, order);
}

/** What the thread needs to read what was sent. */
function readingOf({ id, key, policy }: OpenEndpoint, ctx: AccountContext, contentType: string | undefined) {
  return {
    endpoint: { id, gen: key.gen },
    bytesMax: BODY_BYTES.item,
    forcedMask: !ctx.account.unmasked,
    ...(policy.smartParse ? { smartParse: { contentType } } : {}),
  };
}

/** How the thread opens a sealed body; undefined for any other. Rejects what the endpoint does not take. */
async function openingOf(
  { sealing }: CaptureParts,
  { idempotencyKey }: RequestContext,
  { policy }: OpenEndpoint,
  { sealed, reference, number }: CaptureInput,
): Promise<SealedOpening> {
  if (sealed === undefined) {
    if (policy.requiresSealed === true) {
      throw new VaultError('sealing_required');
    }
    return undefined;
  }
  if (number !== undefined) {
    throw new VaultError('invalid_request', {
      field: 'query.number',
      expected: 'has no place beside a sealed body, which is to hold the number',
    });
  }
  const { kid, enc } = sealed;
  return { names: { kid, reference, idempotencyKey }, key: await sealing.recordOf(kid), enc };
}

/**
 * Rejects an algorithm whose tokens keep digits of the number: where the maker of the endpoint may not see them, and beside a
 * sealed body, since whoever has recorded that could send it again and read them.
 */
function rejectDigits({ policy }: OpenEndpoint, { algorithm, sealed }: CaptureInput): void {
  if (algorithm === undefined || !keepsDigits(algorithm)) {
    return;
  }
  const field = 'query.algorithm';
  if (policy.mayReveal !== true) {
    const expected = 'keeps digits of the number, for which this endpoint was not made';
    throw new VaultError('not_allowed', { field, expected });
  }
  if (sealed !== undefined) {
    const expected = 'keeps digits of the number, which has no place beside a sealed body';
    throw new VaultError('invalid_request', { field, expected });
  }
}

function store(
  { crypto, endpointAuth, metering, storing }: CaptureParts,
  ctx: AccountContext,
  endpoint: OpenEndpoint,
  input: CaptureInput,
  { applied, sealed }: Reading,
  seed: string | undefined,
): Promise<TokenInfo> {
  const { id, policy, records, key } = endpoint;
  const reference = input.reference ?? policy.reference ?? id;
  const request = {
    number: input.number,
    reference,
    algorithm: input.algorithm ?? policy.algorithm,
    return_card_metadata: input.return_card_metadata ?? policy.wantsCard,
    ttl: input.ttl,
    metadata: input.metadata,
    seed,
    keeps: policy.keeps,
    onSealed: () => metering.countAhead(ctx, 'capture'),
  };
  const own = readingOf(endpoint, ctx, input.contentType);
  const { secret, body } = input;
  return endpointAuth.whileLive(endpoint, () =>
    storing.storeUnder(ctx, key, request, (wanted) =>
      crypto.captureItem({ params: { ...wanted, ...own }, records, secret, rules: applied, sealed, body }),
    ),
  );
}

/** One try to add what was sent to the endpoint's item; undefined when there is none. */
async function patchOnce(
  { crypto, itemStore, metering, replacing, storing, now }: CaptureParts,
  ctx: AccountContext,
  endpoint: OpenEndpoint,
  token: string,
  { secret, body, contentType }: CaptureInput,
  { applied, sealed }: Reading,
  seed: string | undefined,
): Promise<Done<Replaced | undefined> | Retry> {
  const { key, policy, records } = endpoint;
  const item = await itemStore.read(key.kid, token, key.gen);
  if (item?.kind !== 'item') {
    return item ?? done(undefined);
  }
  const params = {
    ...actorOf(ctx, now()),
    ...{ aid: key.aid, kid: key.kid, token, reference: policy.reference },
    ...{ seen: item.logLength, sadExpiresAt: storing.sadExpiry() },
    ...readingOf(endpoint, ctx, contentType),
  };
  const patched = await crypto.patchItem({ params, records, secret, rules: applied, sealed, item, body });
  await confirmAccount(ctx);
  metering.countAhead(ctx, 'capture');
  return replacing.writeOver(key, item, patched, seed);
}

/** Adds what was sent to the endpoint's item. Rejects with `endpoint_out_of_scope` another reference, and as `ItemReplacer`. */
function patch(
  parts: CaptureParts,
  ctx: AccountContext,
  endpoint: OpenEndpoint,
  token: string,
  input: CaptureInput,
  reading: Reading,
  seed: string | undefined,
): Promise<TokenInfo> {
  const { reference, number, algorithm, ttl, metadata } = input;
  if (reference !== undefined && reference !== endpoint.policy.reference) {
    throw new VaultError('endpoint_out_of_scope');
  }
  rejectTokenOptions({ number, algorithm, ttl, metadata });
  return parts.replacing.untilWritten(endpoint.key, token, () =>
    parts.endpointAuth.whileLive(endpoint, () =>
      patchOnce(parts, ctx, endpoint, token, input, reading, seed),
    ),
  );
}

/** What its sender learns of a capture. */
async function take(
  parts: CaptureParts,
  ctx: AccountContext,
  endpoint: OpenEndpoint,
  input: CaptureInput,
  seed?: string,
): Promise<Captured> {
  const { metering, rules } = parts;
  const { policy, key } = endpoint;
  if (policy.token === undefined) {
    rejectDigits(endpoint, input);
  }
  const sealed = await openingOf(parts, ctx, endpoint, input);
  const reading = { applied: await rules.find(key.aid, policy.rules), sealed };
  const taken =
    policy.token === undefined
      ? store(parts, ctx, endpoint, input, reading, seed)
      : patch(parts, ctx, endpoint, policy.token, input, reading, seed);
  const { stored_at: _, created: __, fingerprint: ___, metadata, ...captured } = await taken;
  if (policy.isTold) {
    await parts.telling.tell(ctx, endpoint, metadata ? { ...captured, metadata } : captured, seed);
  }
  await metering.request(ctx);
  return captured;
}

/** What an endpoint is, to a caller with its secret. Rejects as the authentication does. */
async function check(
  { endpointAuth }: CaptureParts,
  ctx: RequestContext,
  address: EndpointAddress,
): Promise<CaptureState> {
  const { id, policy } = await endpointAuth.admit(ctx, 'capture', address);
  return {
    ...{ unique_id: id, expires_at: expiryText(policy.expiresAt) },
    ...(policy.requiresSealed === true ? { require_sealed: true } : {}),
  };
}

/** Stores an item under the endpoint's key, or changes its item, once for an Idempotency-Key. Rejects as the authentication does. */
async function use(
  parts: CaptureParts,
  ctx: RequestContext,
  input: CaptureInput,
): Promise<Repeatable<Captured>> {
  const { endpointAuth, idempotency } = parts;
  const endpoint = await endpointAuth.admit(ctx, 'capture', input);
  const owner = actFor(ctx, endpoint.account);
  const { number, reference, algorithm, return_card_metadata, ttl, metadata, form_type, body, sealed } =
    input;
  const { idempotencyKey } = owner;
  owner.endpointId = endpoint.id;
  owner.source = form_type === undefined ? 'capture' : 'form';
  const act = (seed?: string): Promise<Captured> =>
    endpointAuth.recordFailure(
      owner,
      endpoint,
      () => take(parts, owner, endpoint, input, seed),
      (error) => {
        const { token } = endpoint.policy;
        if (token !== undefined) {
          parts.rejections.record(owner, { kid: endpoint.key.kid, token }, 'encrypt', error);
        }
      },
    );
  if (idempotencyKey === undefined) {
    return { reply: await act(), replayed: false };
  }
  const request = {
    key: idempotencyKey,
    // An endpoint made later under the same id is another one.
    route: `POST /v1/capture ${endpoint.nonce}`,
    parts: [
      ...[number, reference, algorithm, return_card_metadata, ttl, metadata, form_type, body],
      // A body that is sealed again is another one: nothing here can know that it is the same.
      ...(sealed === undefined ? [] : [sealed.kid, sealed.enc]),
    ],
  };
  return idempotency.run(owner, request, act);
}
