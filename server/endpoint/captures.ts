import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import type { StoredParts } from '../../workers/jobs/vault/jobs.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import { keepsDigits } from '../domain/card/token-format.ts';
import { parseNamedPath } from '../domain/json/named.ts';
import { jobIdOf, type ProxyJobs } from '../job/jobs.ts';
import type { KeyOpener, KeyRef } from '../key/opener.ts';
import type { Attempts } from '../limits/attempts.ts';
import type { CallPreparer } from '../proxy/prepare.ts';
import {
  type Account,
  type AccountContext,
  actFor,
  actorOf,
  type RequestContext,
  rejectAbandoned,
} from '../request/context.ts';
import type { Idempotency, Repeatable } from '../request/idempotency.ts';
import { mayReveal, requireAlgorithm } from '../request/permission.ts';
import type { Rules } from '../rule/rules.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import type { CardMetadataSource } from '../vault/card-metadata.ts';
import type { ItemReader } from '../vault/reader.ts';
import type { BinNetworks, TokenInfo } from '../vault/schema.ts';
import type { ItemWriter } from '../vault/writer.ts';
import type { EndpointAddress, EndpointAuth, OpenEndpoint, TakesUse } from './auth.ts';
import {
  type CreateEndpointInput,
  type Endpoints,
  type EndpointWithSecret,
  expiryText,
} from './endpoints.ts';
import type { Captured, CaptureQuery, CaptureState, CaptureWebhook, CreateCaptureQuery } from './schema.ts';
import type { SealingKeys } from './sealing-keys.ts';

export interface CaptureBody {
  /** The text as sent, not yet parsed; the ciphertext of a sealed body. */
  readonly body: Uint8Array;
  /** The key that a sealed body names, and the sender's half of the key agreement. */
  readonly sealed?: { readonly kid: string; readonly enc: Uint8Array };
  readonly contentType?: string | undefined;
}

/** Data sent to a capture endpoint, with its options. */
type CaptureInput = EndpointAddress & CaptureQuery & CaptureBody;

/** Options of a new capture endpoint. `body` is the JSON text as sent, with a webhook or without; empty without a body. */
interface CreateCaptureInput extends CreateEndpointInput, CreateCaptureQuery {
  readonly body: Uint8Array;
}

type SealedOpening = Parameters<Crypto['captureItem']>[0]['sealed'];

interface Capture {
  readonly ctx: AccountContext;
  readonly endpoint: OpenEndpoint;
  readonly input: CaptureInput;
  /** The input of the thread that reads the body. */
  readonly given: { readonly rules: RuleSet; readonly sealed: SealedOpening };
  readonly seed: string | undefined;
  readonly take: TakesUse | undefined;
}

const NO_BYTES = new Uint8Array(0);
/** The first digits of a number, by which its networks are looked up. */
const BIN = /^\d{6,8}$/;
/** Lookups of first digits, for each address. */
const LOOKUP_RATE = { count: 10, periodMs: 60_000 };

export class CaptureWebhooks {
  constructor(
    private readonly crypto: Crypto,
    private readonly preparer: CallPreparer,
    private readonly jobs: ProxyJobs,
    private readonly randomId: RandomId,
  ) {}

  /** Returns the webhook of a new endpoint, empty without one. Rejects at an invalid field or with `destination_refused`. */
  async check(account: Account, body: Uint8Array): Promise<Uint8Array> {
    const order = await this.preparer.checkOrder(account, 'capture', body);
    await this.preparer.vetOrder(account, order);
    return order.facts.webhook === undefined ? NO_BYTES : order.bytes;
  }

