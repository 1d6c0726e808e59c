/**
 * Opens vault keys and endpoints for jobs that answer at once. What opens belongs to the frame of the job (`openings.ts`):
 * jobs use it and leave it.
 */
import {
  type CaptureKey,
  openCaptureWrap,
  openPolicy,
  openRetrieveWrap,
} from '../../crypto/endpoint/record.ts';
import type { UnlockedKey } from '../../crypto/key/unlocked.ts';
import { openWarm } from '../../crypto/key/warm.ts';
import type { ThreadContext } from '../context.ts';
import { type Opening, shareOpening } from '../openings.ts';
import type { EndpointVersion, KeyName, ThreadOpening, WarmMiss } from './jobs.ts';

/** What a job answers whose key did not open. */
export const WARM_MISS: WarmMiss = { kind: 'warm_miss' };

/** An endpoint's two records, and the secret that is to open them. */
interface EndpointOpening {
  readonly use: EndpointVersion;
  readonly policy: Uint8Array;
  readonly wrap: Uint8Array;
  readonly secret: Uint8Array;
}

/**
 * Opens a key. Undefined where a warm blob does not open under this passphrase: the job answers `WARM_MISS`. A wrong
 * secret of an endpoint throws an `EndpointSecretError`.
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

/** The same by a warm blob, for jobs that only the holder of a passphrase may ask for. */
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

/** Opens a capture endpoint. A wrong secret throws an `EndpointSecretError`. */
export function openCapture(context: ThreadContext, name: KeyName, opening: EndpointOpening): CaptureKey {
  return throughEndpoint(context, 'capture', context.openings.captures, openCaptureWrap, name, opening);
}

function throughEndpoint<Opened extends Disposable>(
  { env, sealer }: ThreadContext,
  kind: 'capture' | 'retrieve',
  openings: Opening<Opened>[],
  openWrap: (...args: Parameters<typeof openCaptureWrap>) => Opened,
  { aid, kid }: KeyName,
  { use: { id, gen }, policy, wrap, secret }: EndpointOpening,
): Opened {
  const wanted = { names: [kind, aid, kid, id, gen], records: [policy, wrap], secret };
  return shareOpening(openings, wanted, () => {
    const place = { env, aid, kid, id, gen };
    return openWrap(sealer, place, openPolicy(sealer, place, policy), wrap, secret);
  });
}
