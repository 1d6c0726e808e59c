import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyRef } from '../key/opener.ts';
import type { ItemAddress } from './reader.ts';
import type { ItemStore } from './store/items.ts';

interface AddressParts {
  readonly crypto: Pick<Crypto, 'describeItem'>;
  readonly itemStore: Pick<ItemStore, 'read'>;
  readonly now: Clock;
}

/**
 * An item that its caller may address, with its member of the reference index. No passphrase is involved. Rejects with
 * `token_not_found` and `reference_required`.
 */
export async function addressItem(
  { crypto, itemStore, now }: AddressParts,
  { aid, kid }: Pick<KeyRef, 'aid' | 'kid'>,
  { token, reference }: Pick<ItemAddress, 'reference' | 'token'>,
) {
  const read = await itemStore.read(kid, token);
  if (read?.kind !== 'item') {
    throw new VaultError('token_not_found');
  }
  const params = { aid, kid, token, rule: 'check', reference, now: now() } as const;
  return { read, refMember: await crypto.describeItem({ params, meta: read.meta }) };
}

/** The length of the log of an item, which outlives its expiry. Rejects as `addressItem`. */
export async function addressLog(
  { crypto, itemStore }: Pick<AddressParts, 'crypto'> & { readonly itemStore: Pick<ItemStore, 'readTrace'> },
  { aid, kid }: Pick<KeyRef, 'aid' | 'kid'>,
  { token, reference }: Pick<ItemAddress, 'reference' | 'token'>,
): Promise<number> {
  const trace = await itemStore.readTrace(kid, token);
  if (trace === undefined) {
    throw new VaultError('token_not_found');
  }
  const params = { aid, kid, token, rule: 'check', reference } as const;
  await crypto.describeItem({ params, meta: trace.meta });
  return trace.logLength;
}
