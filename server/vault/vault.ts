import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import type { SentFacts } from '../../workers/jobs/vault/jobs.ts';
import { preferredLimit } from '../account/preference-values.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import type { Cursors } from '../core/cursors.ts';
import { VaultError } from '../core/errors.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import type { VaultExport } from '../export/exports.ts';
import type { Keys } from '../key/keys.ts';
import { type Done, provenMissing, type Retry, type Unlocked } from '../key/opener.ts';
import { type AccountContext, actorOf, confirmAccount } from '../request/context.ts';
import type { IdempotencyService, Repeatable } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import { sightOf } from '../request/permission.ts';
import type { Rules } from '../rule/rules.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { addressLog } from './address.ts';
import type { createBatches } from './batch/batches.ts';
import type { createStoreBatch } from './batch/store-batch.ts';
import type { createErasing } from './erasure.ts';
import type { createVaultList } from './list/list.ts';
import { type ItemAddress, type Reading, type View, viewOf } from './reader.ts';
import type { Rejections } from './rejections.ts';
import type { Removing } from './remover.ts';
import type { Replaced, Replacing } from './replacer.ts';
import type { LogEntry, TokenInfo } from './schema.ts';
import type { ItemStore } from './store/items.ts';
import type { Storing } from './writer.ts';

export interface StoreInput {
  readonly user: string;
  readonly passphrase: SecretBytes;
  /** The JSON text as sent, not yet looked at. */
  readonly body: Uint8Array;
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata?: boolean | undefined;
  readonly return_fingerprint?: boolean | undefined;
  readonly ttl?: string | undefined;
  readonly metadata?: string | undefined;
}

export interface UpdateInput extends ItemAddress, SentFacts {
  readonly passphrase: SecretBytes;
  readonly rules: readonly string[];
  readonly body: Uint8Array;
}

const LOG_STEP = 1_000;
/** Entries of a log whose caller and account say nothing of it. */
const LOG_LIMIT = 1_024;

interface VaultParts {
  readonly crypto: Pick<Crypto, 'checkWarm' | 'describeItem' | 'readLog' | 'storeItem' | 'updateItem'>;
  readonly itemStore: Pick<ItemStore, 'read' | 'readLog' | 'readTrace'>;
  readonly metering: Pick<MeteringService, 'countAhead' | 'count'>;
  readonly idempotency: IdempotencyService;
  readonly keys: Pick<Keys, 'find' | 'prove' | 'withUnlocked'>;
  readonly rules: Pick<Rules, 'find'>;
  readonly storing: Storing;
  readonly replacing: Replacing;
  readonly reading: Reading;
  readonly removing: Removing;
  readonly rejections: Pick<Rejections, 'record' | 'settle'>;
  readonly cursors: Cursors;
  readonly now: Clock;
}

/** Stores an item, or replaces the one with the same number and reference. */
async function store(
  parts: VaultParts,
  ctx: AccountContext,
  input: StoreInput,
): Promise<Repeatable<TokenInfo>> {
  const { crypto, metering, idempotency, keys, storing } = parts;
  const { account, idempotencyKey } = ctx;
  const { preferences } = account;
  const { user, passphrase, body, number, reference, algorithm, return_card_metadata } = input;
  const { return_fingerprint, ttl, metadata } = input;
  const act = (seed?: string): Promise<TokenInfo> =>
    keys.withUnlocked(ctx, user, passphrase, (key, blob) => {
      const request = {
        number,
        reference,
        algorithm: algorithm ?? preferences.default_algorithm,
        return_card_metadata: return_card_metadata ?? preferences.return_card_metadata,
        return_fingerprint,
        ttl,
        metadata,
        seed,
        onSealed: () => metering.countAhead(ctx, 'store'),
      };
      return storing.storeUnder(ctx, key, request, (params) =>
        crypto.storeItem({ params, blob, passphrase, body }),
      );
    });
  if (idempotencyKey === undefined) {
    return { reply: await act(), replayed: false };
  }
  await confirmAccount(ctx);
  const { key } = await keys.prove(ctx, user, passphrase);
  // A key that was deleted and created again under the same name is another one.
  const facts = [return_fingerprint, ttl, metadata];
  const wanted = [key.kid, number, reference, algorithm, return_card_metadata, ...facts, body];
  return idempotency.run(ctx, { key: idempotencyKey, route: 'POST /v1/vault', parts: wanted }, act);
}

/** The stored object as JSON bytes. */
async function decrypt(
  parts: VaultParts,
  ctx: AccountContext,
  input: ItemAddress & View & { readonly passphrase: SecretBytes },
): Promise<Uint8Array> {
  const { crypto, keys, rules, reading, metering, rejections } = parts;
  const { user, token, reference, passphrase } = input;
  try {
    const view = await viewOf(rules, ctx.account, input);
    const opened = await keys.withUnlocked(ctx, user, passphrase, async (key, blob) => {
      const opening = { kind: 'warm', blob, secret: passphrase } as const;
      const onOpened = (): void => metering.countAhead(ctx, 'decrypt');
      const read = await reading.openOne(ctx, key, opening, { token, reference, view, onOpened });
      const isMissing = read.kind === 'done' && read.value === undefined;
      return isMissing ? provenMissing(crypto, key, blob, passphrase) : read;
    });
    if (opened === undefined) {
      throw new VaultError('token_not_found');
    }
    return opened;
  } catch (error) {
    rejections.record(ctx, input, 'decrypt', error);
    throw error;
  }
}

