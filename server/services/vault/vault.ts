import { VaultError } from '../../core/errors.ts';
import type { SecretBytes } from '../../core/secret.ts';
import type { Crypto, RuleSet } from '../../crypto/client.ts';
import { preferredLimit } from '../../domain/account/preference.ts';
import { type LogEntry, STORED_BYTES_MAX, type TokenInfo } from '../../http/schema/vault.ts';
import type { ItemStore } from '../../store/item.ts';
import type { Clock } from '../common/clock.ts';
import { createTurns, pause } from '../common/coalesce.ts';
import type { Cursors } from '../common/cursor.ts';
import { type AccountContext, actorOf } from '../common/request-context.ts';
import type { Keys } from '../key/key.ts';
import { type KeyHandle, provenMissing, type Retry } from '../key/open.ts';
import type { IdempotencyService, Repeatable } from '../request/idempotency.ts';
import type { MeteringService } from '../request/metering.ts';
import type { Rules } from '../rule/rule.ts';
import type { ListInput } from './list.ts';
import type { ItemAddress, Reading, View } from './read.ts';
import type { Storing } from './store.ts';
import type { TreeStream } from './tree.ts';

export interface StoreInput {
  readonly user: string;
  readonly passphrase: SecretBytes;
  /** The JSON text as sent, not yet looked at. */
  readonly body: Uint8Array;
  readonly number?: string | undefined;
  readonly reference?: string | undefined;
  readonly algorithm?: string | undefined;
  readonly return_card_metadata?: boolean | undefined;
}

export interface UpdateInput extends ItemAddress {
  readonly passphrase: SecretBytes;
  readonly rules: readonly string[];
  readonly body: Uint8Array;
}

export interface VaultService {
  readonly store: (ctx: AccountContext, input: StoreInput) => Promise<Repeatable<TokenInfo>>;
  /** The stored object as JSON bytes. */
  readonly decrypt: (
    ctx: AccountContext,
    input: ItemAddress & View & { readonly passphrase: SecretBytes },
  ) => Promise<Uint8Array>;
  readonly list: (ctx: AccountContext, input: ListInput) => Promise<TreeStream>;
  readonly decryptAll: (
    ctx: AccountContext,
    input: ListInput & View & { readonly user: string; readonly passphrase: SecretBytes },
  ) => Promise<TreeStream>;
  readonly update: (ctx: AccountContext, input: UpdateInput) => Promise<Repeatable<TokenInfo>>;
  readonly remove: (ctx: AccountContext, input: ItemAddress) => Promise<void>;
  readonly log: (
    ctx: AccountContext,
    input: ItemAddress & { readonly limit?: number | undefined; readonly next_token?: string | undefined },
  ) => Promise<{ readonly entries: readonly LogEntry[]; readonly nextToken?: string | undefined }>;
}

const CHANGED_TRIES_MAX = 20;
const CLOSED_PAUSE_MS = 50;
const LOG_STEP = 1_000;
/** Entries of a log whose caller and account say nothing of it. */
const LOG_LIMIT = 1_024;

const NO_BYTES = new Uint8Array(0);

interface VaultDependencies {
  readonly crypto: Pick<Crypto, 'checkWarm' | 'describeItem' | 'readLog' | 'storeItem' | 'updateItem'>;
  readonly itemStore: Pick<ItemStore, 'read' | 'readLog' | 'remove' | 'write'>;
  readonly metering: Pick<MeteringService, 'begin' | 'count'>;
  readonly idempotency: IdempotencyService;
  readonly keys: Pick<Keys, 'find' | 'prove' | 'withUnlocked'>;
  readonly rules: Pick<Rules, 'find'>;
  readonly storing: Storing;
  readonly reading: Reading;
  readonly trees: Pick<VaultService, 'list' | 'decryptAll'>;
  readonly cursors: Cursors;
  readonly now: Clock;
}

