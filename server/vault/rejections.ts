import type { ActorParams } from '../../workers/jobs/vault/jobs.ts';
import { bindParts } from '../core/bind.ts';
import type { Clock } from '../core/clock.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Keys } from '../key/keys.ts';
import { type AccountContext, actorOf } from '../request/context.ts';
import type { ItemStore } from './store/items.ts';

/** How long rejected attempts are counted together. */
const WINDOW_MS = 15 * 60 * 1_000;
/** Entries of rejected attempts that one item, one account and this server write in a window. */
const ITEM_MAX = 30;
const ACCOUNT_MAX = 1_000;
const SERVER_MAX = 50_000;
/** Rejected attempts that wait to be written. */
const WAITING_MAX = 2_000;
/** How often an item may be deleted and stored by others while an entry is written. */
const TRIES_MAX = 3;
/** Limits say nothing about an item, and faults are no rejections. */
const STATUS_MAX = 428;

/** The item that was asked for, which may not exist, under a key by its name or by its id. */
export type AttemptedItem = { readonly token: string } & (
  | { readonly user: string }
  | { readonly kid: string }
);

/** What an attempt would have done: `encrypt` stands for all that changes the item, its deletion too. */
type Attempted = 'encrypt' | 'decrypt';

interface Attempt {
  readonly aid: string;
  readonly item: AttemptedItem;
  readonly action: Attempted;
  readonly outcome: ErrorCode;
  readonly actor: ActorParams;
  readonly accountCheck: Promise<boolean> | undefined;
}

interface Window {
  readonly endsAt: number;
  /** Entries by account, and by account and item. */
  readonly entries: Map<string, number>;
  total: number;
}

interface RejectionDependencies {
  readonly crypto: Pick<Crypto, 'sealLog'>;
  readonly itemStore: Pick<ItemStore, 'appendLog' | 'bucketOf' | 'read'>;
  readonly keys: Pick<Keys, 'find'>;
  readonly now: Clock;
}

interface Parts extends RejectionDependencies {
  window: Window | undefined;
  waiting: number;
  /** By account, the end of what waits: one account's attempts do not delay those of others. */
  readonly lines: Map<string, Promise<void>>;
  /** Errors whose attempts are in the log already. */
  readonly logged: WeakSet<Error>;
}

/**
 * Writes rejected attempts into the action logs of the items that they name, if these exist. That happens behind the
 * answer, which is the same and as fast for an item that does not exist. What is over a limit here, and what cannot be
 * written, is in the security log alone.
 */
export type Rejections = ReturnType<typeof createRejections>;

/** Makes the log of rejected attempts of a server. */
export function createRejections(dependencies: RejectionDependencies) {
  const parts: Parts = {
    ...dependencies,
    ...{ window: undefined, waiting: 0, lines: new Map(), logged: new WeakSet() },
  };
  return bindParts(parts, { record, ignore, settle, flush });
}

function windowOf(parts: Parts): Window {
  const { window } = parts;
  const now = parts.now();
  // A clock that was put back must not keep a window open for as long.
  if (window && now < window.endsAt && window.endsAt - now <= WINDOW_MS) {
    return window;
  }
  parts.window = { endsAt: now + WINDOW_MS, entries: new Map(), total: 0 };
  return parts.window;
}

/** Whether an attempt on the item gets an entry of its own, which is then counted. */
function admits(parts: Parts, aid: string, item: AttemptedItem): boolean {
  const window = windowOf(parts);
  const { entries } = window;
  const name = JSON.stringify([aid, 'kid' in item ? item.kid : item.user, item.token]);
  const ofAccount = entries.get(aid) ?? 0;
  const ofItem = entries.get(name) ?? 0;
  if (
    ofItem >= ITEM_MAX ||
    ofAccount >= ACCOUNT_MAX ||
    window.total >= SERVER_MAX ||
    parts.waiting >= WAITING_MAX
  ) {
    return false;
  }
  entries.set(aid, ofAccount + 1);
  entries.set(name, ofItem + 1);
  window.total += 1;
  return true;
}

/**
 * Records that an attempt has ended with an error; returns at once. Faults, limits and what is no `VaultError` are left
 * out.
 */
function record(
  parts: Parts,
  ctx: AccountContext,
  item: AttemptedItem,
  action: Attempted,
  error: unknown,
): void {
  const { accountCheck, account } = ctx;
  const { aid } = account;
  const isRejection = error instanceof VaultError && error.status <= STATUS_MAX && !parts.logged.has(error);
  if (!isRejection || !admits(parts, aid, item)) {
    return;
  }
  const actor = actorOf(ctx, parts.now());
  const attempt = { aid, item, action, outcome: error.code, actor, accountCheck };
  parts.waiting += 1;
  const line = (parts.lines.get(aid) ?? Promise.resolve())
    .then(nextTurn)
    .then(() => write(parts, attempt))
    // The security log has it; nobody waits for this one.
    .catch(() => undefined)
    .then(() => {
      parts.waiting -= 1;
      if (parts.lines.get(aid) === line) {
        parts.lines.delete(aid);
      }
    });
  parts.lines.set(aid, line);
}

/** Of an error whose attempt is in the item's log already: it gets no other entry. */
function ignore({ logged }: Parts, error: VaultError): void {
  logged.add(error);
}

/** The answer goes out first. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

async function write(
  { crypto, itemStore, keys }: Parts,
  { aid, item, action, outcome, actor, accountCheck }: Attempt,
): Promise<void> {
  if (accountCheck !== undefined && !(await accountCheck)) {
    // Whoever asked has not shown a password of the account.
    return;
  }
  const { token } = item;
  const { kid } = 'kid' in item ? item : await keys.find({ aid }, item.user);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const read = await itemStore.read(kid, token);
    if (read?.kind !== 'item') {
      return;
    }
    const params = { ...actor, aid, kid, token, action, outcome, seen: read.logLength };
    const entry = await crypto.sealLog({ params, tail: read.logTail });
    const logged = await itemStore.appendLog(itemStore.bucketOf(kid, token), [token], [entry]);
    if (logged.kind !== 'appended' || logged.present[0]) {
      return;
    }
  }
}

/** Resolves when the account's attempts up to now are written, so that whoever reads a log next finds them. */
async function settle({ lines }: Parts, aid: string): Promise<void> {
  await lines.get(aid);
}

/** Resolves when all attempts up to now are written. */
async function flush({ lines }: Parts): Promise<void> {
  await Promise.all(lines.values());
}
