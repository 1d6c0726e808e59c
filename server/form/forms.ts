import { listStreamOf } from '../core/byte-stream.ts';
import type { Clock, RandomId } from '../core/clock.ts';
import { mapAhead, recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import { type Crypto, openJson, sealJson } from '../crypto/client.ts';
import { isIdentifier } from '../domain/text/identifiers.ts';
import type { AccountContext } from '../request/context.ts';
import type { CreateFormQuery, FormSettings, FormTypeName, ShownFormSettings } from './schema.ts';
import { checkFormSettings } from './settings.ts';
import type { FormStore, StoredForm } from './store.ts';

export interface FormContent {
  readonly form_type: FormTypeName;
  readonly settings: ShownFormSettings;
}

export interface HostedForm extends FormContent {
  readonly id: string;
}

/** Forms that a list reads ahead: one can have most of a megabyte. */
const READ_AHEAD = 4;

const BUILT_IN: ReadonlyMap<string, HostedForm> = new Map(
  (['pcd', 'ach'] as const).map((name) => [name, { id: name, form_type: name, settings: {} }]),
);

/** Manages hosted forms: settings of public pages. They are encrypted, since they contain code of their owner. */
export class HostedForms {
  constructor(
    private readonly store: FormStore,
    private readonly crypto: Crypto,
    private readonly settings: ServiceSettings,
    private readonly randomId: RandomId,
    private readonly now: Clock,
  ) {}

  /** Creates a form, without `form_id` under a random id. Rejects with `invalid_request`, `form_exists` or `forms_full`. */
  async create(
    { account: { aid } }: AccountContext,
    { form_id: id = this.randomId(), form_type }: CreateFormQuery,
    settings: FormSettings,
  ): Promise<HostedForm> {
    if (BUILT_IN.has(id)) {
      throw new VaultError('form_exists', { field: 'query.form_id' });
    }
    const { form, sealed } = await this.seal(aid, id, form_type, settings);
    const entry = { nonce: this.randomId(), id };
    if (!(await this.store.reserve(id, entry.nonce))) {
      throw new VaultError('form_exists', { field: 'query.form_id' });
    }
    try {
      if (!(await this.store.enter(aid, entry, this.now()))) {
        throw new VaultError('forms_full');
      }
      if (!(await this.store.commit(id, { nonce: entry.nonce, aid, settings: sealed }))) {
        // This has taken so long that the reservation has expired, or the account was deleted.
        throw new VaultError('overloaded');
      }
    } catch (error) {
      await this.store.takeBack(aid, entry);
      throw error;
    }
    return form;
  }

  /** Returns a form of the account. Rejects with `form_not_found`. */
  async read({ account: { aid } }: AccountContext, id: string): Promise<HostedForm> {
    return this.openStored(id, await this.findOwn(aid, id, 'query.form_id'));
  }

  /** Returns all forms of the account in the order of their ids, each as `show` presents it, as the JSON text of a list. */
  list(
    { account: { aid } }: AccountContext,
    show: (form: HostedForm) => object,
  ): Promise<ReadableStream<Uint8Array>> {
    return listStreamOf(this.readAll(aid, show));
  }

  /** Returns a form of any account, or a built-in one, for any caller. Rejects with `form_not_found`. */
  async open(id: string): Promise<HostedForm> {
    const builtIn = BUILT_IN.get(id);
    if (builtIn) {
      return builtIn;
    }
    const stored = isIdentifier(id) ? await this.store.read(id) : undefined;
    if (!stored) {
      throw new VaultError('form_not_found');
    }
    return this.openStored(id, stored);
  }

  /** Replaces all settings of a form; its type stays. Rejects with `invalid_request` or `form_not_found`. */
  async replace(
    { account: { aid } }: AccountContext,
    id: string,
    settings: FormSettings,
  ): Promise<HostedForm> {
    const stored = await this.findOwn(aid, id);
    const { form_type } = await this.openStored(id, stored);
    const { form, sealed } = await this.seal(aid, id, form_type, settings);
    if (!(await this.store.replace(id, { nonce: stored.nonce, aid, settings: sealed }))) {
      throw new VaultError('form_not_found');
    }
    return form;
  }

  /** Removes a form of the account and releases its id. Rejects with `form_not_found`. */
  async remove({ account: { aid } }: AccountContext, id: string): Promise<void> {
    const { nonce } = await this.findOwn(aid, id);
    if (!(await this.store.removeNow(aid, { nonce, id }, this.now()))) {
      throw new VaultError('form_not_found');
    }
  }

  /** Removes what interrupted creations and deletions have left. */
  sweep(aid: string): Promise<void> {
    return this.store.sweep(aid, this.now, async (entry) => {
      // A damaged form is left for the operator to examine.
      const stored = await recover(this.store.read(entry.id), 'integrity_failed', 'damaged');
      const exists = stored === 'damaged' || isEntered(aid, entry.nonce, stored);
      await (exists ? this.store.settle(aid, entry) : this.store.remove(aid, entry));
    });
  }

  /** Validates settings and encrypts them as those of a form. Rejects with `invalid_request`. */
  private async seal(aid: string, id: string, form_type: FormTypeName, given: FormSettings) {
    const settings = checkFormSettings(form_type, given, this.settings.environment);
    const sealed = await sealJson(this.crypto, aid, 'form', id, { form_type, settings });
    return { form: { id, form_type, settings }, sealed };
  }

  private async findOwn(aid: string, id: string, field?: string): Promise<StoredForm> {
    const stored = isIdentifier(id) ? await this.store.read(id) : undefined;
    if (stored?.aid !== aid) {
      throw new VaultError('form_not_found', { field });
    }
    return stored;
  }

  private async openStored(id: string, { aid, settings }: StoredForm): Promise<HostedForm> {
    return { id, ...(await openJson<FormContent>(this.crypto, aid, 'form', id, settings)) };
  }

  private async *readAll(aid: string, show: (form: HostedForm) => object): AsyncGenerator<readonly object[]> {
    const entries = [...(await this.store.entries(aid))].sort((a, b) => (a.id < b.id ? -1 : 1));
    yield* mapAhead(entries, READ_AHEAD, async ({ id, nonce }) => {
      const stored = await this.store.read(id);
      return isEntered(aid, nonce, stored) ? [show(await this.openStored(id, stored))] : [];
    });
  }
}

/** Returns whether a form is the one of an entry: directories are not encrypted, and may name the forms of others. */
function isEntered(aid: string, nonce: string, stored: StoredForm | undefined): stored is StoredForm {
  return stored?.nonce === nonce && stored.aid === aid;
}