/** One try of an update; undefined when there is no such item. */
async function updateOnce(
  { crypto, itemStore, metering, replacing, storing, now }: VaultParts,
  ctx: AccountContext,
  input: UpdateInput,
  { key, blob }: Unlocked,
  applied: RuleSet,
  seed: string | undefined,
): Promise<Done<Replaced | undefined> | Retry> {
  const { token, reference, ttl, metadata } = input;
  const item = await itemStore.read(key.kid, token, key.gen);
  if (!item) {
    return provenMissing(crypto, key, blob, input.passphrase);
  }
  if (item.kind !== 'item') {
    return item;
  }
  const params = {
    ...actorOf(ctx, now()),
    ...{ aid: key.aid, kid: key.kid, token, reference, ttl, metadata },
    wantsSummary: key.summary,
    seen: item.logLength,
    sadExpiresAt: storing.sadExpiry(),
    bytesMax: BODY_BYTES.item,
    forcedMask: sightOf(ctx.account) !== 'all',
  };
  const opening = { kind: 'warm', blob, secret: input.passphrase } as const;
  const sealed = await crypto.updateItem({ params, opening, rules: applied, item, changes: input.body });
  if (sealed.kind === 'warm_miss') {
    return sealed;
  }
  metering.countAhead(ctx, 'update');
  return replacing.writeOver(key, item, sealed, seed);
}

/** Merges changes into an item. Rejects as `Replacing` does. */
async function update(
  parts: VaultParts,
  ctx: AccountContext,
  input: UpdateInput,
): Promise<Repeatable<TokenInfo>> {
  try {
    return await updateItem(parts, ctx, input);
  } catch (error) {
    parts.rejections.record(ctx, input, 'encrypt', error);
    throw error;
  }
}

async function updateItem(
  parts: VaultParts,
  ctx: AccountContext,
  input: UpdateInput,
): Promise<Repeatable<TokenInfo>> {
  const { idempotency, keys, replacing, rules } = parts;
  const { account, idempotencyKey } = ctx;
  const { user, token, reference, passphrase, body, ttl, metadata } = input;
  const act = async (seed?: string): Promise<TokenInfo> => {
    const applied = await rules.find(account.aid, input.rules, 'query.rules');
    const updateUnlocked = () =>
      keys.withUnlocked(ctx, user, passphrase, (key, blob) =>
        updateOnce(parts, ctx, input, { key, blob }, applied, seed),
      );
    return replacing.untilWritten({ aid: account.aid, user }, token, updateUnlocked);
  };
  if (idempotencyKey === undefined) {
    return { reply: await act(), replayed: false };
  }
  const { key } = await keys.prove(ctx, user, passphrase);
  const wanted = [key.kid, token, reference, input.rules.join(), ttl, metadata, body];
  return idempotency.run(ctx, { key: idempotencyKey, route: 'POST /v1/vault/update', parts: wanted }, act);
}

/** Deletes an item with its log. */
async function remove(parts: VaultParts, ctx: AccountContext, input: ItemAddress): Promise<void> {
  try {
    const [outcome] = await parts.removing.remove(ctx, input.user, [input], parts.now());
    if (outcome !== undefined && outcome !== 'removed') {
      throw new VaultError(outcome);
    }
  } catch (error) {
    parts.rejections.record(ctx, input, 'encrypt', error);
    throw error;
  }
}

/** The entries of an item's log, newest first; refused attempts that this server has answered are among them. */
async function log(
  parts: VaultParts,
  ctx: AccountContext,
  input: ItemAddress & { readonly limit?: number | undefined; readonly next_token?: string | undefined },
): Promise<{ readonly entries: readonly LogEntry[]; readonly nextToken?: string | undefined }> {
  const { crypto, itemStore, keys, metering, cursors, rejections } = parts;
  const { account } = ctx;
  const { token, next_token } = input;
  await rejections.settle(account.aid);
  const key = await keys.find(account, input.user);
  const { aid, kid } = key;
  const logLength = await addressLog(parts, key, input);
  const scope = [aid, 'GET /v1/vault/metadata', kid, token];
  // The item may have been deleted and stored anew since the cursor was given: then its log is shorter.
  const asked = next_token === undefined ? logLength : Number(cursors.verify(scope, next_token));
  const from = Math.min(asked, logLength);
  const limit = preferredLimit(account.preferences, input.limit, LOG_LIMIT);
  const to = limit < 0 ? 1 : Math.max(1, from - limit + 1);
  const entries: LogEntry[] = [];
  for (let newest = from; newest >= to; newest -= LOG_STEP) {
    const sealed = await itemStore.readLog(kid, token, newest, Math.max(to, newest - LOG_STEP + 1));
    const params = { aid, kid, token, newest, account: account.name };
    entries.push(...(await crypto.readLog({ params, entries: sealed })));
  }
  metering.count(ctx, 'log');
  return { entries, ...(to > 1 ? { nextToken: cursors.sign(scope, to - 1) } : {}) };
}

/** The routes of the vault itself: items stored, read, changed, removed, listed and exported. */
export function createVault({
  trees: { list, decryptAll },
  batches: { decryptBatch, deleteBatch },
  storeBatches,
  erasing: { erase },
  exports: { exportItems },
  ...parts
}: VaultParts & {
  readonly exports: VaultExport;
  readonly batches: ReturnType<typeof createBatches>;
  readonly erasing: ReturnType<typeof createErasing>;
  readonly trees: Pick<ReturnType<typeof createVaultList>, 'list' | 'decryptAll'>;
  readonly storeBatches: ReturnType<typeof createStoreBatch>;
}) {
  const bound = bindParts(parts, { store, decrypt, update, remove, log });
  return { ...bound, ...storeBatches, list, decryptAll, decryptBatch, deleteBatch, erase, exportItems };
}

export type VaultService = ReturnType<typeof createVault>;
