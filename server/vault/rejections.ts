import { setImmediate } from 'node:timers/promises';
import type { ActorParams } from '../../workers/jobs/vault/jobs.ts';
import type { Clock } from '../core/clock.ts';
import { type ErrorCode, VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { KeyOpener } from '../key/opener.ts';
import { type AccountContext, actorOf } from '../request/context.ts';
import type { ItemStore } from './store/items.ts';

/** Window in which rejected attempts are counted. */
const WINDOW_MS = 15 * 60 * 1_000;
/** Entries of rejected attempts per window: of one caller on one item, of one caller, and of this server. */
const ITEM_MAX = 30;
const CALLER_MAX = 1_000;
const SERVER_MAX = 50_000;
/** Rejected attempts in the queue. */
const WAITING_MAX = 2_000;
/** Attempts to write an entry while other requests delete and store its item. */
const TRIES_MAX = 3;
/** Higher statuses are limits, which are not about an item, and faults. */
const STATUS_MAX = 428;

/** The requested item, which may not exist, under a key by its name or by its id. */
export type AttemptedItem = { readonly token: string } & (
  | { readonly user: string }
  | { readonly kid: string }
);

/** The intended action: `encrypt` stands for every change of the item, and for its deletion. */
type Attempted = 'encrypt' | 'decrypt';

interface Attempt {
  readonly aid: string;
  readonly item: AttemptedItem;
  readonly action: Attempted;
  readonly outcome: ErrorCode;
  readonly actor: ActorParams;
}

/**
 * Writes rejected attempts into the action logs of the items that they name, if these exist. That happens after the reply,
 * which is the same and as fast for an item that does not exist. Attempts over a limit here, and those that cannot be
 * written, are in the security log alone.
 */
export class Rejections {
  /** The entries of a window, in all, by caller, and by caller and item. */
  private window = { endsAt: 0, entries: new Map<string, number>(), total: 0 };
  private waiting = 0;
  /** The end of the queue of each account: attempts of one account do not delay those of others. */
  private readonly lines = new Map<string, Promise<void>>();
  /** Errors whose attempts are in the log already. */
  private readonly logged = new WeakSet<Error>();

  constructor(
    private readonly store: ItemStore,
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly now: Clock,
  ) {}

  /** Records an attempt that has ended with an error, and returns at once. Ignores faults, limits and other errors. */
  record(ctx: AccountContext, item: AttemptedItem, action: Attempted, error: unknown): void {
    const { aid } = ctx.account;
    const isRejection = error instanceof VaultError && error.status <= STATUS_MAX && !this.logged.has(error);
    const actor = actorOf(ctx, this.now());
    if (!isRejection || !this.admits(aid, actor, item)) {
      return;
    }
    const attempt = { aid, item, action, outcome: error.code, actor };
    this.waiting += 1;
    const line = (this.lines.get(aid) ?? Promise.resolve())
      // After the reply was sent.
      .then(() => setImmediate())
      .then(() => this.write(attempt))
      // The security log has it.
      .catch(() => undefined)
      .then(() => {
        this.waiting -= 1;
        if (this.lines.get(aid) === line) {
          this.lines.delete(aid);
        }
      });
    this.lines.set(aid, line);
  }

  /** Marks an error whose attempt is in the item's log already: it gets no other entry. */
  ignore(error: VaultError): void {
    this.logged.add(error);
  }

  /** Resolves when the attempts of an account up to now are written, so that a read of a log finds them. */
  async settle(aid: string): Promise<void> {
    await this.lines.get(aid);
  }

  /** Resolves when all attempts up to now are written. */
  async flush(): Promise<void> {
    await Promise.all(this.lines.values());
  }

  /** Returns true if an attempt of a caller on the item gets its own entry, which is then counted. */
  private admits(aid: string, actor: ActorParams, item: AttemptedItem): boolean {
    const now = this.now();
    // A window that ends too late, after the clock was set back, is over too.
    if (now >= this.window.endsAt || this.window.endsAt - now > WINDOW_MS) {
      this.window = { endsAt: now + WINDOW_MS, entries: new Map(), total: 0 };
    }
    const { window } = this;
    const { entries } = window;
    // Each credential and each endpoint is a caller, so that none takes the entries of another.
    const caller = JSON.stringify([aid, actor.credentialId, actor.endpointId]);
    const name = JSON.stringify([caller, 'kid' in item ? item.kid : item.user, item.token]);
    const ofCaller = entries.get(caller) ?? 0;
    const ofItem = entries.get(name) ?? 0;
    if (
      ofItem >= ITEM_MAX ||
      ofCaller >= CALLER_MAX ||
      window.total >= SERVER_MAX ||
      this.waiting >= WAITING_MAX
    ) {
      return false;
    }
    entries.set(caller, ofCaller + 1);
    entries.set(name, ofItem + 1);
    window.total += 1;
    return true;
  }

  private async write({ aid, item, action, outcome, actor }: Attempt): Promise<void> {
    const { token } = item;
    const { kid } = 'kid' in item ? item : await this.keys.find({ aid }, item.user);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const read = await this.store.read(kid, token);
      if (read === undefined) {
        return;
      }
      const params = { ...actor, aid, kid, token, action, outcome, seen: read.logLength };
      const entry = await this.crypto.sealLog({ params, tail: read.logTail });
      const logged = await this.store.appendOne(kid, token, entry);
      if (logged.kind !== 'appended' || logged.present[0]) {
        return;
      }
    }
  }
}
