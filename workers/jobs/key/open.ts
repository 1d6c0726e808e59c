/** Opens vault keys and endpoints for jobs. The opened keys belong to the frame of the job (`openings.ts`), which closes them. */
import {
  type CaptureKey,
  openCaptureWrap,
  openPolicy,
  openRetrieveWrap,
  type SecretKind,
} from '../../crypto/endpoint/record.ts';
import { missingExporters, missingSender, untilSender } from '../../crypto/item/envelope.ts';
import { partsOf } from '../../crypto/item/item.ts';
import type { UnlockedKey } from '../../crypto/key/unlocked.ts';
import { openWarm } from '../../crypto/key/warm.ts';
import type { ThreadContext } from '../context.ts';
import { type Opening, shareOpening, workLater } from '../openings.ts';
import type { EndpointVersion, KeyName, ThreadOpening, WarmMiss } from './jobs.ts';

/** The result of a job whose key did not open. */
export const WARM_MISS: WarmMiss = { kind: 'warm_miss' };

/** An endpoint's two records, and the secret to open them with. */
interface EndpointOpening {
  readonly use: EndpointVersion;
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
  readonly secret: Uint8Array;
}

/**
 * Opens a key. Undefined if a warm blob does not open under this passphrase: the job returns `WARM_MISS`. Throws an
 * `EndpointSecretError` for a wrong secret of an endpoint.
 */
export function openKey(
  context: ThreadContext,
  name: KeyName,
  opening: ThreadOpening,
): UnlockedKey | undefined {
  if (opening.kind === 'warm') {
    return openWarmKey(context, name, opening.blob, opening.secret);
  }
  return throughEndpoint(context, 'retrieve', context.openings.keys, openRetrieveWrap, name, opening);
}

/**
 * Opens a key as `openKey` does, and runs `work` when it can open these items: it waits only for set-ups of captures that are
 * new to the thread, for all of them at once.
 */
export function withKey<T>(
  context: ThreadContext,
  { aid, kid }: KeyName,
  opening: ThreadOpening,
  items: readonly (Parameters<typeof partsOf>[0] | undefined)[],
  work: (key: UnlockedKey) => T,
): T | WarmMiss | Promise<T> {
  const key = openKey(context, { aid, kid }, opening);
  if (!key) {
    return WARM_MISS;
  }
  const parts = items.flatMap((item) => (item === undefined ? [] : partsOf(item)));
  const ready = missingExporters(key, { env: context.env, aid, kid }, parts);
  return ready ? workLater(context.openings, key, ready, () => work(key)) : work(key);
}

/** Opens an endpoint as `openCapture` does, and runs `work` when it can seal: it waits for a set-up once a minute. */
export function withCapture<T>(
  context: ThreadContext,
  { aid, kid }: KeyName,
  opening: EndpointOpening,
  work: (key: CaptureKey) => T,
  kind: 'capture' | 'inbound' = 'capture',
): T | Promise<T> {
  const key = openCapture(context, { aid, kid }, opening, kind);
  const place = { env: context.env, aid, kid };
  return missingSender(key, place)
    ? workLater(context.openings, key, untilSender(key, place), () => work(key))
    : work(key);
}

/** Opens a key by a warm blob, for jobs that need the passphrase. */
export function openWarmKey(
  { env, processKey, openings }: ThreadContext,
  { aid, kid }: KeyName,
  blob: Uint8Array,
  secret: Uint8Array,
): UnlockedKey | undefined {
  return shareOpening(openings.keys, { names: ['warm', aid, kid], records: [blob], secret }, () =>
    openWarm(processKey, { env, aid, kid }, blob, secret),
  );
}

/** Opens a capture endpoint, or an inbound. Throws an `EndpointSecretError` for a wrong secret. */
export function openCapture(
  context: ThreadContext,
  name: KeyName,
  opening: EndpointOpening,
  kind: 'capture' | 'inbound' = 'capture',
): CaptureKey {
  const open = (...wrap: OpenedWrap) => openCaptureWrap(...wrap, kind);
  return throughEndpoint(context, kind, context.openings.captures, open, name, opening);
}

type OpenedWrap = Parameters<typeof openRetrieveWrap>;

function throughEndpoint<Opened extends Disposable>(
  { env, sealer }: ThreadContext,
  kind: SecretKind,
  openings: Opening<Opened>[],
  openWrap: (...wrap: OpenedWrap) => Opened,
  { aid, kid }: KeyName,
  { use: { id, gen }, policy, wrap, secret }: EndpointOpening,
): Opened {
  const wanted = { names: [kind, aid, kid, id, gen], records: [policy, wrap], secret };
  return shareOpening(openings, wanted, () => {
    const place = { env, aid, kid, id, gen };
    return openWrap(sealer, place, openPolicy(sealer, place, policy), wrap, secret);
  });
}
