import { canSeal, sealBody } from '../seal/seal.ts';
import type { CallOptions, KeyedCallOptions } from '../transport/call.ts';
import { VaultApiError, VaultError } from '../transport/errors.ts';
import { randomKey } from '../transport/headers.ts';
import { textOfData } from '../transport/needed.ts';
import type { Captured, CaptureItem, CaptureState } from '../transport/types.ts';
import { checkOf, type SealingKey, sealingKeyOf, submitTo } from './capture.ts';
import { type EndpointLink, type EndpointOptions, linkTo } from './endpoint.ts';

/** Options of a client of one capture endpoint. */
export interface CaptureOptions extends EndpointOptions {
  /**
   * Seals bodies, so that nothing between here and the vault can read them: `require`, or `prefer`, which sends them as
   * they are without WebCrypto or with an older vault, unless the endpoint accepts sealed bodies alone. The default is
   * `never`: a body is sealed differently each time, so a restarted program cannot repeat a request under the same
   * idempotency key.
   */
  readonly seal?: Sealing | undefined;
}

/**
 * Calls that need a capture endpoint and its secret alone.
 * @see /guide/capture
 */
export interface CaptureClient {
  /**
   * Stores an object and returns what to pass on to the endpoint's owner. `data` is an object, or the exact JSON
   * text of one, at most 262,144 bytes; `reference` is by default the endpoint's unique id.
   * @see /guide/capture
   * @throws `endpoint_refused` (unknown, or a wrong secret), `endpoint_gone` (expired or stopped),
   * `idempotency_conflict`, `number_missing`, `number_invalid`, `test_card` (production),
   * `metadata_sensitive`, `charset_unsupported`, `track_data_refused`, `token_exists`,
   * `token_not_found`, `endpoint_out_of_scope`, `patches_full`, `jobs_full`, `rule_not_found`, `rule_limit`,
   * `sealing_required` (the endpoint takes sealed bodies alone: set `seal`), `sealing_key_expired` (twice, for a new key
   * too),
   * `endpoint_used_up`, `origin_not_allowed`, `reference_sensitive`
   * @example
   * await checkout.submit({ data: { card_number: '4111111111111111' }, reference: 'order-4711' });
   */
  readonly submit: (item: CaptureItem, options?: KeyedCallOptions) => Promise<Captured>;
  /**
   * Checks that the endpoint accepts data, and until when; nothing is stored.
   * @see /guide/capture
   * @throws `endpoint_refused` (unknown, or a wrong secret), `endpoint_gone` (expired or stopped),
   * `endpoint_used_up`, `origin_not_allowed`
   * @example
   * const { expires_at } = await checkout.check();
   */
  readonly check: (options?: CallOptions) => Promise<CaptureState>;
  /**
   * The key of the day to seal bodies to, for programs that seal by other means than `seal`.
   * @see /guide/capture
   * @example
   * const { kid, public_key } = await checkout.sealingKey();
   */
  readonly sealingKey: (options?: CallOptions) => Promise<SealingKey>;
}

/**
 * A client of one capture endpoint, for a caller that only has its secret: a web page, an app, a partner.
 * It has no account, sends no credentials, and retries failed attempts like `Vault`. Throws `VaultError` for
 * options that cannot work; sends nothing yet.
 * @see /guide/capture
 * @example
 * const checkout = captureClient({ url: 'https://vault.example/v1/capture/web-shop', secret });
 * const { token, reference } = await checkout.submit({ data: { card_number: '4111111111111111' } });
 */
export function captureClient({ seal, ...options }: CaptureOptions): CaptureClient {
  const link = linkTo('capture', options, ['seal']);
  const { transport, access } = link;
  const submit = createSubmit(link, seal);
  return {
    submit: async (item, callOptions) => submit(item, callOptions),
    check: async (callOptions) => checkOf(transport, access, callOptions),
    sealingKey: async (callOptions) => sealingKeyOf(transport, access, callOptions),
  };
}

/** Sealing of bodies: if the runtime and the vault support it, always, or never. */
export type Sealing = 'prefer' | 'require' | 'never';

const MODES: readonly unknown[] = ['prefer', 'require', 'never'] satisfies Sealing[];
/** Time after which a sealing key is fetched again. */
const KEY_MS = 3_600_000;