  /** Accepts the report of a capture for delivery, once for the seed of an idempotent request. Rejects with `jobs_full`. */
  async notify(
    { requestId }: AccountContext,
    { id: endpointId, key: { aid, kid }, records }: OpenEndpoint,
    captured: CaptureWebhook,
    seed: string | undefined,
  ): Promise<void> {
    const id = seed === undefined ? this.randomId() : jobIdOf('capture', seed);
    const place = { aid, id: endpointId, kind: 'capture' } as const;
    const { policy } = records;
    const record = await this.crypto.reportCapture({ place, policy, report: { id, requestId, captured } });
    const again = seed !== undefined;
    await this.jobs.accept(aid, { id, kid, phase: 'tell', kind: 'capture', record, again });
  }
}

/** Capture endpoints: a caller with the secret stores items under the key, or updates the one item of the endpoint. */
export class Captures {
  constructor(
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly rules: Rules,
    private readonly writer: ItemWriter,
    private readonly reader: ItemReader,
    private readonly endpoints: Endpoints,
    private readonly auth: EndpointAuth,
    private readonly sealingKeys: SealingKeys,
    private readonly webhooks: CaptureWebhooks,
    private readonly cards: CardMetadataSource,
    private readonly idempotency: Idempotency,
    private readonly attempts: Attempts,
    private readonly now: Clock,
  ) {}

  /** Creates an endpoint. Rejects as `Endpoints` does, `not_allowed`, `token_not_found` or `reference_required`. */
  async create(ctx: AccountContext, input: CreateCaptureInput): Promise<EndpointWithSecret> {
    const { smart_parse: smartParse, token, reference, algorithm, overwrite, require_sealed, body } = input;
    const referenceField = referenceFieldOf(input);
    const { account } = ctx;
    requireAlgorithm(account, algorithm, 'query.algorithm');
    const requiresSealed = require_sealed === true ? true : undefined;
    const order = body.length === 0 ? undefined : await this.webhooks.check(account, body);
    if (token !== undefined) {
      rejectTokenOptions({ algorithm, overwrite: overwrite === false ? overwrite : undefined });
      const key = await this.keys.find(account, input.user);
      await this.reader.check(key, { token, reference });
      const own = { token, reference, smartParse, requiresSealed };
      return this.endpoints.create(ctx, 'capture', input, own, order);
    }
    const keeps = overwrite === false ? true : undefined;
    // The token format is fixed here: the same number must not get another token when a preference changes.
    const own = {
      algorithm: algorithm ?? account.preferences.default_algorithm,
      ...{
        reference,
        referenceField,
        keeps,
        smartParse,
        requiresSealed,
        mayReveal: mayReveal(account) || undefined,
      },
    };
    return this.endpoints.create(ctx, 'capture', input, own, order);
  }

  /** Stores or updates an item, once for an Idempotency-Key. Rejects as the authentication does. */
  async use(ctx: RequestContext, input: CaptureInput): Promise<Repeatable<Captured>> {
    const endpoint = await this.auth.admit(ctx, 'capture', input);
    const owner = actFor(ctx, endpoint.account);
    const { number, reference, algorithm, return_card_metadata, ttl, metadata, form_type, body, sealed } =
      input;
    const { idempotencyKey } = owner;
    owner.endpointId = endpoint.id;
    owner.source = form_type === undefined ? 'capture' : 'form';
    if (idempotencyKey === undefined) {
      return { reply: await this.capture(owner, endpoint, input, undefined), replayed: false };
    }
    const request = {
      key: idempotencyKey,
      // A later endpoint with the same id is another one.
      route: `POST /v1/capture ${endpoint.nonce}`,
      parts: [
        ...[number, reference, algorithm, return_card_metadata, ttl, metadata, form_type, body],
        // A body that is sealed again is another one: the server cannot compare the plaintexts.
        ...(sealed === undefined ? [] : [sealed.kid, sealed.enc]),
      ],
    };
    return this.idempotency.run(owner, request, (seed) => this.capture(owner, endpoint, input, seed));
  }

