import { VaultError } from '../../core/errors.ts';
import type { Crypto } from '../../crypto/client.ts';
import { checkFormSettings } from '../../domain/form/settings.ts';
import { isIdentifier } from '../../domain/text/identifiers.ts';
import type { FormSettings, FormTypeName, ShownFormSettings } from '../../http/schema/form.ts';
import type { FormEntry, FormStore, StoredForm } from '../../store/form.ts';
import { streamOf } from '../common/byte-stream.ts';
import type { Clock, RandomId } from '../common/clock.ts';
import { mapAhead, pause } from '../common/coalesce.ts';
import type { AccountContext } from '../common/request-context.ts';
import type { ServiceSettings } from '../common/settings.ts';
import { toAsync } from '../vault/tree.ts';

/** A form, as its owner has set it up. */
export interface HostedForm {
  readonly id: string;
  readonly form_type: FormTypeName;
  readonly settings: ShownFormSettings;
}

export interface FormService {
  readonly create: (
    ctx: AccountContext,
    input: {
      readonly form_id?: string | undefined;
      readonly form_type: FormTypeName;
      readonly settings: FormSettings;
    },
  ) => Promise<HostedForm>;
  readonly read: (ctx: AccountContext, id: string) => Promise<HostedForm>;
  /** All forms of the account as JSON text, each as `show` presents it. */
  readonly list: (
    ctx: AccountContext,
    show: (form: HostedForm) => object,
  ) => Promise<ReadableStream<Uint8Array>>;
  readonly remove: (ctx: AccountContext, id: string) => Promise<void>;
  /** A form of anybody, or one of the built-in ones, for whoever asks. */
  readonly open: (id: string) => Promise<HostedForm>;
}

/** The sweep first looks at an entry after so long: by then a creation has ended, one way or the other. */
const FIRST_LOOK_MS = 120_000;
/** An entry whose form is there is not looked at again. */
const NEVER_MS = 8_000_000_000_000_000;
const TAKE_BACK_MS = 250;
/** A form can have most of a megabyte. */
const READ_AHEAD = 4;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const BUILT_IN: ReadonlyMap<string, HostedForm> = new Map(
  (['pcd', 'ach'] as const).map((name) => [name, { id: name, form_type: name, settings: {} }]),
);

function byId(a: FormEntry, b: FormEntry): number {
  return a.id < b.id ? -1 : 1;
}

export interface Forms extends FormService {
  /** Removes what interrupted creations and deletions have left. */
  readonly sweep: (aid: string) => Promise<void>;
}

/** Whether a form is the one of an entry: directories are not sealed, and may name the forms of others. */
function isEntered(aid: string, nonce: string, stored: StoredForm | undefined): stored is StoredForm {
  return stored?.nonce === nonce && stored.aid === aid;
}