/** State of an endpoint between its calls. */
interface SealedState extends EndpointLink {
  readonly mode: Exclude<Sealing, 'never'>;
  key?: { readonly value: SealingKey; readonly untilMs: number } | undefined;
  /** The last request whose outcome is unknown; its repeat must have the same bytes. */
  open?: { readonly names: string; readonly text: string; readonly body: string } | undefined;
}

/** Sends an item to the endpoint, sealed as the mode says. */
type Submit = (item: CaptureItem, options: KeyedCallOptions | undefined) => Promise<Captured>;

/** Creates the function that sends items. Throws a VaultError for an unknown mode. */
function createSubmit(link: EndpointLink, mode: Sealing = 'never'): Submit {
  if (!MODES.includes(mode)) {
    throw new VaultError('seal must be prefer, require or never.');
  }
  if (mode === 'never') {
    return (item, options) => submitTo(link.transport, link.access, item, options);
  }
  const state: SealedState = { ...link, mode };
  return (item, options) => submitSealed(state, item, options);
}

async function submitSealed(
  state: SealedState,
  item: CaptureItem,
  options: KeyedCallOptions | undefined,
): Promise<Captured> {
  const text = textOfData(item.data);
  if (item.number !== undefined) {
    throw new VaultError(
      'number would be sent in the URL, for all to see: put it into data, which is sealed.',
    );
  }
  const keyed = { ...options, idempotencyKey: options?.idempotencyKey ?? randomKey() };
  for (let tries = 0; ; tries += 1) {
    const body = await sealedBody(state, item, text, keyed);
    if (body === undefined) {
      return submitTo(state.transport, state.access, item, keyed);
    }
    try {
      const captured = await submitTo(state.transport, state.access, item, keyed, body);
      state.open = undefined;
      return captured;
    } catch (error) {
      const mayRepeat = isCode(error, 'sealing_key_expired') && tries === 0;
      if (mayRepeat || options?.idempotencyKey === undefined) {
        state.open = undefined;
      }
      if (!mayRepeat) {
        throw error;
      }
      state.key = undefined;
    }
  }
}

/** The sealed body; undefined where the item is to be sent as it is. */
async function sealedBody(
  state: SealedState,
  { reference }: CaptureItem,
  text: string,
  options: KeyedCallOptions & { readonly idempotencyKey: string },
): Promise<string | undefined> {
  const { unique_id: id = '' } = state.access;
  const names = JSON.stringify([reference, options.idempotencyKey]);
  if (state.open?.names === names && state.open.text === text) {
    return state.open.body;
  }
  const key = await keyOf(state, options);
  if (key === undefined) {
    return undefined;
  }
  const body = await sealBody(key, [id, reference, options.idempotencyKey], text);
  state.open = { names, text, body };
  return body;
}

/** The key to seal to; undefined if there is none, and neither the caller nor the endpoint requires one. */
async function keyOf(state: SealedState, options: KeyedCallOptions): Promise<SealingKey | undefined> {
  const { transport, access, mode } = state;
  const { idempotencyKey: _, ...call } = options;
  if (state.key !== undefined && state.key.untilMs > Date.now()) {
    return state.key.value;
  }
  const value = canSeal() ? await fetchedKey(state, call) : undefined;
  if (value !== undefined) {
    state.key = { value, untilMs: Math.min(Date.now() + KEY_MS, Date.parse(value.expires_at)) };
    return value;
  }
  if (mode === 'require' || (await checkOf(transport, access, call)).require_sealed === true) {
    throw new VaultError(
      canSeal()
        ? 'The body cannot be sealed: the vault gives no key.'
        : 'The body cannot be sealed: there is no WebCrypto here. Pages have it under https.',
    );
  }
  return undefined;
}

/** The sealing key; undefined from a vault without such keys. */
async function fetchedKey(
  { transport, access }: SealedState,
  options: KeyedCallOptions,
): Promise<SealingKey | undefined> {
  try {
    return await sealingKeyOf(transport, access, options);
  } catch (error) {
    if (isCode(error, 'not_found')) {
      return undefined;
    }
    throw error;
  }
}

function isCode(error: unknown, code: VaultApiError['code']): boolean {
  return error instanceof VaultApiError && error.code === code;
}
