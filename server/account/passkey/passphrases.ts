import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { recover } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import type { ServiceSettings } from '../../core/settings.ts';
import type { AccountContext } from '../../request/context.ts';
import { mayUseKey, personOf } from '../../request/permission.ts';
import type { PersonRecords } from '../person/records.ts';
import type { PersonName } from '../person/store.ts';
import { type PasskeySite, requestOptions } from './ceremonies.ts';
import type { Wrap, WrapRecords } from './wrap-records.ts';
import type { KeptPassphrase, PutWrap } from './wrap-schema.ts';

/** Passphrases that one person can keep. */
const WRAPS_MAX = 100;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A vault key under its newest generation. */
interface KeyState {
  readonly kid: string;
  readonly gen: number;
}

/** Finds keys as they are stored now; rejects with `key_not_found`. */
interface KeyFinder {
  find(account: { readonly aid: string }, user: string): Promise<KeyState>;
}

/** The key and the passkey of a wrap. */
interface WrapName {
  readonly user: string;
  readonly passkey_id: string;
}

/**
 * Keeps passphrases of keys for people, encrypted in their browsers under their passkeys. A wrap is shown only while its passkey is
 * one of the person's, and the key has the generation that it was stored under.
 */
export class Passphrases {
  constructor(
    private readonly records: WrapRecords,
    private readonly persons: PersonRecords,
    private readonly keys: KeyFinder,
    private readonly settings: ServiceSettings,
    private readonly now: Clock,
  ) {}

  /** Returns what a browser needs to encrypt a passphrase. Rejects with `key_not_found` or `passkey_not_found`. */
  async options(ctx: AccountContext, site: PasskeySite, { user, passkey_id }: WrapName) {
    const person = personNameOf(ctx);
    const [key, passkeys] = await Promise.all([this.findKey(ctx, user), this.passkeysOf(person)]);
    const passkey = passkeys.find(({ id }) => id === passkey_id);
    if (passkey === undefined) {
      throw noPasskey();
    }
    return {
      aad: this.aadOf(ctx, person, { ...key, passkeyId: passkey_id }),
      generation: key.gen,
      // Its answer stays in the browser: nobody verifies the challenge.
      options: await requestOptions(site, randomBytes(32).toString('base64url'), [passkey]),
    };
  }

  /** Stores a wrap in place of the one that the passkey has of this key. Rejects with `key_changed` or `passphrases_full`, too. */
  async put(ctx: AccountContext, { user, passkey_id, wrap, generation }: PutWrap): Promise<KeptPassphrase> {
    const person = personNameOf(ctx);
    requireShape(wrap);
    const key = await this.findKey(ctx, user);
    await this.requirePasskey(person, passkey_id);
    if (generation !== undefined && generation !== key.gen) {
      throw new VaultError('key_changed');
    }
    const { kid, gen } = key;
    const created_at = new Date(this.now()).toISOString();
    const stored: Wrap = { user, kid, gen, passkeyId: passkey_id, wrap, created_at };
    await this.records.edit(person, (wraps) => {
      const others = wraps.filter((each) => each.user !== user || each.passkeyId !== passkey_id);
      if (others.length >= WRAPS_MAX) {
        throw new VaultError('passphrases_full');
      }
      return [...others, stored];
    });
    await this.confirm(ctx, person, stored);
    return this.shownOf(ctx, person, stored);
  }

  /** Returns the wraps of the session's person that it can use now. */
  async list(ctx: AccountContext): Promise<readonly KeptPassphrase[]> {
    const person = personNameOf(ctx);
    const [wraps, passkeys] = await Promise.all([this.records.read(person), this.passkeysOf(person)]);
    const ids = new Set(passkeys.map(({ id }) => id));
    const usable = wraps.filter(({ user, passkeyId }) => ids.has(passkeyId) && mayUseKey(ctx.account, user));
    const current = await this.currentOf(person.aid, usable);
    return current.map((wrap) => this.shownOf(ctx, person, wrap));
  }

  /** Removes a wrap; returns false if there is none. */
  async remove(ctx: AccountContext, { user, passkey_id }: WrapName): Promise<boolean> {
    let isRemoved = false;
    await this.records.keep(personNameOf(ctx), (wrap) => {
      const isIt = wrap.user === user && wrap.passkeyId === passkey_id;
      isRemoved ||= isIt;
      return !isIt;
    });
    return isRemoved;
  }

