import {
  changePassphrase,
  createVaultKey,
  describeVaultKey,
  openWarm,
  sealWarm,
  type UnlockedKey,
  unlockVaultKey,
  wipeKey,
} from '../crypto/key/vault-key.ts';
import {
  EMPTY,
  type Fields,
  field,
  type Handler,
  JobFailure,
  paramsOf,
  type ThreadContext,
  toJsonBytes,
} from './context.ts';
import { openEndpointKey } from './endpoint-open.ts';
import { type KeyFacts, type KeyParams, type OpeningParams, WARM_MISS } from './kinds.ts';

const keyContext = (context: ThreadContext, { aid, kid }: KeyParams) => ({ env: context.env, aid, kid });

/** The path that a key record is bound to: the account, and the place that it is stored at. */
interface KeyPlace {
  readonly aid: string;
  readonly user: string;
}

const openKeyRecord = (context: ThreadContext, place: KeyPlace, record: Uint8Array): Uint8Array =>
  context.sealer.open('record', place.aid, 'key', [place.user], record);

const sealKeyRecord = (context: ThreadContext, place: KeyPlace, record: Uint8Array): Uint8Array =>
  context.sealer.seal('record', place.aid, 'key', [place.user], record);

/** Opens a key for one job: the private halves that an earlier unlock left, or those of an endpoint's wrap. */
function openFor(context: ThreadContext, params: OpeningParams, fields: Fields): UnlockedKey {
  const opening = field(fields, 1);
  const secret = field(fields, 2);
  if (params.endpoint !== undefined) {
    return openEndpointKey(context, params, params.endpoint, opening, secret);
  }
  const key = openWarm(context.processKey, keyContext(context, params), opening, secret);
  if (!key) {
    throw new JobFailure(WARM_MISS);
  }
  return key;
}

/**
 * Opens the key for the length of `use`, and wipes it after it. Refuses with `warm_miss` when the blob of an
 * earlier unlock does not open under this passphrase, with `endpoint_refused` a wrong secret of an endpoint.
 */
export function withKey<T>(
  context: ThreadContext,
  params: OpeningParams,
  fields: Fields,
  use: (key: UnlockedKey) => T,
): T {
  const key = openFor(context, params, fields);
  try {
    return use(key);
  } finally {
    wipeKey(key);
  }
}

export const createKey: Handler = async (context, fields) => {
  const params = paramsOf<KeyParams & KeyPlace>(fields);
  const record = await createVaultKey(keyContext(context, params), field(fields, 1), context.argon2);
  return [sealKeyRecord(context, params, record)];
};

export const unlockKey: Handler = async (context, fields) => {
  const params = paramsOf<KeyParams & KeyPlace>(fields);
  const passphrase = field(fields, 2);
  const record = openKeyRecord(context, params, field(fields, 1));
  const ids = keyContext(context, params);
  const { key, upgraded } = await unlockVaultKey(ids, record, passphrase, context.argon2);
  try {
    const blob = sealWarm(context.processKey, ids, upgraded ?? record, passphrase, key);
    return [blob, upgraded ? sealKeyRecord(context, params, upgraded) : EMPTY];
  } finally {
    wipeKey(key);
  }
};

export const changeKeyPassphrase: Handler = async (context, fields) => {
  const params = paramsOf<KeyParams & KeyPlace>(fields);
  const record = openKeyRecord(context, params, field(fields, 1));
  const changed = await changePassphrase(
    keyContext(context, params),
    record,
    field(fields, 2),
    field(fields, 3),
    context.argon2,
  );
  return [sealKeyRecord(context, params, changed)];
};

export const describeKey: Handler = (context, fields) => {
  const { kid, gen } = describeVaultKey(openKeyRecord(context, paramsOf<KeyPlace>(fields), field(fields, 1)));
  return [toJsonBytes({ kid, gen } satisfies KeyFacts)];
};

export const checkWarm: Handler = (context, fields) =>
  withKey(context, paramsOf<KeyParams>(fields), fields, () => []);