/** The routes of the vault itself: items stored, read, changed, removed and listed. */
export function createVault(dependencies: VaultDependencies): VaultService {
  const { crypto, itemStore, metering, idempotency, keys, rules, storing, reading } = dependencies;
  const {
    trees: { list, decryptAll },
    cursors,
    now,
  } = dependencies;
  const turns = createTurns();

  const store: VaultService['store'] = async (ctx, input) => {
    const { account, idempotencyKey } = ctx;
    const act = (seed?: string): Promise<TokenInfo> =>
      keys.withUnlocked(account, input.user, input.passphrase, (key, blob) => {
        const { algorithm, return_card_metadata } = input;
        const { preferences } = account;
        const request = {
          ...input,
          algorithm: algorithm ?? preferences.default_algorithm,
          return_card_metadata: return_card_metadata ?? preferences.return_card_metadata,
          seed,
          onSealed: () => metering.begin(ctx, 'store'),
        };
        return storing.storeUnder(ctx, key, request, (wanted) =>
          crypto.storeItem({ params: wanted, blob, passphrase: input.passphrase, body: input.body }),
        );
      });
    if (idempotencyKey === undefined) {
      return { reply: await act(), replayed: false };
    }
    const { key } = await keys.prove(account, input.user, input.passphrase);
    const { number, reference, algorithm, return_card_metadata, body } = input;
    // A key that was deleted and made anew under the same name is another one.
    const wanted = [key.kid, number, reference, algorithm, return_card_metadata, body];
    return idempotency.run(ctx, { key: idempotencyKey, route: 'POST /v1/vault', parts: wanted }, act);
  };

  const decrypt: VaultService['decrypt'] = async (ctx, input) => {
    const { account } = ctx;
    const { user, token, reference, passphrase } = input;
    const view = {
      rules: await rules.find(account.aid, input.rules, 'query.rules'),
      forcedMask: !account.unmasked,
      maskFields: input.mask_fields ?? account.preferences.mask_fields,
      wantsCard: input.return_card_metadata ?? account.preferences.return_card_metadata,
    };
    const opened = await keys.withUnlocked(account, user, passphrase, async (key, blob) => {
      const opening = { kind: 'warm', blob, secret: passphrase } as const;
      const onOpened = (): void => metering.begin(ctx, 'decrypt');
      const text = await reading.openOne(ctx, key, opening, { token, reference, view, onOpened });
      return text === 'missing' ? provenMissing(crypto, key, blob, passphrase) : text;
    });
    if (opened === 'missing') {
      throw new VaultError('token_not_found');
    }
    return opened;
  };

  const updateOnce = async (
    ctx: AccountContext,
    input: UpdateInput,
    key: KeyHandle,
    blob: Uint8Array,
    applied: RuleSet,
    seed: string | undefined,
  ): Promise<TokenInfo | 'missing' | 'changed' | Retry> => {
    const item = await itemStore.read(key.kid, input.token, key.gen);
    if (!item) {
      return provenMissing(crypto, key, blob, input.passphrase);
    }
    if (item.kind !== 'item') {
      return item;
    }
    const params = {
      ...actorOf(ctx, now()),
      aid: key.aid,
      kid: key.kid,
      token: input.token,
      reference: input.reference,
      seen: item.logLength,
      sadExpiresAt: storing.sadExpiry(),
      bytesMax: STORED_BYTES_MAX,
      forcedMask: !ctx.account.unmasked,
    };
    const opening = { kind: 'warm', blob, secret: input.passphrase } as const;
    const sealed = await crypto.updateItem({ params, opening, rules: applied, item, changes: input.body });
    if (sealed.kind === 'warm_miss') {
      return sealed;
    }
    metering.begin(ctx, 'update');
    const { facts, ...fields } = sealed;
    const outcome = await itemStore.write(key.kid, {
      ...fields,
      identity: NO_BYTES,
      token: input.token,
      gen: facts.gen,
      sadExpiresAt: facts.sadExpiresAt,
      seen: item.logLength,
      replaces: item.meta,
      seed,
    });
    switch (outcome.kind) {
      case 'ok':
        return storing.tokenInfo(facts, key.user, outcome.storedAt);
      case 'closed':
      case 'stale':
        return outcome;
      case 'changed':
        return 'changed';
      default:
        throw new VaultError('internal');
    }
  };

  const update: VaultService['update'] = async (ctx, input) => {
    const { account, idempotencyKey } = ctx;
    const act = async (seed?: string): Promise<TokenInfo> => {
      const applied = await rules.find(account.aid, input.rules, 'query.rules');
      for (let tries = 0; tries < CHANGED_TRIES_MAX; tries++) {
        const turn = `${account.aid} ${input.user} ${input.token}`;
        const result = await turns(turn, () =>
          keys.withUnlocked(account, input.user, input.passphrase, (key, blob) =>
            updateOnce(ctx, input, key, blob, applied, seed),
          ),
        );
        if (result === 'missing') {
          throw new VaultError('token_not_found');
        }
        if (result !== 'changed') {
          return result;
        }
      }
      throw new VaultError('overloaded');
    };
    if (idempotencyKey === undefined) {
      return { reply: await act(), replayed: false };
    }
    const { key } = await keys.prove(account, input.user, input.passphrase);
    const { token, reference, body } = input;
    const wanted = [key.kid, token, reference, input.rules.join(), body];
    return idempotency.run(ctx, { key: idempotencyKey, route: 'POST /v1/vault/update', parts: wanted }, act);
  };

  /** An item that its caller may address, with what its deletion needs. No passphrase is involved. */
  const address = async (key: KeyHandle, { token, reference }: ItemAddress) => {
    const read = await itemStore.read(key.kid, token);
    if (read?.kind !== 'item') {
      throw new VaultError('token_not_found');
    }
    const params = {
      aid: key.aid,
      kid: key.kid,
      token,
      rule: 'check',
      reference,
    } as const;
    return { read, refMember: await crypto.describeItem({ params, meta: read.meta }) };
  };

  const remove: VaultService['remove'] = async (ctx, input) => {
    for (let tries = 0; tries < CHANGED_TRIES_MAX; tries++) {
      const key = await keys.find(ctx.account, input.user);
      const { read, refMember } = await address(key, input);
      const done = await itemStore.remove(key.kid, { token: input.token, meta: read.meta, refMember });
      if (done === 'ok') {
        metering.count(ctx, 'delete');
        return;
      }
      if (done === 'missing') {
        throw new VaultError('token_not_found');
      }
      if (done === 'closed') {
        await pause(CLOSED_PAUSE_MS);
      }
    }
    throw new VaultError('overloaded');
  };

  const log: VaultService['log'] = async (ctx, input) => {
    const { account } = ctx;
    const key = await keys.find(account, input.user);
    const { read } = await address(key, input);
    const scope = [account.aid, 'GET /v1/vault/metadata', key.kid, input.token];
    // The item may have been deleted and stored anew since the cursor was given: then its log is shorter.
    const asked =
      input.next_token === undefined ? read.logLength : Number(cursors.open(scope, input.next_token));
    const from = Math.min(asked, read.logLength);
    const limit = preferredLimit(account.preferences, input.limit, LOG_LIMIT);
    const to = limit < 0 ? 1 : Math.max(1, from - limit + 1);
    const entries: LogEntry[] = [];
    for (let at = from; at >= to; at -= LOG_STEP) {
      const sealed = await itemStore.readLog(key.kid, input.token, at, Math.max(to, at - LOG_STEP + 1));
      const opened = await crypto.readLog({
        params: { aid: key.aid, kid: key.kid, token: input.token, newest: at },
        entries: sealed,
      });
      entries.push(...opened);
    }
    metering.count(ctx, 'log');
    return { entries, ...(to > 1 ? { nextToken: cursors.seal(scope, to - 1) } : {}) };
  };

  return { store, decrypt, list, decryptAll, update, remove, log };
}
