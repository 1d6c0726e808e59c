import type { Crypto } from '../../crypto/client.ts';
import type { Captured } from '../../http/schema/capture.ts';
import { STORED_BYTES_MAX } from '../../http/schema/vault.ts';
import type { Caller, Visitor } from '../common/caller.ts';
import type { CreateEndpointInput, Endpoints, NewEndpoint } from '../endpoint/endpoint.ts';
import type { EndpointAddress, EndpointUse, OpenEndpoint } from '../endpoint/use.ts';
import type { IdempotencyService, Repeatable } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Rules } from '../rule/rule.ts';
import type { Storing } from '../vault/store.ts';

export interface CaptureInput extends EndpointAddress {
  /** The JSON text as sent, not yet looked at. */
  readonly body: Uint8Array;
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata?: boolean | undefined;
  /** The hosted form that sends the data, when one does. */
  readonly form_type?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface CaptureService {
  readonly create: (
    caller: Caller,
    input: CreateEndpointInput & { readonly algorithm?: string | undefined },
  ) => Promise<NewEndpoint>;
  readonly use: (visitor: Visitor, input: CaptureInput) => Promise<Repeatable<Captured>>;
}

interface CaptureDependencies {
  readonly crypto: Pick<Crypto, 'captureItem'>;
  readonly metering: Pick<MeteringService, 'begin' | 'request' | 'wholly'>;
  readonly idempotency: IdempotencyService;
  readonly rules: Pick<Rules, 'find'>;
  readonly storing: Pick<Storing, 'storeUnder'>;
  readonly endpoints: Pick<Endpoints, 'create'>;
  readonly endpointUse: EndpointUse;
}

/** Capture endpoints: whoever has the secret can store items under the key, and do nothing else. */
export function createCaptures(dependencies: CaptureDependencies): CaptureService {
  const { crypto, metering, idempotency, rules, storing, endpoints, endpointUse } = dependencies;

  const store = async (
    caller: Caller,
    endpoint: OpenEndpoint,
    input: CaptureInput,
    seed?: string,
  ): Promise<Captured> => {
    const { id, policy, records, key } = endpoint;
    const applied = await rules.find(key.aid, policy.rules);
    const reference = input.reference ?? id;
    const request = {
      number: input.number,
      reference,
      algorithm: input.algorithm ?? policy.algorithm,
      return_card_metadata: input.return_card_metadata ?? policy.wantsCard,
      seed,
      onSealed: () => metering.begin(key, 'capture'),
    };
    const own = {
      endpoint: { id, gen: key.gen },
      bytesMax: STORED_BYTES_MAX,
      forcedMask: !caller.account.unmasked,
    };
    const write = () =>
      storing.storeUnder(caller, key, request, (wanted) =>
        crypto.captureItem({ ...wanted, ...own }, records, input.secret, applied, input.body),
      );
    const { token, user, card_metadata } = await endpointUse.whileLive(endpoint, write);
    await metering.request(key);
    return { token, user, reference, ...(card_metadata ? { card_metadata } : {}) };
  };

  const useOpen = async (
    visitor: Visitor,
    endpoint: OpenEndpoint,
    input: CaptureInput,
  ): ReturnType<CaptureService['use']> => {
    const source = input.form_type === undefined ? 'capture' : 'form';
    const caller: Caller = { ...visitor, account: endpoint.account, source };
    const act = (seed?: string): Promise<Captured> =>
      endpointUse.noting(endpoint, visitor, () => store(caller, endpoint, input, seed));
    const { number, reference, algorithm, return_card_metadata, form_type, body, idempotencyKey } = input;
    if (idempotencyKey === undefined) {
      return { reply: await act(), replayed: false };
    }
    const request = {
      account: endpoint.key,
      // An endpoint made later under the same id is another one.
      route: `POST /v1/capture ${endpoint.nonce}`,
      key: idempotencyKey,
      parts: [number, reference, algorithm, return_card_metadata, form_type, body],
    };
    const outcome = await idempotency.run(request, act);
    if (outcome.replayed) {
      await metering.request(endpoint.key);
    }
    return outcome;
  };

  const use: CaptureService['use'] = async (visitor, input) => {
    const endpoint = await endpointUse.admit('capture', input, visitor);
    return metering.wholly(endpoint.key, () => useOpen(visitor, endpoint, input));
  };

  return {
    // What tokens look like is settled here: the same number must not get another token when a preference changes.
    create: (caller, { algorithm = caller.account.preferences.default_algorithm, ...input }) =>
      endpoints.create(caller, 'capture', input, { algorithm }),
    use,
  };
}