  /** Removes wraps that a process has left behind which died in between: they are shown to nobody. */
  async sweep(aid: string): Promise<void> {
    for (const id of await this.records.owners(aid)) {
      const name = { aid, id };
      const person = await this.persons.find(name);
      if (person === undefined) {
        await this.records.keepUnder(name, []);
        continue;
      }
      const ids = new Set(person.record.passkeys.map((passkey) => passkey.id));
      await this.records.edit(name, async (wraps) =>
        this.currentOf(
          aid,
          wraps.filter(({ passkeyId }) => ids.has(passkeyId)),
        ),
      );
    }
  }

  /** Removes the wrap again if its key or its passkey has gone while it was stored. What comes later finds it and removes it. */
  private async confirm(ctx: AccountContext, person: PersonName, stored: Wrap): Promise<void> {
    const [current, passkeys] = await Promise.all([
      this.currentOf(person.aid, [stored]),
      this.passkeysOf(person),
    ]);
    if (current.length === 1 && passkeys.some(({ id }) => id === stored.passkeyId)) {
      return;
    }
    await this.remove(ctx, { user: stored.user, passkey_id: stored.passkeyId });
    throw current.length === 0 ? new VaultError('key_changed') : noPasskey();
  }

  /** Those wraps whose key has still their generation. */
  private async currentOf(aid: string, wraps: readonly Wrap[]): Promise<readonly Wrap[]> {
    const users = [...new Set(wraps.map(({ user }) => user))];
    const found = await Promise.all(
      users.map((user) => recover(this.keys.find({ aid }, user), 'key_not_found', undefined)),
    );
    const keys = new Map(users.map((user, i) => [user, found[i]]));
    return wraps.filter(({ user, kid, gen }) => {
      const key = keys.get(user);
      return key?.kid === kid && key.gen === gen;
    });
  }

  private async findKey({ account }: AccountContext, user: string): Promise<KeyState> {
    const key = await recover(this.keys.find(account, user), 'key_not_found', undefined);
    if (key === undefined) {
      throw new VaultError('key_not_found', { field: 'body.user' });
    }
    return key;
  }

  private async requirePasskey(person: PersonName, id: string): Promise<void> {
    const passkeys = await this.passkeysOf(person);
    if (!passkeys.some((passkey) => passkey.id === id)) {
      throw noPasskey();
    }
  }

  private async passkeysOf(person: PersonName) {
    return (await this.persons.find(person))?.record.passkeys ?? [];
  }

  /** What a wrap belongs to, as a text that is made of nothing that its database could exchange. */
  private aadOf(
    { account }: AccountContext,
    { id }: PersonName,
    { passkeyId, kid, gen }: Pick<Wrap, 'passkeyId' | 'kid' | 'gen'>,
  ): string {
    const { environment } = this.settings;
    return JSON.stringify(['cardvault passphrase 1', environment, account.name, id, passkeyId, kid, gen]);
  }

  private shownOf(ctx: AccountContext, person: PersonName, wrap: Wrap): KeptPassphrase {
    return {
      ...{ key: wrap.user, passkey_id: wrap.passkeyId, wrap: wrap.wrap },
      ...{ aad: this.aadOf(ctx, person, wrap), generation: wrap.gen, created_at: wrap.created_at },
    };
  }
}

function noPasskey(): VaultError {
  return new VaultError('passkey_not_found', { field: 'body.passkey_id' });
}

/** Rejects what cannot be a nonce, at least one byte, and a tag in the one way to write them. */
function requireShape(wrap: string): void {
  const bytes = Buffer.from(wrap, 'base64url');
  if (bytes.toString('base64url') !== wrap || bytes.length <= NONCE_BYTES + TAG_BYTES) {
    const expected = 'must be base64url of 12 bytes of nonce, the encrypted passphrase and 16 bytes of tag';
    throw new VaultError('invalid_request', { field: 'body.wrap', expected });
  }
}

/** The person of the session that acts. */
function personNameOf({ account }: AccountContext): PersonName {
  return { aid: account.aid, id: personOf(account).id };
}
