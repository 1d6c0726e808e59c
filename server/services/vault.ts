import { createHash } from 'node:crypto';
import type {
  Caller,
  ItemAddress,
  Parts,
  StoredFacts,
  StoreParams,
  UpdateInput,
  VaultService,
} from '../deps.ts';
import { formatStoredAt } from '../domain/time-text.ts';
import { VaultError } from '../errors.ts';
import { type CardMetadata, type LogEntry, STORED_BYTES_MAX, type TokenInfo } from '../schema/vault.ts';
import { actorOf } from './actor.ts';
import { createTurns, pause } from './coalesce.ts';
import { createCursors } from './cursor.ts';
import type { IdempotencyService } from './idempotency.ts';
import type { Keys } from './key.ts';
import type { KeyHandle, Retry } from './key-open.ts';
import type { MeteringService } from './metering.ts';
import { refuseRules } from './rule.ts';
import { createCardMetadata, withCardMetadata } from './vault-card.ts';
import { createVaultList } from './vault-list.ts';

const CHANGED_TRIES_MAX = 20;
/** Clashes in a row that cannot happen by chance. */
const CANDIDATES_MAX = 1_000;
const CLOSED_PAUSE_MS = 50;
const LOG_STEP = 1_000;

const NO_BYTES = new Uint8Array(0);