  /** Describes an endpoint to a caller with its secret. Rejects as the authentication does. */
  async check(ctx: RequestContext, address: EndpointAddress): Promise<CaptureState> {
    const { id, policy, uses } = await this.auth.admit(ctx, 'capture', address);
    const { origins, maxUses = uses + 1 } = policy;
    if (uses >= maxUses) {
      throw new VaultError('endpoint_used_up');
    }
    return {
      ...{ unique_id: id, expires_at: expiryText(policy.expiresAt) },
      ...(policy.requiresSealed === true ? { require_sealed: true } : {}),
      ...(origins === undefined ? {} : { origins: [...origins] }),
    };
  }

  /** Tells the networks of a card by its first digits. Rejects as the authentication does, and with `rate_limited`. */
  async networks(ctx: RequestContext, address: EndpointAddress, digits: string): Promise<BinNetworks> {
    await this.auth.admit(ctx, 'capture', address, LOOKUP_RATE);
    if (!BIN.test(digits)) {
      throw new VaultError('invalid_request', {
        field: 'path.digits',
        expected: 'must be six to eight digits',
      });
    }
    return this.cards.networksOf(digits);
  }

  /** Captures once; a failure is recorded. */
  private async capture(
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    input: CaptureInput,
    seed: string | undefined,
  ): Promise<Captured> {
    const { policy, key } = endpoint;
    try {
      if (policy.token === undefined) {
        rejectDigits(endpoint, input);
      }
      rejectUnsealed(policy, input);
      const sealed = input.sealed && (await this.openingOf(ctx, input, input.sealed));
      const given = { rules: await this.rules.find(key.aid, policy.rules), sealed };
      const { token } = policy;
      const act = (take: TakesUse | undefined) => {
        const work: Capture = { ctx, endpoint, input, given, seed, take };
        return token === undefined ? this.store(work) : this.patch(work, token);
      };
      const stored = await this.auth.use(ctx, endpoint, act, seed);
      const { stored_at: _, created: __, fingerprint: ___, metadata, ...captured } = stored;
      if (policy.isTold) {
        await this.webhooks.notify(ctx, endpoint, metadata ? { ...captured, metadata } : captured, seed);
      }
      return captured;
    } catch (error) {
      await this.auth.recordFailure(ctx, endpoint, 'encrypt', policy.token, error);
      throw error;
    }
  }

  private async openingOf(
    { idempotencyKey }: RequestContext,
    { reference }: CaptureInput,
    { kid, enc }: NonNullable<CaptureInput['sealed']>,
  ): Promise<SealedOpening> {
    const key = await this.sealingKeys.recordOf(kid);
    return { names: { kid, reference, idempotencyKey }, key, enc };
  }

  private store({ ctx, endpoint, input, given, seed, take }: Capture): Promise<TokenInfo> {
    const { id, policy, records } = endpoint;
    const reference = input.reference ?? policy.reference ?? id;
    const request = {
      number: input.number,
      reference,
      algorithm: input.algorithm ?? policy.algorithm,
      wantsCard: input.return_card_metadata ?? policy.wantsCard,
      ttl: input.ttl,
      metadata: input.metadata,
      seed,
      keeps: policy.keeps,
      operation: 'capture',
    } as const;
    const { referenceField } = policy;
    const own = {
      ...readingOf(endpoint, ctx, input.contentType),
      ...(referenceField === undefined || input.reference !== undefined ? {} : { referenceField }),
    };
    const { secret, body } = input;
    return this.auth.whileLive(endpoint, (key) =>
      this.writer.storeUnder(ctx, key, request, (wanted) => {
        const params = { ...wanted, ...own };
        const sealing = this.crypto.captureItem({ params, records, secret, ...given, body });
        return take === undefined ? sealing : sealing.then((sealed) => take().then(() => sealed));
      }),
    );
  }

  /** Patches the endpoint's item. Rejects with `endpoint_out_of_scope` for another reference, and as `ItemWriter.untilWritten` does. */
  private patch(capture: Capture, token: string): Promise<TokenInfo> {
    const { endpoint, input } = capture;
    const { reference, number, algorithm, ttl, metadata } = input;
    if (reference !== undefined && reference !== endpoint.policy.reference) {
      throw new VaultError('endpoint_out_of_scope');
    }
    rejectTokenOptions({ number, algorithm, ttl, metadata });
    const { aid, user } = endpoint.key;
    return this.writer.untilWritten(aid, user, token, () =>
      this.auth.whileLive(endpoint, (key) => this.patchOnce(capture, key, token)),
    );
  }

