import { recover } from '../../core/concurrency.ts';
import { VaultError } from '../../core/errors.ts';
import { type Crypto, openJson, sealJson } from '../../crypto/client.ts';
import type { NamedStore } from '../../redis/records/named.ts';
import type { PersonName } from '../person/store.ts';

/** The passphrase of a key, encrypted in a browser under what a passkey computes. The vault cannot open it. */
export interface Wrap {
  readonly user: string;
  readonly kid: string;
  /** The generation of the key whose passphrase it is. */
  readonly gen: number;
  readonly passkeyId: string;
  readonly wrap: string;
  readonly created_at: string;
}

/** Attempts to change the wraps of a person while other requests do. */
const EDIT_TRIES_MAX = 10;

/** Opens and changes the wraps of people. They end with their person, their passkey, and the passphrase of their key. */
export class WrapRecords {
  constructor(
    /** One record of each person, by its id. */
    private readonly store: NamedStore,
    private readonly crypto: Crypto,
  ) {}

  async read({ aid, id }: PersonName): Promise<readonly Wrap[]> {
    const sealed = await this.store.read(aid, id);
    return sealed === undefined ? [] : this.open({ aid, id }, sealed);
  }

  /** Replaces the wraps of a person by those that `edit` returns, which runs again if another request has changed them. */
  async edit(
    { aid, id }: PersonName,
    edit: (wraps: readonly Wrap[]) => readonly Wrap[] | Promise<readonly Wrap[]>,
  ): Promise<void> {
    for (let tries = 0; tries < EDIT_TRIES_MAX; tries++) {
      const sealed = await this.store.read(aid, id);
      const wraps = sealed === undefined ? [] : await this.open({ aid, id }, sealed);
      const next = await edit(wraps);
      const isSame = next.length === wraps.length && next.every((wrap, i) => wrap === wraps[i]);
      if (isSame || (await this.write({ aid, id }, sealed, next))) {
        return;
      }
    }
    throw new VaultError('overloaded');
  }

  /** Keeps the wraps of a person that are under one of these passkeys, which are its own; none of a deleted person. */
  async keepUnder({ aid, id }: PersonName, passkeys: readonly { readonly id: string }[]): Promise<void> {
    if (passkeys.length === 0) {
      await this.store.remove(aid, id);
      return;
    }
    const ids = new Set(passkeys.map((passkey) => passkey.id));
    await this.keep({ aid, id }, ({ passkeyId }) => ids.has(passkeyId));
  }

  /** Removes the wraps of a deleted key. */
  async removeOfKey(aid: string, kid: string): Promise<void> {
    await this.keepEach(aid, (wrap) => wrap.kid !== kid);
  }

  /** Removes the wraps of the passphrases that a key had before a generation. */
  async stopBefore(aid: string, kid: string, gen: number): Promise<void> {
    await this.keepEach(aid, (wrap) => wrap.kid !== kid || wrap.gen >= gen);
  }

  /** The ids of people who may have wraps. */
  owners(aid: string): Promise<readonly string[]> {
    return this.store.ids(aid);
  }

  /** Keeps those wraps of a person that fit. */
  keep(name: PersonName, fits: (wrap: Wrap) => boolean): Promise<void> {
    return this.edit(name, (wraps) => wraps.filter(fits));
  }

  private async keepEach(aid: string, fits: (wrap: Wrap) => boolean): Promise<void> {
    for (const id of await this.store.ids(aid)) {
      // A damaged record shows nothing to anyone.
      await recover(this.keep({ aid, id }, fits), 'integrity_failed', undefined);
    }
  }

  private open({ aid, id }: PersonName, sealed: Uint8Array): Promise<readonly Wrap[]> {
    return openJson<readonly Wrap[]>(this.crypto, aid, 'passphrase wraps', id, sealed);
  }

  private async write(
    { aid, id }: PersonName,
    read: Uint8Array | undefined,
    wraps: readonly Wrap[],
  ): Promise<boolean> {
    const sealed = await sealJson(this.crypto, aid, 'passphrase wraps', id, wraps);
    return read === undefined
      ? (await this.store.create(aid, id, sealed)) === 'ok'
      : this.store.replace(aid, id, read, sealed);
  }
}
