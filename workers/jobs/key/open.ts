/** Opens vault keys for the length of one job. */
import { openPolicy, openRetrieveWrap } from '../../crypto/endpoint/record.ts';
import { openWarm, type UnlockedKey, wipeKey } from '../../crypto/key/vault-key.ts';
import type { ThreadContext } from '../context.ts';
import type { KeyName, ThreadOpening, WarmMiss } from './jobs.ts';

const WARM_MISS: WarmMiss = { kind: 'warm_miss' };

/** What the records of a key are bound to. */
export function keyContext({ env }: ThreadContext, { aid, kid }: KeyName) {
  return { env, aid, kid };
}

/**
 * Opens the key for the length of `use`, and wipes it after it. A warm blob that does not open under this passphrase
 * is a `warm_miss`; a wrong secret of an endpoint fails with `endpoint_refused`.
 */
export function withKey<T>(
  context: ThreadContext,
  name: KeyName,
  opening: ThreadOpening,
  use: (key: UnlockedKey) => T,
): T | WarmMiss {
  return opening.kind === 'warm'
    ? withWarmKey(context, name, opening.blob, opening.secret, use)
    : using(openByEndpoint(context, name, opening), use);
}

/** The same, for jobs that only the holder of a passphrase may ask for. */
export function withWarmKey<T>(
  context: ThreadContext,
  name: KeyName,
  blob: Uint8Array,
  passphrase: Uint8Array,
  use: (key: UnlockedKey) => T,
): T | WarmMiss {
  const key = openWarm(context.processKey, keyContext(context, name), blob, passphrase);
  return key ? using(key, use) : WARM_MISS;
}

function using<T>(key: UnlockedKey, use: (key: UnlockedKey) => T): T {
  try {
    return use(key);
  } finally {
    wipeKey(key);
  }
}

function openByEndpoint(
  context: ThreadContext,
  name: KeyName,
  { use, policy, wrap, secret }: Extract<ThreadOpening, { readonly kind: 'endpoint' }>,
): UnlockedKey {
  const place = { ...keyContext(context, name), ...use };
  const opened = openPolicy(context.sealer, place, policy);
  return openRetrieveWrap(context.sealer, place, opened, wrap, secret);
}