  /** Tries once to patch the endpoint's item; the result is undefined if there is none. */
  private async patchOnce({ ctx, endpoint, input, given, seed, take }: Capture, key: KeyRef, token: string) {
    const { secret, body, contentType } = input;
    const { policy, records } = endpoint;
    return this.reader.readAndOpen(key, token, async (item) => {
      const params = {
        ...actorOf(ctx, this.now()),
        ...{ aid: key.aid, kid: key.kid, token, reference: policy.reference },
        ...{ seen: item.logLength, sadExpiresAt: this.writer.sadExpiry() },
        ...readingOf(endpoint, ctx, contentType),
      };
      const patched = await this.judged(ctx, key.kid, () =>
        this.crypto.patchItem({ params, records, secret, ...given, item, body }),
      );
      rejectAbandoned(ctx);
      if (take !== undefined) {
        await take();
      }
      return this.writer.writeOver(ctx, 'capture', key, item, patched, seed);
    });
  }

  /** Counts a number that comes with a patch as a guess at the item's: the reply shows whether it is that. */
  private async judged(
    { ip }: AccountContext,
    kid: string,
    patch: () => Promise<StoredParts>,
  ): Promise<StoredParts> {
    const guess = { kind: 'key', of: kid, ip } as const;
    try {
      const patched = await patch();
      if (patched.facts.hasNumber === true) {
        await this.attempts.judge(guess, true);
      }
      return patched;
    } catch (error) {
      if (error instanceof VaultError && error.code === 'number_invalid') {
        await this.attempts.judge(guess, false);
      }
      throw error;
    }
  }
}

/** The path of the reference in a body. Rejects one that is none, and one where all data is for one item. */
function referenceFieldOf({ reference_field: path, token }: CreateCaptureInput): string | undefined {
  if (path === undefined) {
    return undefined;
  }
  const field = 'query.reference_field';
  if (token !== undefined) {
    const expected = 'has no place where the endpoint updates one token';
    throw new VaultError('invalid_request', { field, expected });
  }
  if (parseNamedPath(path) === undefined) {
    throw new VaultError('invalid_request', { field, expected: 'must be a path such as `data.order.id`' });
  }
  return path;
}

/** Rejects a body that is not sealed although the endpoint requires it, and a number beside a sealed one. */
function rejectUnsealed({ requiresSealed }: OpenEndpoint['policy'], { sealed, number }: CaptureInput): void {
  if (sealed === undefined && requiresSealed === true) {
    throw new VaultError('sealing_required');
  }
  if (sealed !== undefined && number !== undefined) {
    throw new VaultError('invalid_request', {
      field: 'query.number',
      expected: 'has no place beside a sealed body, which is to hold the number',
    });
  }
}

/** Rejects options that apply only to items with a new token. */
function rejectTokenOptions(options: Readonly<Record<string, unknown>>): void {
  const field = Object.keys(options).find((name) => options[name] !== undefined);
  if (field !== undefined) {
    const expected = 'has no place where the endpoint updates one token';
    throw new VaultError('invalid_request', { field: `query.${field}`, expected });
  }
}

/** Rejects tokens that keep digits, for a creator who may not see them or a sealed body, which can be sent again. */
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

/** Parameters of the thread that reads the body. */
function readingOf({ id, key, policy }: OpenEndpoint, ctx: AccountContext, contentType: string | undefined) {
  return {
    endpoint: { id, gen: key.gen },
    bytesMax: BODY_BYTES.item,
    forcedMask: !ctx.account.unmasked,
    ...(policy.smartParse ? { smartParse: { contentType } } : {}),
  };
}