/** A v4 UUID that the same seed gives again. */
function uuidFromSeed(seed: string): string {
  const hex = createHash('sha256').update(`token ${seed}`).digest('hex');
  const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4];
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function createVault(
  parts: Parts,
  metering: MeteringService,
  idempotency: IdempotencyService,
  keys: Keys,
): VaultService {
  const { crypto, itemStore, now, settings } = parts;
  const cards = createCardMetadata(parts);
  const cursors = createCursors(parts.cursorKey);
  const turns = createTurns();
  const { list, decryptAll } = createVaultList(parts, metering, keys, cards);

  const sadExpiry = (): number => (settings.sadTtlMs === 0 ? 0 : now() + settings.sadTtlMs);

  const tokenInfo = async (
    facts: Pick<StoredFacts, 'token' | 'reference' | 'card'>,
    user: string,
    storedAt: number,
  ): Promise<TokenInfo> => {
    const metadata: CardMetadata | undefined = facts.card && (await cards.of(facts.card));
    return {
      token: facts.token,
      user,
      ...(facts.reference === undefined ? {} : { reference: facts.reference }),
      stored_at: formatStoredAt(storedAt),
      ...(metadata ? { card_metadata: metadata } : {}),
    };
  };

  /** Stores until it lands: behind the log entries that are there, and past tokens that mean another number. */
  const storeUnder = async (
    key: KeyHandle,
    first: StoreParams,
    seed: string | undefined,
    seal: (params: StoreParams) => ReturnType<typeof crypto.storeItem>,
  ): Promise<TokenInfo | Retry> => {
    let params = first;
    for (;;) {
      const sealed = await seal(params);
      if ('kind' in sealed) {
        return sealed;
      }
      const { facts, ...fields } = sealed;
      const write = { ...fields, token: facts.token, gen: facts.gen, sadExpiresAt: facts.sadExpiresAt, seed };
      let outcome = await itemStore.write(key.kid, { ...write, seen: 0 });
      if (outcome.kind === 'exists') {
        const { logLength: seen, logTail } = outcome;
        const logEntry = await crypto.sealLog(
          { ...params, token: facts.token, action: 'encrypt', seen },
          logTail,
        );
        outcome = await itemStore.write(key.kid, { ...write, logEntry, seen });
      }
      switch (outcome.kind) {
        case 'ok':
          return tokenInfo(facts, key.user, outcome.storedAt);
        case 'closed':
        case 'stale':
          return outcome;
        case 'clash':
          if (facts.candidate > CANDIDATES_MAX) {
            throw new VaultError('internal');
          }
          params = { ...params, candidate: facts.candidate + 1 };
          continue;
        default:
          throw new VaultError('internal');
      }
    }
  };

  const store: VaultService['store'] = async (caller, input) => {
    const { account } = caller;
    const act = async (seed?: string): Promise<TokenInfo> => {
      const info = await keys.withUnlocked(account, input.user, input.passphrase, (key, blob) => {
        const params: StoreParams = {
          ...actorOf(caller, now()),
          aid: key.aid,
          kid: key.kid,
          number: input.number,
          reference: input.reference,
          algorithm: input.algorithm ?? 'full',
          uuid: seed === undefined ? undefined : uuidFromSeed(seed),
          candidate: 0,
          refuseTestCards: settings.environment === 'production',
          wantsCard: input.return_card_metadata,
          sadExpiresAt: sadExpiry(),
          seen: 0,
        };
        return storeUnder(key, params, seed, (wanted) =>
          crypto.storeItem(wanted, blob, input.passphrase, input.body),
        );
      });
      metering.count(account, 'store');
      return info;
    };
    if (input.idempotencyKey === undefined) {
      return { reply: await act(), replayed: false };
    }
    const { key } = await keys.prove(account, input.user, input.passphrase);
    const { number, reference, algorithm, return_card_metadata, body } = input;
    // A key that was deleted and made anew under the same name is another one.
    const wanted = [key.kid, number, reference, algorithm, return_card_metadata, body];
    return idempotency.run(
      { account, route: 'POST /v1/vault', key: input.idempotencyKey, parts: wanted },
      act,
    );
  };

  /** The item as stored, or a refusal that says no more than that there is none under this key. */
  const readItem = async (key: KeyHandle, token: string) => {
    const read = await itemStore.read(key.kid, token, key.gen);
    return read?.kind === 'item'
      ? { item: read.item, meta: read.meta, sad: read.sad, tail: read.logTail, read }
      : read;
  };

  const decrypt: VaultService['decrypt'] = async (caller, input) => {
    const { account } = caller;
    refuseRules(input.rules);
    const { user, token, reference, passphrase } = input;
    const opened = await keys.withUnlocked(account, user, passphrase, async (key, blob) => {
      const item = await readItem(key, token);
      if (!item) {
        return (await crypto.checkWarm(key, blob, passphrase)) ?? 'missing';
      }
      if ('kind' in item) {
        return item;
      }
      const params = {
        ...actorOf(caller, now()),
        aid: key.aid,
        kid: key.kid,
        token,
        reference,
        seen: item.read.logLength,
        forcedMask: !account.unmasked,
        maskFields: input.mask_fields,
        wantsCard: input.return_card_metadata,
      };
      const out = await crypto.openItem(params, blob, passphrase, item);
      if ('kind' in out) {
        return out;
      }
      const logged = await itemStore.appendLog(
        itemStore.bucketOf(key.kid, token),
        [token],
        [out.logEntry],
        key.gen,
      );
      if ('kind' in logged) {
        return logged;
      }
      return logged[0] ? out : 'missing';
    });
    if (opened === 'missing') {
      throw new VaultError('token_not_found');
    }
    metering.count(account, 'decrypt');
    if (!input.return_card_metadata || Object.keys(opened.card).length === 0) {
      return opened.text;
    }
    return withCardMetadata(opened.text, await cards.of(opened.card));
  };

  const updateOnce = async (
    caller: Caller,
    input: UpdateInput,
    key: KeyHandle,
    blob: Uint8Array,
    seed: string | undefined,
  ): Promise<TokenInfo | 'missing' | 'changed' | Retry> => {
    const item = await readItem(key, input.token);
    if (!item) {
      return (await crypto.checkWarm(key, blob, input.passphrase)) ?? 'missing';
    }
    if ('kind' in item) {
      return item;
    }
    const params = {
      ...actorOf(caller, now()),
      aid: key.aid,
      kid: key.kid,
      token: input.token,
      reference: input.reference,
      seen: item.read.logLength,
      sadExpiresAt: sadExpiry(),
      bytesMax: STORED_BYTES_MAX,
    };
    const sealed = await crypto.updateItem(params, blob, input.passphrase, item, input.body);
    if ('kind' in sealed) {
      return sealed;
    }
    const { facts, ...fields } = sealed;
    const outcome = await itemStore.write(key.kid, {
      ...fields,
      identity: NO_BYTES,
      token: input.token,
      gen: facts.gen,
      sadExpiresAt: facts.sadExpiresAt,
      seen: item.read.logLength,
      replaces: item.meta,
      seed,
    });
    switch (outcome.kind) {
      case 'ok':
        return tokenInfo(facts, key.user, outcome.storedAt);
      case 'closed':
      case 'stale':
        return outcome;
      case 'changed':
        return 'changed';
      default:
        throw new VaultError('internal');
    }
  };

  const update: VaultService['update'] = async (caller, input) => {
    const { account } = caller;
    refuseRules(input.rules);
    const act = async (seed?: string): Promise<TokenInfo> => {
      for (let tries = 0; tries < CHANGED_TRIES_MAX; tries++) {
        const turn = `${account.aid} ${input.user} ${input.token}`;
        const result = await turns(turn, () =>
          keys.withUnlocked(account, input.user, input.passphrase, (key, blob) =>
            updateOnce(caller, input, key, blob, seed),
          ),
        );
        if (result === 'missing') {
          throw new VaultError('token_not_found');
        }
        if (result !== 'changed') {
          metering.count(account, 'update');
          return result;
        }
      }
      throw new VaultError('overloaded');
    };
    if (input.idempotencyKey === undefined) {
      return { reply: await act(), replayed: false };
    }
    const { key } = await keys.prove(account, input.user, input.passphrase);
    const { token, reference, body } = input;
    const wanted = [key.kid, token, reference, body];
    return idempotency.run(
      { account, route: 'POST /v1/vault/update', key: input.idempotencyKey, parts: wanted },
      act,
    );
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
    return { read, refMember: await crypto.describeItem(params, read.meta) };
  };

  const remove: VaultService['remove'] = async ({ account }, input) => {
    for (let tries = 0; tries < CHANGED_TRIES_MAX; tries++) {
      const key = await keys.find(account, input.user);
      const { read, refMember } = await address(key, input);
      const done = await itemStore.remove(key.kid, { token: input.token, meta: read.meta, refMember });
      if (done === 'ok') {
        metering.count(account, 'delete');
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

  const log: VaultService['log'] = async ({ account }, input) => {
    const key = await keys.find(account, input.user);
    const { read } = await address(key, input);
    const scope = [account.aid, 'GET /v1/vault/metadata', key.kid, input.token];
    // The item may have been deleted and stored anew since the cursor was given: then its log is shorter.
    const asked =
      input.next_token === undefined ? read.logLength : Number(cursors.open(scope, input.next_token));
    const from = Math.min(asked, read.logLength);
    const to = input.limit < 0 ? 1 : Math.max(1, from - input.limit + 1);
    const entries: LogEntry[] = [];
    for (let at = from; at >= to; at -= LOG_STEP) {
      const sealed = await itemStore.readLog(key.kid, input.token, at, Math.max(to, at - LOG_STEP + 1));
      const text = await crypto.readLog(
        { aid: key.aid, kid: key.kid, token: input.token, newest: at },
        sealed,
      );
      entries.push(...(JSON.parse(Buffer.from(text).toString('utf8')) as LogEntry[]));
    }
    metering.count(account, 'log');
    return { entries, ...(to > 1 ? { nextToken: cursors.seal(scope, to - 1) } : {}) };
  };

  return { store, decrypt, list, decryptAll, update, remove, log };
}