/** Hosted forms: named settings of pages that anybody may load. They are sealed, since they hold an owner's code. */
export function createForms({
  crypto,
  formStore,
  now,
  randomId,
  settings: { environment },
}: {
  readonly crypto: Pick<Crypto, 'sealRecord' | 'openRecord'>;
  readonly formStore: FormStore;
  readonly now: Clock;
  readonly randomId: RandomId;
  readonly settings: Pick<ServiceSettings, 'environment'>;
}): Forms {
  const place = (aid: string, id: string) =>
    ({ purpose: 'record', account: aid, kind: 'form', path: [id] }) as const;

  const openForm = async (id: string, { aid, settings }: StoredForm): Promise<HostedForm> => {
    const opened = decoder.decode(await crypto.openRecord({ place: place(aid, id), record: settings }));
    return { id, ...(JSON.parse(opened) as Omit<HostedForm, 'id'>) };
  };

  const put = async (aid: string, entry: FormEntry, settings: Uint8Array): Promise<void> => {
    if (!(await formStore.reserve(entry.id, entry.nonce))) {
      throw new VaultError('form_exists', { field: 'query.form_id' });
    }
    try {
      if (!(await formStore.enter(aid, entry, now() + FIRST_LOOK_MS))) {
        throw new VaultError('forms_full');
      }
      if (!(await formStore.commit(entry.id, { nonce: entry.nonce, aid, settings }))) {
        // This has taken so long that the reservation has run out, or the account was deleted.
        throw new VaultError('overloaded');
      }
    } catch (error) {
      // What cannot be taken back now runs out by itself. Who waits for a Redis that does not answer has waited enough.
      await Promise.race([formStore.remove(aid, entry).catch(() => false), pause(TAKE_BACK_MS)]);
      throw error;
    }
  };

  const ownedBy = async (aid: string, id: string, field?: string): Promise<StoredForm> => {
    const stored = isIdentifier(id) ? await formStore.read(id) : undefined;
    if (stored?.aid !== aid) {
      throw new VaultError('form_not_found', field === undefined ? {} : { field });
    }
    return stored;
  };

  async function* listChunks(
    aid: string,
    show: (form: HostedForm) => object,
  ): AsyncGenerator<Uint8Array, void, void> {
    const entries = [...(await formStore.entries(aid))].sort(byId);
    const forms = mapAhead(toAsync(entries), READ_AHEAD, async ({ id, nonce }) => {
      const stored = await formStore.read(id);
      return isEntered(aid, nonce, stored) ? openForm(id, stored) : undefined;
    });
    let lead = '[';
    for await (const form of forms) {
      if (form) {
        yield encoder.encode(lead + JSON.stringify(show(form)));
        lead = ',';
      }
    }
    yield encoder.encode(lead === '[' ? '[]' : ']');
  }

  /** Also when what is there is damaged: that is left for people to look at. */
  const isThere = async (aid: string, { id, nonce }: FormEntry): Promise<boolean> => {
    try {
      return isEntered(aid, nonce, await formStore.read(id));
    } catch (error) {
      if (error instanceof VaultError && error.code === 'integrity_failed') {
        return true;
      }
      throw error;
    }
  };

  return {
    async create({ account: { aid } }, { form_id: id = randomId(), form_type, settings }) {
      if (BUILT_IN.has(id)) {
        throw new VaultError('form_exists', { field: 'query.form_id' });
      }
      const form = { form_type, settings: checkFormSettings(form_type, settings, environment) };
      const sealed = await crypto.sealRecord({
        place: place(aid, id),
        plaintext: encoder.encode(JSON.stringify(form)),
      });
      await put(aid, { nonce: randomId(), id }, sealed);
      return { id, ...form };
    },
    async read({ account: { aid } }, id) {
      return openForm(id, await ownedBy(aid, id, 'query.form_id'));
    },
    list: ({ account: { aid } }, show) => streamOf(listChunks(aid, show)),
    async remove({ account: { aid } }, id) {
      const entry = { nonce: (await ownedBy(aid, id)).nonce, id };
      // Should this end half-way, the sweep finds an entry without a form. A full Redis takes the removal alone.
      await formStore.postpone(aid, entry, now()).catch(() => undefined);
      if (!(await formStore.remove(aid, entry))) {
        throw new VaultError('form_not_found');
      }
    },
    async open(id) {
      const builtIn = BUILT_IN.get(id);
      if (builtIn) {
        return builtIn;
      }
      const stored = isIdentifier(id) ? await formStore.read(id) : undefined;
      if (!stored) {
        throw new VaultError('form_not_found');
      }
      return openForm(id, stored);
    },
    async sweep(aid) {
      for (;;) {
        const entries = await formStore.due(aid, now());
        for (const entry of entries) {
          await ((await isThere(aid, entry))
            ? formStore.postpone(aid, entry, NEVER_MS)
            : formStore.remove(aid, entry));
        }
        if (entries.length === 0) {
          return;
        }
      }
    },
  };
}
