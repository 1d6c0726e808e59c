/** Opens vault keys for one job. The job holds the key with `using`, which wipes it at the end of the block. */
import { openPolicy, openRetrieveWrap } from '../../crypto/endpoint/record.ts';
import type { UnlockedKey } from '../../crypto/key/unlocked.ts';
import { openWarm } from '../../crypto/key/warm.ts';
import type { ThreadContext } from '../context.ts';
import type { KeyName, ThreadOpening, WarmMiss } from './jobs.ts';

/** What a job answers whose key did not open. */
export const WARM_MISS: WarmMiss = { kind: 'warm_miss' };

/**
 * Opens a key. Undefined where a warm blob does not open under this passphrase: the job answers `WARM_MISS`. A wrong
 * secret of an endpoint throws an `EndpointSecretError`.
 */
export function openKey(
  context: ThreadContext,
  { aid, kid }: KeyName,
  opening: ThreadOpening,
): UnlockedKey | undefined {
  const { env, sealer, processKey } = context;
  if (opening.kind === 'warm') {
    return openWarm(processKey, { env, aid, kid }, opening.blob, opening.secret);
  }
  const place = { env, aid, kid, ...opening.use };
  const policy = openPolicy(sealer, place, opening.policy);
  return openRetrieveWrap(sealer, place, policy, opening.wrap, opening.secret);
}

/** The same by a warm blob, for jobs that only the holder of a passphrase may ask for. */
export function openWarmKey(
  { env, processKey }: ThreadContext,
  { aid, kid }: KeyName,
  blob: Uint8Array,
  passphrase: Uint8Array,
): UnlockedKey | undefined {
  return openWarm(processKey, { env, aid, kid }, blob, passphrase);
}
